import Glibc

/// A datagram socket in the file system, like that of the service manager.
final class NotifySocket {
    let path: String
    private let descriptor: Int32

    /// Opens a socket below the temporary directory, or at the path of an earlier one.
    init(at other: String? = nil) throws {
        if let other {
            path = other
            guard mkdir(String(other.dropLast("/socket".count)), 0o700) == 0 else { throw SocketError(errno: errno) }
        } else {
            // The path is short because a socket's address has room for 107 bytes. mkdtemp(3) makes its name unique.
            var template = Array("/tmp/notify-XXXXXX".utf8CString)
            guard let directory = mkdtemp(&template) else { throw SocketError(errno: errno) }
            path = String(cString: directory) + "/socket"
        }
        descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        let bound = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        guard bound == 0 else { throw SocketError(errno: errno) }
        // A test that waits in vain for a datagram fails after this time.
        var limit = timeval(tv_sec: 10, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
    }

    /// Returns the next datagram. Closes a descriptor in it, as a service manager closes that of a barrier.
    func receive() throws -> String {
        var buffer = [UInt8](repeating: 0, count: 262_144)
        let count = recv(descriptor, &buffer, buffer.count, 0)
        guard count >= 0 else { throw SocketError(errno: errno) }
        return String(decoding: buffer.prefix(count), as: UTF8.self)
    }

    deinit {
        close(descriptor)
        unlink(path)
        rmdir(String(path.dropLast("/socket".count)))
    }
}

/// A failed call on the socket.
struct SocketError: Error {
    var errno: Int32
}
