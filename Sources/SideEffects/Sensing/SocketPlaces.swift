/// Who may be read among those who are connected to one `socket`.
///
/// Nobody can take all places: each user has a share of them. Who comes when no place is left waits until one ends, and of
/// those who wait there are no more than places, of each user no more than a share.
package struct SocketPlaces {
    /// What becomes of a connection that was accepted.
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

    /// How many are read at once, and how many may wait.
    package let most: Int
    /// How many of them may be of one user.
    package let share: Int
    private var read: [Int64: Int] = [:]
    private var readCount = 0
    private var waiting: [Waiting] = []

    package init(most: Int) {
        self.most = most
        share = max(1, most / 2)
    }

    /// A connection was accepted.
    package mutating func arrive(_ number: Int, of user: Int64) -> Decision {
        if hasRoom(for: user) {
            take(user)
            return .read
        }
        guard waiting.count < most, waiting.count(where: { $0.user == user }) < share else { return .refuse }
        waiting.append(Waiting(number: number, user: user))
        return .wait
    }

    /// A connection that was read has ended; returns the number of the one that is read instead.
    package mutating func leave(_ user: Int64) -> Int? {
        let count = read[user, default: 1] - 1
        read[user] = count > 0 ? count : nil
        readCount -= 1
        guard let next = waiting.firstIndex(where: { hasRoom(for: $0.user) }) else { return nil }
        let one = waiting.remove(at: next)
        take(one.user)
        return one.number
    }

    /// A connection that waited has ended; `false` where it is being read by now.
    package mutating func giveUp(_ number: Int) -> Bool {
        guard let index = waiting.firstIndex(where: { $0.number == number }) else { return false }
        waiting.remove(at: index)
        return true
    }

    /// Whether another connection would be read if one of this user ended.
    package func isWanted(from user: Int64) -> Bool {
        waiting.contains { $0.user == user || (readCount >= most && read[$0.user, default: 0] < share) }
    }

    /// Whether far fewer are read than may be, and nobody waits.
    package var isCalm: Bool { waiting.isEmpty && readCount <= share / 2 }

    private func hasRoom(for user: Int64) -> Bool {
        readCount < most && read[user, default: 0] < share
    }

    private mutating func take(_ user: Int64) {
        read[user, default: 0] += 1
        readCount += 1
    }
}
