import SideEffects
import Testing

/// Shares, queue and refusals of a socket.
@Suite struct `The places of a socket` {
    /// Returns the decisions about connections of these users, numbered from `first`.
    private func arrivals(_ users: [Int64], from first: Int, at places: inout SocketPlaces) -> [SocketPlaces.Decision] {
        var decisions: [SocketPlaces.Decision] = []
        for (index, user) in users.enumerated() { decisions.append(places.arrive(first + index, of: user)) }
        return decisions
    }

    @Test func `one user gets half of the places, and half of the queue`() {
        var places = SocketPlaces(most: 8)
        let first = arrivals(Array(repeating: 1, count: 9), from: 0, at: &places)
        #expect(first == [.read, .read, .read, .read, .wait, .wait, .wait, .wait, .refuse])
        // Other users are still served.
        let second = arrivals([2, 2, 2, 2], from: 10, at: &places)
        #expect(second == [.read, .read, .read, .read])
        let third = arrivals([3, 3, 3, 3, 3], from: 20, at: &places)
        #expect(third == [.wait, .wait, .wait, .wait, .refuse])
        #expect(arrivals([4], from: 30, at: &places) == [.refuse])
    }

    @Test func `a free place goes to the first waiting user with a share left`() {
        var places = SocketPlaces(most: 4)
        let first = arrivals([1, 1, 1, 2, 3, 4], from: 0, at: &places)
        #expect(first == [.read, .read, .wait, .read, .read, .wait])
        #expect(places.isWanted(from: 1) && places.isWanted(from: 3) && !places.isCalm)
        // User 1 has a share of two, so its third connection keeps waiting, and user 4 is read.
        #expect(places.leave(2) == 5)
        #expect(places.isWanted(from: 1) && !places.isWanted(from: 3))
        #expect(places.leave(1) == 2)
        #expect(!places.isWanted(from: 1) && !places.isCalm)
        for user in [1, 1, 3, 4] as [Int64] {
            let next = places.leave(user)
            #expect(next == nil)
        }
        #expect(places.isCalm)
        let second = arrivals([1, 1, 1], from: 6, at: &places)
        #expect(second == [.read, .read, .wait])
        let ends = [places.giveUp(8), places.giveUp(8), places.giveUp(6)]
        #expect(ends == [true, false, false])
    }

    @Test(arguments: [(1, 1), (2, 1), (3, 1), (64, 32)])
    func `a share is at least one place`(most: Int, share: Int) {
        var places = SocketPlaces(most: most)
        #expect(places.share == share)
        #expect(places.arrive(0, of: 1) == .read)
    }

    @Test(arguments: [(0, 4), (64, 4), (80, 4), (256, 80), (1_024, 464), (16_384, 8_144)])
    func `connections leave descriptors for the control socket, a command, and everything else`(limit: Int, most: Int) {
        #expect(DescriptorReserve.mostConnections(limit: limit) == most)
    }
}
