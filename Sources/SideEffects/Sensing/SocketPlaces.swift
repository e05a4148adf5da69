/// The places of one `socket`: the rules by which its connections are read, wait, or are refused.
///
/// Each user has a share of the places, so one user cannot take them all. A connection without a place waits until another one
/// ends. The queue has one slot for each place, and each user also has a share of the queue.
package struct SocketPlaces {
    /// A decision about an accepted connection.
    package enum Decision: Equatable, Sendable {
        /// It is read from now on.
        case read
        /// It is read when a place becomes free.
        case wait
        /// It is closed at once.
        case refuse
    }

    /// A connection that waits.
    private struct Waiting {
        let number: Int
        let user: Int64
    }

    /// The limit on connections that are read, and on those that wait.
    package let most: Int
    /// The limit for one user.
    package let share: Int
    private var read: [Int64: Int] = [:]
    private var readCount = 0
    private var waiting: [Waiting] = []

    package init(most: Int) {
        self.most = most
        share = max(1, most / 2)
    }

    /// Decides about an accepted connection.
    package mutating func arrive(_ number: Int, of user: Int64) -> Decision {
        if hasRoom(for: user) {
            take(user)
            return .read
        }
        guard waiting.count < most, waiting.count(where: { $0.user == user }) < share else { return .refuse }
        waiting.append(Waiting(number: number, user: user))
        return .wait
    }

    /// Removes a connection that was read; returns the number of the connection that is read instead.
    package mutating func leave(_ user: Int64) -> Int? {
        let count = read[user, default: 1] - 1
        read[user] = count > 0 ? count : nil
        readCount -= 1
        guard let next = waiting.firstIndex(where: { hasRoom(for: $0.user) }) else { return nil }
        let one = waiting.remove(at: next)
        take(one.user)
        return one.number
    }

    /// Removes a connection that waits; returns `false` if it is being read by now.
    package mutating func giveUp(_ number: Int) -> Bool {
        guard let index = waiting.firstIndex(where: { $0.number == number }) else { return false }
        waiting.remove(at: index)
        return true
    }

    /// Returns whether the end of a connection of this user would let another one be read.
    package func isWanted(from user: Int64) -> Bool {
        waiting.contains { $0.user == user || (readCount >= most && read[$0.user, default: 0] < share) }
    }

    /// A Boolean value that indicates whether the queue is empty and few connections are read.
    package var isCalm: Bool { waiting.isEmpty && readCount <= share / 2 }

    private func hasRoom(for user: Int64) -> Bool {
        readCount < most && read[user, default: 0] < share
    }

    private mutating func take(_ user: Int64) {
        read[user, default: 0] += 1
        readCount += 1
    }
}
