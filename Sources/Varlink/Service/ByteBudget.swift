import Synchronization

/// Counts bytes that clients have sent, or have not read, for each user and in total.
///
/// Other limits bound a single connection. This budget bounds all connections together.
final class ByteBudget: Sendable {
    /// The bytes of one connection that are not counted. Most connections never exceed them.
    static let free = 4096

    /// The user that a connection's bytes count for.
    struct Owner: Sendable {
        let user: UInt32
        let hasPrecedence: Bool
    }

    private struct State {
        var all = 0
        var users: [UInt32: Int] = [:]
    }

    private let limit: Int
    private let limitPerUser: Int
    private let state = Mutex(State())

    /// - Parameters:
    ///   - limit: The most bytes in total. The last quarter is reserved for peers with precedence.
    ///   - limitPerUser: The most bytes of one user.
    init(limit: Int, limitPerUser: Int) {
        self.limit = limit
        self.limitPerUser = limitPerUser
    }

    /// Changes the number of bytes that a connection holds. Returns `false` and changes nothing if a limit would be
    /// exceeded.
    func change(from old: Int, to new: Int, _ owner: Owner) -> Bool {
        let more = new - old
        guard more != 0 else { return true }
        return state.withLock { state in
            let ofUser = state.users[owner.user, default: 0] + more
            if more > 0 {
                let limit = owner.hasPrecedence ? limit : limit - limit / 4
                guard ofUser <= limitPerUser, state.all + more <= limit else { return false }
            }
            state.all += more
            state.users[owner.user] = ofUser > 0 ? ofUser : nil
            return true
        }
    }
}
