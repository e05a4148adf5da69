import Glibc
import NIOCore

/// The limit on descriptors that the process may have open.
///
/// A process that runs out of descriptors ends: the runtime cannot read the state of its threads. So the limit is high,
/// and connections and commands, which take many descriptors, stop well before it.
package enum DescriptorLimit {
    /// The wanted limit, as in the unit of the service.
    package static let wanted = 16_384
    /// The least limit with which the daemon starts. With fewer descriptors a reload could not open its files.
    /// Each event loop takes 3, and there is one for each processor.
    static let least = max(64, 40 + 3 * NIOSingletons.groupLoopCountSuggestion)

    /// The limit is too low for the daemon.
    struct TooLow: Error, CustomStringConvertible {
        let limit: Int

        var description: String {
            "only \(limit) files may be open, and \(least) are needed; raise LimitNOFILE= of the unit, or `ulimit -n`"
        }
    }

    /// Raises the limit to the wanted one, or as far as the process may; returns the present limit.
    ///
    /// Shells and service managers hand on 1 024, for programs that use select(2).
    package static func raise() -> Int {
        let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        var limit = rlimit()
        guard getrlimit(resource, &limit) == 0 else { return 1024 }
        let raised = min(rlim_t(wanted), limit.rlim_max)
        if limit.rlim_cur < raised {
            var new = rlimit(rlim_cur: raised, rlim_max: limit.rlim_max)
            if setrlimit(resource, &new) == 0 { limit = new }
        }
        return Int(clamping: limit.rlim_cur)
    }

    /// The limit on connections: half of all descriptors.
    package static func connections(of limit: Int) -> Int {
        min(4096, limit / 2)
    }

    /// The number of connections that are reserved for root, the daemon's own user, and other administrators.
    package static func reservedConnections(of limit: Int) -> Int {
        min(64, connections(of: limit) / 4)
    }

    /// The limit on connections of one user.
    package static func connectionsPerUser(of limit: Int) -> Int {
        min(1024, limit / 4)
    }
}
