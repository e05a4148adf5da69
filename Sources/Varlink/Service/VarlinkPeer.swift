import Glibc

/// The process at the other end of a connection, as the kernel reports it. The values are those from when it connected.
public struct VarlinkPeer: Sendable, Hashable {
    /// The process ID.
    public let processID: Int32
    /// The effective user ID.
    public let userID: UInt32
    /// The effective group ID.
    public let groupID: UInt32
    /// The supplementary group IDs, in the kernel's order.
    public let groups: [UInt32]

    /// Creates a peer, for tests and for connections made by other means.
    public init(processID: Int32, userID: UInt32, groupID: UInt32, groups: [UInt32] = []) {
        self.processID = processID
        self.userID = userID
        self.groupID = groupID
        self.groups = groups
    }

    /// This process, as the kernel would report it.
    public static var current: VarlinkPeer {
        var groups = [gid_t](repeating: 0, count: Int(max(0, getgroups(0, nil))))
        let count = getgroups(Int32(groups.count), &groups)
        return VarlinkPeer(
            processID: getpid(), userID: geteuid(), groupID: getegid(), groups: Array(groups.prefix(Int(max(0, count))))
        )
    }

    /// Returns whether the peer belongs to the group, as its own or a supplementary group.
    public func isMember(ofGroup group: UInt32) -> Bool {
        groupID == group || groups.contains(group)
    }

    /// Reads the peer from the kernel (`SO_PEERCRED`, `SO_PEERGROUPS`; unix(7)).
    ///
    /// - Throws: ``VarlinkError`` (`system`) if the descriptor is not a connected UNIX socket.
    init(ofSocket descriptor: Int32) throws(VarlinkError) {
        // `struct ucred` holds the process, the user and the group, each of 32 bits.
        var credentials: [UInt32] = [0, 0, 0]
        var length = socklen_t(credentials.count * MemoryLayout<UInt32>.stride)
        guard getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &credentials, &length) == 0 else {
            throw VarlinkError(.system, "the kernel does not report the peer: \(SystemError.text(errno))")
        }
        self.init(
            processID: Int32(bitPattern: credentials[0]),
            userID: credentials[1],
            groupID: credentials[2],
            groups: Self.groups(ofSocket: descriptor)
        )
    }

    /// Returns the supplementary groups; empty if the kernel does not report them.
    private static func groups(ofSocket descriptor: Int32) -> [UInt32] {
        // If the buffer is too short, the kernel returns ERANGE and the needed length.
        var groups = [gid_t](repeating: 0, count: 64)
        for _ in 0..<2 {
            var length = socklen_t(groups.count * MemoryLayout<gid_t>.stride)
            let result = getsockopt(descriptor, SOL_SOCKET, SO_PEERGROUPS, &groups, &length)
            let count = Int(length) / MemoryLayout<gid_t>.stride
            if result == 0 { return Array(groups.prefix(count)) }
            guard errno == ERANGE, count > groups.count else { return [] }
            groups = [gid_t](repeating: 0, count: count)
        }
        return []
    }
}
