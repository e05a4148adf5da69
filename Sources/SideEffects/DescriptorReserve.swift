import Glibc
import Synchronization

/// Whether the process has descriptors to spare for another command, or another connection to a `socket`.
///
/// Connections of the control socket may take half of all descriptors. Connections to sockets of side effects get the other half,
/// except ``rest`` and the ``share`` of one command.
///
/// What begins a command needs about a dozen at once: its input, pipes for its output, its directory, and one for the child
/// itself, without which nobody hears of its end. So those that are beginning are counted, and each has its share set aside,
/// whether it has opened something by then or not. Where they run out in the midst of it all the same, the command is not
/// begun, or is killed.
package enum DescriptorReserve {
    /// How many a command that begins needs at most.
    static let share = 16
    /// How many are left to all else.
    static let rest = 32

    /// The fewest connections to sockets of side effects that there may be, however few descriptors there are.
    static let leastConnections = 4

    private static let beginning = Mutex(0)
    private static let connections = Mutex(Connections())

    private struct Connections {
        var count = 0
        var byUser: [Int64: Int] = [:]
    }

    /// Sets the share of a command aside, until ``Place/leave()`` is called; nil: there are too few descriptors.
    ///
    /// Linear in the number of descriptors that are open.
    static func enter() -> Place? {
        let isSetAside = beginning.withLock { beginning in
            guard let open = countOpen(), mayBegin(open: open, limit: limit, beginning: beginning) else { return false }
            beginning += 1
            return true
        }
        return isSetAside ? Place() : nil
    }

    /// Whether another command may begin where so many do already.
    ///
    /// - Parameters:
    ///   - open: how many descriptors are open, perhaps some of the commands that are beginning among them.
    ///   - limit: how many may be.
    package static func mayBegin(open: Int, limit: Int, beginning: Int) -> Bool {
        open + share * (beginning + 1) + rest <= limit
    }

    /// What is set aside for a command that begins.
    final class Place: Sendable {
        private let isLeft = Atomic(false)

        fileprivate init() {}

        /// It has begun, or never will. Calling it again does nothing.
        func leave() {
            guard !isLeft.exchange(true, ordering: .relaxed) else { return }
            DescriptorReserve.beginning.withLock { $0 -= 1 }
        }

        deinit { leave() }
    }

    /// The limit on connections to sockets of side effects.
    static var mostConnections: Int { mostConnections(limit: limit) }

    /// The limit on connections to sockets of side effects in a process that may have so many descriptors.
    package static func mostConnections(limit: Int) -> Int {
        max(leastConnections, limit - limit / 2 - rest - share)
    }

    /// Sets a descriptor aside for a connection until the result is released; returns nil if there are too few.
    static func connect() -> Connection? {
        let most = mostConnections
        let isSetAside = connections.withLock { connections in
            guard connections.count < most else { return false }
            connections.count += 1
            return true
        }
        return isSetAside ? Connection() : nil
    }

    /// A descriptor that is set aside for a connection.
    struct Connection: ~Copyable, Sendable {
        private var user: Int64?

        fileprivate init() {}

        /// Counts the connection as one of a user, over all sockets; returns false if the user has its share of them already:
        /// half of all.
        mutating func count(for user: Int64) -> Bool {
            let share = max(1, DescriptorReserve.mostConnections / 2)
            let isCounted = DescriptorReserve.connections.withLock { connections in
                guard connections.byUser[user, default: 0] < share else { return false }
                connections.byUser[user, default: 0] += 1
                return true
            }
            if isCounted { self.user = user }
            return isCounted
        }

        deinit {
            let user = user
            DescriptorReserve.connections.withLock { connections in
                connections.count -= 1
                guard let user, let count = connections.byUser[user] else { return }
                connections.byUser[user] = count > 1 ? count - 1 : nil
            }
        }
    }

    /// How many descriptors are open; nil: there is not even one to look with.
    private static func countOpen() -> Int? {
        guard let folder = opendir("/proc/self/fd") else { return nil }
        defer { closedir(folder) }
        var count = 0
        while readdir(folder) != nil { count += 1 }
        return count
    }

    /// How many may be.
    private static var limit: Int {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return 0 }
        return Int(clamping: limit.rlim_cur)
    }
}
