import CLinux
import Glibc
import NIOCore
import SystemPackage

/// An echo request (RFC 792, RFC 4443). Its socket needs no permission beyond `net.ipv4.ping_group_range` (icmp(7)).
/// The kernel fills in the identifier and checksum, and delivers only the answers to this socket.
struct EchoRequest {
    /// The message types of requests and answers.
    private static let types: (v4: (UInt8, UInt8), v6: (UInt8, UInt8)) = ((8, 0), (128, 129))
    /// The length of type, code, checksum, identifier and number.
    private static let headerLength = 8

    /// The content that the answer must return.
    private let cookie: [UInt8] = (0..<16).map { _ in .random(in: .min ... .max) }

    /// Sends a request to an address and waits for the answer. Throws ``NetworkProblem``, and `CancellationError` as
    /// soon as the task is cancelled.
    func answer(of address: SocketAddress) async throws {
        let isV6 = address.protocol == .inet6
        let descriptor = linux_echo(isV6 ? 1 : 0)
        guard descriptor >= 0 else { throw Self.refusal(Errno(rawValue: errno), isV6) }
        defer { close(descriptor) }
        let (request, answer) = isV6 ? Self.types.v6 : Self.types.v4
        let isConnected = address.withSockAddr { connect(descriptor, $0, socklen_t($1)) }
        guard isConnected == 0 else { throw NetworkProblem("\(Errno(rawValue: errno))") }
        let packet = [request, 0, 0, 0, 0, 0, 0, 1] + cookie
        guard send(descriptor, packet, packet.count, Int32(MSG_NOSIGNAL)) == packet.count else {
            throw NetworkProblem("\(Errno(rawValue: errno))")
        }
        var room = [UInt8](repeating: 0, count: 512)
        while true {
            do {
                try await Poller.shared.readable(descriptor)
            } catch let failure as Errno {
                throw NetworkProblem("an answer cannot be waited for: \(failure)")
            }
            let count = recv(descriptor, &room, room.count, 0)
            if count >= 0 {
                if count == packet.count, room[0] == answer, room[Self.headerLength..<count].elementsEqual(cookie) {
                    return
                }
            } else if errno != EAGAIN, errno != EINTR {
                // A router or the kernel reported an error about the request.
                throw NetworkProblem("\(Errno(rawValue: errno))")
            }
        }
    }

    /// Returns the reason why the socket cannot be opened.
    private static func refusal(_ failure: Errno, _ isV6: Bool) -> NetworkProblem {
        switch failure {
        case .permissionDenied, .notPermitted:
            NetworkProblem(
                "the kernel does not let the group \(getegid()) ask for an echo; the sysctl net.ipv4.ping_group_range must "
                    + "include it, as \"0 2147483647\" does")
        case .addressFamilyNotSupported, .protocolNotSupported:
            NetworkProblem("this machine has no \(isV6 ? "IPv6" : "IPv4")")
        default: NetworkProblem("it cannot be asked: \(failure)")
        }
    }
}
