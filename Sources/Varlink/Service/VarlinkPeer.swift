import Glibc

/// Who is at the other end of a connection, as the kernel says; it is what the peer was when it connected.
public struct VarlinkPeer: Sendable, Hashable {
    /// The process.
    public let processID: Int32
    /// Its effective user.
    public let userID: UInt32
    /// Its effective group.
    public let groupID: UInt32
    /// Its supplementary groups, in the kernel's order.
    public let groups: [UInt32]

    /// A peer of one's own making, for tests and for connections made by other means.
    public init(processID: Int32, userID: UInt32, groupID: UInt32, groups: [UInt32] = []) {
        self.processID = processID
        self.userID = userID
        self.groupID = groupID
        self.groups = groups
    }

    /// This process, as the kernel would say of it.
    public static var current: VarlinkPeer {
        var groups = [gid_t](repeating: 0, count: Int(max(0, getgroups(0, nil))))
        let count = getgroups(Int32(groups.count), &groups)
        return VarlinkPeer(
            processID: getpid(), userID: geteuid(), groupID: getegid(), groups: Array(groups.prefix(Int(max(0, count))))
        )
    }

    /// Whether the peer belongs to the group, be it its own or a supplementary one.
    public func isMember(ofGroup group: UInt32) -> Bool {
        groupID == group || groups.contains(group)
    }

    /// Asks the kernel (`SO_PEERCRED`, `SO_PEERGROUPS`; unix(7)).
    ///
    /// - Throws: ``VarlinkError`` (`system`) when the descriptor is no connected UNIX socket.
    init(ofSocket descriptor: Int32) throws(VarlinkError) {
        // struct ucred: the process, the user and the group, each of 32 bits.
        var credentials: [UInt32] = [0, 0, 0]
        var length = socklen_t(credentials.count * MemoryLayout<UInt32>.stride)
        guard getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &credentials, &length) == 0 else {
            throw VarlinkError(.system, "the kernel does not say who the peer is: \(SystemError.text(errno))")
        }
        self.init(
            processID: Int32(bitPattern: credentials[0]),
            userID: credentials[1],
            groupID: credentials[2],
            groups: Self.groups(ofSocket: descriptor)
        )
    }

    /// The supplementary groups; none when the kernel does not tell them.
    private static func groups(ofSocket descriptor: Int32) -> [UInt32] {
        // The kernel refuses with ERANGE and the length needed when the first guess is too short.
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
