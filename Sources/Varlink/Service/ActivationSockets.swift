import Glibc

/// The listening sockets that the service manager passed to this process (sd_listen_fds(3)).
public struct ActivationSockets: Sendable, Hashable {
    /// A passed socket.
    public struct Socket: Sendable, Hashable {
        /// The descriptor.
        public let descriptor: Int32
        /// The name from `FileDescriptorName=` of the socket unit, otherwise the name of the unit; `unknown` if neither
        /// is given.
        public let name: String
    }

    /// The number of the first descriptor. The others follow.
    public static let firstDescriptor: Int32 = 3
    /// The most sockets.
    public static let maximumCount = 1_024
    /// The name that marks the Varlink socket among several.
    public static let varlinkName = "varlink"

    /// The sockets, by number; empty if the process was not started by socket activation.
    public let sockets: [Socket]

    /// Reads the variables of a process's environment.
    ///
    /// - Throws: ``VarlinkError`` (`notListening`) if the variables contradict each other.
    public init(environment: (String) -> String?, processID: Int32) throws(VarlinkError) {
        guard let count = environment("LISTEN_FDS"), environment("LISTEN_PID") == String(processID) else {
            sockets = []
            return
        }
        guard let count = Int(count), (0...Self.maximumCount).contains(count) else {
            throw VarlinkError(
                .notListening, "LISTEN_FDS must be a number from 0 to \(Self.maximumCount), not '\(count.prefix(64))'")
        }
        let names = environment("LISTEN_FDNAMES").map {
            $0.split(separator: ":", omittingEmptySubsequences: false).map(String.init)
        }
        guard names.map(\.count) ?? count == count else {
            throw VarlinkError(.notListening, "LISTEN_FDNAMES must have \(count) names, one for each socket")
        }
        sockets = (0..<count).map { index in
            Socket(descriptor: Self.firstDescriptor + Int32(index), name: names?[index] ?? "unknown")
        }
    }

    private init(_ sockets: [Socket]) {
        self.sockets = sockets
    }

    /// Returns the sockets without some names, such as descriptors that the service manager kept for an earlier process
    /// (`FDNAME=`).
    public func without(_ names: Set<String>) -> ActivationSockets {
        ActivationSockets(sockets.filter { !names.contains($0.name) })
    }

    /// Returns the path to which a socket is bound, or nil if it has none.
    public static func path(of descriptor: Int32) -> String? { SocketPath.boundPath(descriptor) }

    /// Returns whether a descriptor is a socket that listens at a path and whose file is still at that path.
    public static func isListening(_ descriptor: Int32, at path: String) -> Bool {
        guard (try? SocketPath.checkListening(descriptor)) != nil else { return false }
        return SocketPath(inheriting: descriptor)?.path == path
    }

    /// Takes the sockets of this process. Programs that it starts inherit neither the sockets nor the variables. Must
    /// be called once, before other threads start.
    ///
    /// - Throws: ``VarlinkError`` (`notListening`).
    public static func take() throws(VarlinkError) -> ActivationSockets {
        let found = try ActivationSockets(
            environment: { name in getenv(name).map { String(cString: $0) } }, processID: getpid())
        for socket in found.sockets {
            guard fcntl(socket.descriptor, F_SETFD, FD_CLOEXEC) == 0 else {
                throw VarlinkError(
                    .notListening, "LISTEN_FDS includes the descriptor \(socket.descriptor), which is not open")
            }
        }
        for name in ["LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"] { unsetenv(name) }
        return found
    }

    /// Returns the address to serve: the only socket, or the one with the name among several. Returns nil if no socket
    /// was passed.
    ///
    /// - Throws: ``VarlinkError`` (`notListening`) if several sockets were passed and not exactly one has the name.
    public func address(named name: String = varlinkName) throws(VarlinkError) -> ServiceAddress? {
        try socket(named: name).map { .descriptor($0.descriptor) }
    }

    /// Returns the socket to serve: the only one, or the one with the name among several. Returns nil if no socket was
    /// passed.
    ///
    /// - Throws: ``VarlinkError`` (`notListening`) if several sockets were passed and not exactly one has the name.
    public func socket(named name: String = varlinkName) throws(VarlinkError) -> Socket? {
        if sockets.count <= 1 { return sockets.first }
        let named = sockets.filter { $0.name == name }
        guard let socket = named.first, named.count == 1 else {
            throw VarlinkError(
                .notListening,
                "\(named.count) of \(sockets.count) sockets are named '\(name)', but one must be; in its socket unit write "
                    + "'FileDescriptorName=\(name)'")
        }
        return socket
    }
}
