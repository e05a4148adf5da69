import Glibc

/// How many descriptors the process may have open.
///
/// Running out of them cannot be survived: the runtime ends the process when it cannot open what the system says of its
/// threads. So there may be many, and all that can take a number of them, connections and commands, stops well before.
package enum DescriptorLimit {
    /// How many are wanted, as in the unit of the service.
    package static let wanted = 16_384

    /// Raises the limit to what is wanted, or as far as may be; returns what it is then.
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

    /// How many connections there may be: half of what there may be of descriptors is for them.
    package static func connections(of limit: Int) -> Int {
        min(4096, limit / 2)
    }

    /// How many of them are kept for root, the daemon's own user, and who else may administer.
    package static func reservedConnections(of limit: Int) -> Int {
        min(64, connections(of: limit) / 4)
    }

    /// How many of them may be of one user.
    package static func connectionsPerUser(of limit: Int) -> Int {
        min(1024, limit / 4)
    }
}
