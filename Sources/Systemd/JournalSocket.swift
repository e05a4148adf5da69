import Glibc
import Synchronization

/// Sends entries with fields of their own to the journal (systemd.io, "Native Journal Protocol").
///
/// It never waits: what the journal does not take at once is for the caller to say in another way.
public final class JournalSocket: Sendable {
    /// Where the journal listens.
    public static let path = "/run/systemd/journal/socket"
    /// That of this process.
    public static let shared = JournalSocket()

    private let path: String
    /// The descriptor, once there has been an entry; it stays open.
    private let descriptor = Mutex<Int32?>(nil)

    /// A sender to the journal that listens at a path.
    public init(path: String = JournalSocket.path) {
        self.path = path
    }

    deinit {
        if let descriptor = descriptor.withLock({ $0 }) { close(descriptor) }
    }

    /// Sends an entry; `false`: it was not taken.
    ///
    /// - Parameter fields: the names, which must be such as the journal takes (``JournalFields/isName(_:)``), and values.
    public func send(_ fields: [(name: String, value: String)]) -> Bool {
        var bytes: [UInt8] = []
        for (name, value) in fields { Self.append(name, value, to: &bytes) }
        guard let descriptor = opened(), var address = Self.address(path) else { return false }
        return withUnsafePointer(to: &address) { address in
            address.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                sendto(
                    descriptor, bytes, bytes.count, Int32(MSG_DONTWAIT) | Int32(MSG_NOSIGNAL), address,
                    socklen_t(MemoryLayout<sockaddr_un>.size)) == bytes.count
            }
        }
    }

    private func opened() -> Int32? {
        descriptor.withLock { descriptor in
            if let descriptor { return descriptor }
            let new = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
            guard new >= 0 else { return nil }
            descriptor = new
            return new
        }
    }

    private static func address(_ path: String) -> sockaddr_un? {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let fits = withUnsafeMutableBytes(of: &address.sun_path) { room in
            guard path.utf8.count < room.count else { return false }
            room.copyBytes(from: path.utf8)
            return true
        }
        return fits ? address : nil
    }

    /// A value with a line break is told by its length, 64 bits with the least first.
    private static func append(_ name: String, _ value: String, to bytes: inout [UInt8]) {
        bytes += name.utf8
        if value.utf8.contains(UInt8(ascii: "\n")) {
            bytes.append(UInt8(ascii: "\n"))
            withUnsafeBytes(of: UInt64(value.utf8.count).littleEndian) { bytes += $0 }
        } else {
            bytes.append(UInt8(ascii: "="))
        }
        bytes += value.utf8
        bytes.append(UInt8(ascii: "\n"))
    }
}
