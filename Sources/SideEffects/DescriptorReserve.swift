import Glibc
import Synchronization

/// Decides whether the process has enough free descriptors for another command, or for another connection to a
/// `socket`.
///
/// Connections of the control socket may use half of all descriptors. Connections to sockets of side effects may use
/// the other half, except ``rest`` and the ``share`` of one command.
///
/// Starting a command needs about a dozen descriptors at once: its input, pipes for its output, its directory, and one
/// that reports the end of the child process. Each command that is starting therefore counts with its
/// full share, whether or not it has opened the descriptors. If descriptors run out nevertheless, the command does not
/// start or is killed.
package enum DescriptorReserve {
    /// The most descriptors that starting a command needs.
    static let share = 16
    /// The descriptors reserved for everything else.
    static let rest = 32

    /// The fewest connections to sockets of side effects, even if the process has few descriptors.
    static let leastConnections = 4

    private static let beginning = Mutex(0)
    private static let connections = Mutex(Connections())

    private struct Connections {
        var count = 0
        var byUser: [Int64: Int] = [:]
    }

    /// Reserves the share of a command until ``Place/leave()`` is called. Returns nil if too few descriptors are free.
    ///
    /// Linear in the number of open descriptors.
    static func enter() -> Place? {
        let isSetAside = beginning.withLock { beginning in
            guard let open = countOpen(), mayBegin(open: open, limit: limit, beginning: beginning) else { return false }
            beginning += 1
            return true
        }
        return isSetAside ? Place() : nil
    }

    /// Returns whether another command may start.
    ///
    /// - Parameters:
    ///   - open: The number of open descriptors, which may include some of the commands that are starting.
    ///   - limit: The limit of open descriptors.
    package static func mayBegin(open: Int, limit: Int, beginning: Int) -> Bool {
        open + share * (beginning + 1) + rest <= limit
    }

    /// The reservation for a command that is starting.
    final class Place: Sendable {
        private let isLeft = Atomic(false)

        fileprivate init() {}

        /// Ends the reservation, because the command has started or never will. A second call does nothing.
        func leave() {
            guard !isLeft.exchange(true, ordering: .relaxed) else { return }
            DescriptorReserve.beginning.withLock { $0 -= 1 }
        }

        deinit { leave() }
    }

    /// The limit of connections to sockets of side effects.
    static var mostConnections: Int { mostConnections(limit: limit) }

    /// Returns the limit of connections to sockets of side effects for a limit of descriptors.
    package static func mostConnections(limit: Int) -> Int {
        max(leastConnections, limit - limit / 2 - rest - share)
    }

    /// Reserves a descriptor for a connection while the returned value exists. Returns nil if too few are free.
    static func connect() -> Connection? {
        let most = mostConnections
        let isSetAside = connections.withLock { connections in
            guard connections.count < most else { return false }
            connections.count += 1
            return true
        }
        return isSetAside ? Connection() : nil
    }

    /// A reserved descriptor for a connection.
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

    /// The number of open descriptors; nil if no descriptor is free for counting them.
    private static func countOpen() -> Int? {
        guard let folder = opendir("/proc/self/fd") else { return nil }
        defer { closedir(folder) }
        var count = 0
        while readdir(folder) != nil { count += 1 }
        return count
    }

    /// The limit of open descriptors.
    private static var limit: Int {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return 0 }
        return Int(clamping: limit.rlim_cur)
    }
}
