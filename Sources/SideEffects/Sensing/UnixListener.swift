import Glibc
import SocketFile
import SystemPackage

/// A named UNIX socket (unix(7)) that receives messages of other processes.
struct UnixListener: Sendable {
    /// The kind of socket.
    enum Kind: String, Sendable {
        case stream
        case datagram

        var number: UInt32 { self == .stream ? SOCK_STREAM.rawValue : SOCK_DGRAM.rawValue }
    }

    /// The number of connections that may wait to be accepted.
    static let backlog: Int32 = 64

    let descriptor: Int32
    private let file: SocketFile

    /// Creates the socket. A stale socket file is replaced, but not one that a program has open.
    init(path: String, kind: Kind, mode: mode_t) throws {
        do throws(SocketFile.Failure) {
            try SocketFile.check(path)
        } catch {
            throw Self.problem(error, path)
        }
        try Self.removeStale(path, kind)
        let descriptor = Self.socket(kind)
        guard descriptor >= 0 else { throw SensingProblem("cannot make a socket", Errno(rawValue: errno)) }
        if kind == .datagram {
            var yes: Int32 = 1
            setsockopt(descriptor, SOL_SOCKET, SO_PASSCRED, &yes, socklen_t(MemoryLayout<Int32>.size))
        }
        do throws(SocketFile.Failure) {
            file = try SocketFile(binding: descriptor, to: path, mode: UInt16(mode))
        } catch {
            Glibc.close(descriptor)
            throw Self.problem(error, path)
        }
        self.descriptor = descriptor
        guard kind == .datagram || listen(descriptor, Self.backlog) == 0 else {
            let failure = Errno(rawValue: errno)
            close()
            throw SensingProblem("cannot listen on \(path)", failure)
        }
    }

    private static func problem(_ failure: SocketFile.Failure, _ path: String) -> SensingProblem {
        switch failure {
        case .system(let number), .directory(_, .unreachable(let number)):
            SensingProblem(
                "cannot listen on \(path)", Errno(rawValue: number),
                hint: number == ENOENT ? "its directory must exist" : nil)
        case .directory(let directory, let flaw):
            SensingProblem(
                "cannot listen on \(path): \(flaw.reason(directory)); "
                    + (flaw.remedy(directory).map { "forbid that with `\($0)`, or choose" } ?? "choose")
                    + " a directory that only the daemon's user or root can write")
        case .replaced: SensingProblem("\(path) was removed while it was created")
        }
    }

    /// Closes the socket, and removes its file unless another file has replaced it.
    func close() {
        file.remove()
        Glibc.close(descriptor)
    }

    /// Removes a socket file that no program has open.
    private static func removeStale(_ path: String, _ kind: Kind) throws {
        guard let found = FileIdentity(at: path) else { return }
        guard found.isSocket else {
            throw SensingProblem(
                "cannot listen on \(path): the file there is not a socket; remove it or choose another path")
        }
        let probe = socket(kind)
        guard probe >= 0 else { throw SensingProblem("cannot make a socket", Errno(rawValue: errno)) }
        defer { Glibc.close(probe) }
        let isRefused = withAddress(path) { connect(probe, $0, $1) } != 0 && errno == ECONNREFUSED
        guard isRefused else {
            // Without permission to connect the socket's use is unknown. If the file is missing, another process has
            // removed it.
            if errno == ENOENT, FileIdentity(at: path) == nil { return }
            throw SensingProblem(
                "cannot listen on \(path): another program or feedback listens there; stop it or choose another path")
        }
        if FileIdentity(at: path) == found { unlink(path) }
    }

    private static func socket(_ kind: Kind) -> Int32 {
        Glibc.socket(AF_UNIX, Int32(kind.number | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue), 0)
    }

    /// Calls a function with the address of a path, cut to the room of a socket address.
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
