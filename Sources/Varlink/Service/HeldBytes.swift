import Synchronization

/// Counts the bytes that lie here of what clients have sent, or have not read, of each user and in all.
///
/// What one connection holds is bounded already; this bounds what many of them hold together.
final class HeldBytes: Sendable {
    /// What a connection may hold without being counted: most never hold more.
    static let free = 4096

    /// Who holds them.
    struct Owner: Sendable {
        let user: UInt32
        let hasPrecedence: Bool
    }

    private struct Machine {
        var all = 0
        var users: [UInt32: Int] = [:]
    }

    private let limit: Int
    private let limitPerUser: Int
    private let machine = Mutex(Machine())

    /// - Parameters:
    ///   - limit: how many there may be in all; the last quarter is for those who have precedence.
    ///   - limitPerUser: how many there may be of one user.
    init(limit: Int, limitPerUser: Int) {
        self.limit = limit
        self.limitPerUser = limitPerUser
    }

    /// A connection holds another number of bytes than before. `false`: there is no room for them, and it counts as before.
    func change(from old: Int, to new: Int, _ owner: Owner) -> Bool {
        let more = new - old
        guard more != 0 else { return true }
        return machine.withLock { machine in
            let ofUser = machine.users[owner.user, default: 0] + more
            if more > 0 {
                let limit = owner.hasPrecedence ? limit : limit - limit / 4
                guard ofUser <= limitPerUser, machine.all + more <= limit else { return false }
            }
            machine.all += more
            machine.users[owner.user] = ofUser > 0 ? ofUser : nil
            return true
        }
    }
}
