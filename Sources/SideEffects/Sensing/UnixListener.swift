import Glibc
import SystemPackage

/// A UNIX socket with a name (unix(7)), on which others send.
struct UnixListener: Sendable {
    /// What kind of socket it is.
    enum Kind: String, Sendable {
        case stream
        case datagram

        var number: UInt32 { self == .stream ? SOCK_STREAM.rawValue : SOCK_DGRAM.rawValue }
    }

    /// Which file a name means.
    private struct Identity: Equatable, Sendable {
        var device: dev_t
        var number: ino_t
        var isSocket: Bool
    }

    /// How many connections may wait until they are accepted.
    static let backlog: Int32 = 64

    let descriptor: Int32
    private let path: String
    private let identity: Identity

    /// Makes the socket. One that a program has left behind is replaced, one that a program has open is not.
    init(path: String, kind: Kind, mode: mode_t) throws {
        try Self.removeStale(path, kind)
        let descriptor = Self.socket(kind)
        guard descriptor >= 0 else { throw SensingProblem("cannot make a socket", Errno(rawValue: errno)) }
        do {
            // The file gets the socket's permissions, less the mask, when it is made: at no time it has more than asked.
            fchmod(descriptor, mode)
            if kind == .datagram {
                var yes: Int32 = 1
                setsockopt(descriptor, SOL_SOCKET, SO_PASSCRED, &yes, socklen_t(MemoryLayout<Int32>.size))
            }
            guard Self.withAddress(path, { bind(descriptor, $0, $1) }) == 0 else {
                let failure = Errno(rawValue: errno)
                throw SensingProblem(
                    "cannot listen on \(path)", failure,
                    hint: failure == .noSuchFileOrDirectory ? "its directory must exist" : nil)
            }
            guard let identity = Self.identity(path) else {
                throw SensingProblem("\(path) was removed while it was made")
            }
            self.descriptor = descriptor
            self.path = path
            self.identity = identity
        } catch {
            Glibc.close(descriptor)
            throw error
        }
        guard chmod(path, mode) == 0, kind == .datagram || listen(descriptor, Self.backlog) == 0 else {
            let failure = Errno(rawValue: errno)
            close()
            throw SensingProblem("cannot listen on \(path)", failure)
        }
    }

    /// Closes it, and removes the file unless it has become another's.
    func close() {
        if Self.identity(path) == identity { unlink(path) }
        Glibc.close(descriptor)
    }

    /// Removes a socket that nobody has open any more.
    private static func removeStale(_ path: String, _ kind: Kind) throws {
        guard let found = identity(path) else { return }
        guard found.isSocket else {
            throw SensingProblem(
                "cannot listen on \(path): there is a file that is no socket; remove it, or choose another path")
        }
        let probe = socket(kind)
        guard probe >= 0 else { throw SensingProblem("cannot make a socket", Errno(rawValue: errno)) }
        defer { Glibc.close(probe) }
        let isRefused = withAddress(path) { connect(probe, $0, $1) } != 0 && errno == ECONNREFUSED
        guard isRefused else {
            // Who may not even connect cannot know; who finds nothing has come too late.
            if errno == ENOENT, identity(path) == nil { return }
            throw SensingProblem(
                "cannot listen on \(path): another program does, or another feedback; end it, or choose another path")
        }
        if identity(path) == found { unlink(path) }
    }

    private static func socket(_ kind: Kind) -> Int32 {
        Glibc.socket(AF_UNIX, Int32(kind.number | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue), 0)
    }

    private static func identity(_ path: String) -> Identity? {
        var status = stat()
        guard lstat(path, &status) == 0 else { return nil }
        return Identity(
            device: status.st_dev, number: status.st_ino, isSocket: status.st_mode & S_IFMT == S_IFSOCK)
    }

    /// Calls with the address of a path, of which no more is taken than there is room for.
    private static func withAddress<Result>(_ path: String, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Result)
        -> Result
    {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { room in
            room.copyBytes(from: path.utf8.prefix(room.count - 1))
        }
        return withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                body($0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
    }
}
