import Glibc

/// The listening sockets with which a service manager has started this process (sd_listen_fds(3)).
public struct ActivationSockets: Sendable, Hashable {
    /// One of them.
    public struct Socket: Sendable, Hashable {
        /// The descriptor.
        public let descriptor: Int32
        /// What `FileDescriptorName=` of the socket unit says, else the unit's name; `unknown` where nobody has named it.
        public let name: String
    }

    /// The number of the first; the others follow.
    public static let firstDescriptor: Int32 = 3
    /// How many there may be.
    public static let maximumCount = 1_024
    /// The name that marks the socket for Varlink among several.
    public static let varlinkName = "varlink"

    /// The sockets, by number; none when the process was not started for any.
    public let sockets: [Socket]

    /// Reads what an environment says to a process.
    ///
    /// - Throws: ``VarlinkError`` (`notListening`) when it contradicts itself.
    public init(environment: (String) -> String?, processID: Int32) throws(VarlinkError) {
        guard let count = environment("LISTEN_FDS"), environment("LISTEN_PID") == String(processID) else {
            sockets = []
            return
        }
        guard let count = Int(count), (0...Self.maximumCount).contains(count) else {
            throw VarlinkError(
                .notListening, "LISTEN_FDS is to be a number from 0 to \(Self.maximumCount), not '\(count.prefix(64))'")
        }
        let names = environment("LISTEN_FDNAMES").map {
            $0.split(separator: ":", omittingEmptySubsequences: false).map(String.init)
        }
        guard names.map(\.count) ?? count == count else {
            throw VarlinkError(.notListening, "LISTEN_FDNAMES does not name as many sockets as there are, \(count)")
        }
        sockets = (0..<count).map { index in
            Socket(descriptor: Self.firstDescriptor + Int32(index), name: names?[index] ?? "unknown")
        }
    }

    private init(_ sockets: [Socket]) {
        self.sockets = sockets
    }

    /// All but those of some names, such as what a service manager has kept of an earlier process (`FDNAME=`).
    public func without(_ names: Set<String>) -> ActivationSockets {
        ActivationSockets(sockets.filter { !names.contains($0.name) })
    }

    /// The path to which a socket is bound; nil when it is bound to none.
    public static func path(of descriptor: Int32) -> String? { SocketPath.boundPath(descriptor) }

    /// Whether a descriptor is a socket that listens at a path, where its file still is.
    public static func isListening(_ descriptor: Int32, at path: String) -> Bool {
        guard (try? SocketPath.checkListening(descriptor)) != nil else { return false }
        return SocketPath(inheriting: descriptor)?.path == path
    }

    /// Takes the sockets of this process: programs that it starts do not get them, nor the variables that tell of them.
    /// To be called once, before there are other threads.
    ///
    /// - Throws: ``VarlinkError`` (`notListening`).
    public static func take() throws(VarlinkError) -> ActivationSockets {
        let found = try ActivationSockets(
            environment: { name in getenv(name).map { String(cString: $0) } }, processID: getpid())
        for socket in found.sockets {
            guard fcntl(socket.descriptor, F_SETFD, FD_CLOEXEC) == 0 else {
                throw VarlinkError(
                    .notListening, "LISTEN_FDS promises the descriptor \(socket.descriptor), which is not open")
            }
        }
        for name in ["LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"] { unsetenv(name) }
        return found
    }

    /// Where to serve: the only socket, or of several the one of that name; nil when there is none at all.
    ///
    /// - Throws: ``VarlinkError`` (`notListening`) when there are several, and not exactly one of that name.
    public func address(named name: String = varlinkName) throws(VarlinkError) -> ServiceAddress? {
        try socket(named: name).map { .descriptor($0.descriptor) }
    }

    /// The socket to serve: the only one, or of several the one of that name; nil when there is none at all.
    ///
    /// - Throws: ``VarlinkError`` (`notListening`) when there are several, and not exactly one of that name.
    public func socket(named name: String = varlinkName) throws(VarlinkError) -> Socket? {
        if sockets.count <= 1 { return sockets.first }
        let named = sockets.filter { $0.name == name }
        guard let socket = named.first, named.count == 1 else {
            throw VarlinkError(
                .notListening,
                "of \(sockets.count) sockets, \(named.count) are named '\(name)'; in the one socket unit for it write "
                    + "'FileDescriptorName=\(name)'")
        }
        return socket
    }
}
