import Glibc

/// Sockets with a name in the abstract namespace (unix(7)). The name is every byte after a first NUL, so its length
/// matters.
enum AbstractSocket {
    /// The longest name that fits into a socket address.
    static let maximumLength = SocketPath.maximumLength

    /// Returns the address of a name, and its length.
    static func address(_ name: String) throws(VarlinkError) -> (sockaddr_un, socklen_t) {
        let bytes = Array(name.utf8)
        guard !bytes.isEmpty, bytes.count <= maximumLength, !bytes.contains(0) else {
            throw VarlinkError(
                .invalidPath,
                "'@\(name)' cannot be the name of a socket: a name has 1 to \(maximumLength) bytes and no NUL")
        }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { target in
            for (index, byte) in bytes.enumerated() { target[index + 1] = byte }
        }
        let before = MemoryLayout<sockaddr_un>.offset(of: \.sun_path) ?? MemoryLayout<sa_family_t>.size
        return (address, socklen_t(before + 1 + bytes.count))
    }

    /// Creates a listening socket.
    ///
    /// - Throws: ``VarlinkError`` with `addressInUse`, `invalidPath` or `system`.
    static func bind(_ name: String, backlog: Int32) throws(VarlinkError) -> Int32 {
        let descriptor = try open(name, "bind to", Glibc.bind)
        guard listen(descriptor, backlog) == 0 else {
            let number = errno
            close(descriptor)
            throw SystemError.error(number, "listen on", "@\(name)")
        }
        return descriptor
    }

    /// Creates a connected socket.
    ///
    /// - Throws: ``VarlinkError`` with `noSocket`, `timedOut`, `invalidPath` or `system`.
    static func connect(_ name: String) throws(VarlinkError) -> Int32 {
        try open(name, "connect to", Glibc.connect)
    }

    private static func open(
        _ name: String,
        _ doing: String,
        _ call: (Int32, UnsafePointer<sockaddr>, socklen_t) -> Int32
    ) throws(VarlinkError) -> Int32 {
        var (address, length) = try address(name)
        let descriptor = try SocketPath.newSocket()
        let result = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { call(descriptor, $0, length) }
        }
        guard result == 0 else {
            let number = errno
            close(descriptor)
            switch number {
            case EADDRINUSE:
                throw VarlinkError(.addressInUse, "another program serves '@\(name)'; stop it or choose another name")
            case ECONNREFUSED: throw VarlinkError(.noSocket, "no program serves '@\(name)'")
            case EAGAIN: throw VarlinkError(.timedOut, "too many connections wait at '@\(name)'; try again later")
            default: throw SystemError.error(number, doing, "@\(name)")
            }
        }
        return descriptor
    }
}
