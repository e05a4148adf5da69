import Glibc
import Synchronization

/// Sends entries with separate fields to the journal (systemd.io, "Native Journal Protocol").
///
/// It uses the protocol of `sd_journal_sendv`, but not that function, which waits without limit while the journal does
/// not read. Here an entry waits for at most ``timeout``. While there is no room, later entries do not wait at all.
/// Entries that do not fit are lost and counted.
public final class JournalSocket: Sendable {
    /// The path of the journal's socket.
    public static let path = "/run/systemd/journal/socket"
    /// The sender of this process.
    public static let shared = JournalSocket()

    /// The longest wait of an entry for the journal, in milliseconds.
    public static let timeout: Int32 = LineWriter.timeout

    /// The outcome of sending an entry.
    public enum Outcome: Sendable, Hashable {
        /// The journal accepted the entry.
        case taken
        /// The journal had no room in time. The entry is lost and counted.
        case lost
        /// No journal accepts the entry. The caller must write it in another way.
        case refused
    }

    private struct State {
        /// The descriptor, opened with the first entry. It stays open.
        var descriptor: Int32?
        var lost = 0
        /// The number of lost entries that were not reported yet.
        var unreported = 0
        /// A Boolean value that indicates whether the last entry found no room, so that the next does not wait.
        var isStalled = false
    }

    private let path: String
    private let state = Mutex(State())

    /// Creates a sender to the journal at a path.
    public init(path: String = JournalSocket.path) {
        self.path = path
    }

    deinit {
        if let descriptor = state.withLock({ $0.descriptor }) { close(descriptor) }
    }

    /// The number of entries lost so far.
    public var lostEntries: Int { state.withLock { $0.lost } }

    /// Sends an entry.
    ///
    /// - Parameters:
    ///   - fields: Names, which the journal must accept (``JournalFields/isName(_:)``), and values.
    ///   - notice: Returns an entry that reports a number of lost entries. It is sent before this entry when there is
    ///     room again; `nil` for no report.
    public func send(
        _ fields: [(name: String, value: String)], notice: ((Int) -> [(name: String, value: String)])? = nil
    ) -> Outcome {
        guard let descriptor = opened() else { return .refused }
        if let notice {
            let unreported = state.withLock { state in
                defer { state.unreported = 0 }
                return state.unreported
            }
            if unreported > 0 {
                let outcome = deliver(Self.bytes(of: notice(unreported)), to: descriptor)
                if outcome != .taken { state.withLock { $0.unreported += unreported } }
                guard outcome != .lost else { return lose() }
            }
        }
        let outcome = deliver(Self.bytes(of: fields), to: descriptor)
        return outcome == .lost ? lose() : outcome
    }

    private func lose() -> Outcome {
        state.withLock { state in
            state.lost += 1
            state.unreported += 1
        }
        return .lost
    }

    /// Sends a datagram outside the lock. An open descriptor stays open, and each datagram is complete.
    private func deliver(_ bytes: [UInt8], to descriptor: Int32) -> Outcome {
        var deadline: ContinuousClock.Instant?
        var hasConnected = false
        while true {
            if Glibc.send(descriptor, bytes, bytes.count, Int32(MSG_DONTWAIT | MSG_NOSIGNAL)) == bytes.count {
                state.withLock { $0.isStalled = false }
                return .taken
            }
            switch errno {
            case EINTR: continue
            case EAGAIN:
                let now = ContinuousClock.now
                let limit = deadline ?? (now + .milliseconds(state.withLock { $0.isStalled ? 0 : Self.timeout }))
                deadline = limit
                let left = now.duration(to: limit) / .milliseconds(1)
                guard left > 0, hasRoom(descriptor, within: Int32(left.rounded(.up))) else {
                    state.withLock { $0.isStalled = true }
                    return .lost
                }
            case ENOTCONN, ECONNREFUSED, ECONNRESET, EDESTADDRREQ, EPIPE:
                // The socket is not connected yet, or another journal listens now.
                guard !hasConnected, connect(descriptor) else { return .refused }
                hasConnected = true
            default: return .refused
            }
        }
    }

    /// Returns whether the journal reads again within a limit in milliseconds.
    private func hasRoom(_ descriptor: Int32, within limit: Int32) -> Bool {
        var request = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        let result = poll(&request, 1, limit)
        // After an interruption the caller checks again until the limit has passed.
        return result == 1 || (result < 0 && errno == EINTR)
    }

    private func opened() -> Int32? {
        state.withLock { state in
            if let descriptor = state.descriptor { return descriptor }
            let new = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
            guard new >= 0 else { return nil }
            state.descriptor = new
            return new
        }
    }

    /// Connects the socket, so that the system can report when there is room.
    private func connect(_ descriptor: Int32) -> Bool {
        guard var address = Self.address(path) else { return false }
        return withUnsafePointer(to: &address) { address in
            address.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                Glibc.connect(descriptor, address, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0
            }
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

    private static func bytes(of fields: [(name: String, value: String)]) -> [UInt8] {
        var bytes: [UInt8] = []
        for (name, value) in fields { append(name, value, to: &bytes) }
        return bytes
    }

    /// Appends a field. A value with a line break is preceded by its length, 64 bits in little-endian order.
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
