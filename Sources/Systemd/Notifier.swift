import CSystemd
import Glibc

/// Reports the state of the process to the service manager, over the socket in `$NOTIFY_SOCKET`.
///
/// It is a value without state of its own. Copies are equal, and all threads may use them at once. Without a service
/// manager, sending does nothing and returns that.
///
/// Source: sd_notify(3). The environment variable stays set (`unset_environment` 0), because clearing it would suppress
/// every later message.
public struct Notifier: Sendable {
    /// The longest datagram that systemd accepts, in bytes. It drops longer ones. Source: `NOTIFY_BUFFER_MAX` in
    /// systemd's `src/core/manager.c`, minus the NUL.
    public static let datagramLimit = 4095

    private let deliver: @Sendable (String) -> Int32
    private let deliverDescriptor: @Sendable (String, Int32) -> Int32
    private let room: @Sendable () -> Int
    private let synchronize: @Sendable (UInt64) -> Int32
    private let hasReceiver: @Sendable () -> Bool

    /// Creates a notifier for the service manager that started the process.
    public init() {
        self.deliver = { sd_notify(0, $0) }
        self.deliverDescriptor = { text, descriptor in
            withUnsafePointer(to: descriptor) { sd_pid_notify_with_fds(0, 0, text, $0, 1) }
        }
        self.room = { Environment["FDSTORE"].flatMap { Int($0) } ?? 0 }
        self.synchronize = { sd_notify_barrier(0, $0) }
        self.hasReceiver = {
            Environment["NOTIFY_SOCKET"].map { !$0.isEmpty } ?? false
        }
    }

    /// Creates a notifier that passes each datagram to a closure, for tests and for a daemon that runs within another
    /// program.
    ///
    /// - Parameters:
    ///   - storeLimit: The number of descriptors that the receiver keeps. It learns of them only from the text.
    ///   - receiver: Receives the text of each datagram, on the thread that sends it.
    public init(storeLimit: Int = 0, receiver: @escaping @Sendable (String) -> Void) {
        self.deliver = { text in
            receiver(text)
            return 1
        }
        self.deliverDescriptor = { text, _ in
            receiver(text)
            return 1
        }
        self.room = { storeLimit }
        self.synchronize = { _ in 1 }
        self.hasReceiver = { true }
    }

    /// A Boolean value that indicates whether `$NOTIFY_SOCKET` is set and not empty.
    public var isAvailable: Bool {
        hasReceiver()
    }

    /// Sends messages in one datagram, so that the service manager processes them together.
    ///
    /// - Parameter messages: The messages. If there are none, nothing is sent.
    /// - Returns: The outcome. A datagram longer than ``datagramLimit`` is not sent and fails with `EMSGSIZE`.
    @discardableResult
    public func notify(_ messages: NotifyMessage...) -> NotifyOutcome {
        notify(messages)
    }

    /// Sends messages in one datagram, so that the service manager processes them together.
    ///
    /// - Parameter messages: The messages. If there are none, nothing is sent.
    /// - Returns: The outcome. A datagram longer than ``datagramLimit`` is not sent and fails with `EMSGSIZE`.
    @discardableResult
    public func notify(_ messages: [NotifyMessage]) -> NotifyOutcome {
        guard isAvailable else { return .noSocket }
        guard !messages.isEmpty else { return .delivered }
        let datagram = messages.map(\.assignment).joined(separator: "\n")
        guard datagram.utf8.count <= Self.datagramLimit else { return .failed(errno: EMSGSIZE) }
        return NotifyOutcome(returnCode: deliver(datagram))
    }

    /// The number of descriptors that the service manager keeps for the process after its end
    /// (`FileDescriptorStoreMax=` of systemd.service(5)). It is 0 without `$FDSTORE`, which systemd sets from version
    /// 254 on.
    public var storeLimit: Int { isAvailable ? max(0, room()) : 0 }

    /// Asks the service manager to keep a descriptor in addition to the process's own. It passes the descriptor under a
    /// name to the next process that it starts (sd_listen_fds_with_names(3)).
    ///
    /// - Parameters:
    ///   - descriptor: The descriptor, which stays open here.
    ///   - name: The name: ASCII without control characters and colons.
    /// - Returns: The outcome of the message. The service manager may ignore a delivered message; see ``storeLimit``.
    public func store(_ descriptor: Int32, as name: String) -> NotifyOutcome {
        guard isAvailable else { return .noSocket }
        return NotifyOutcome(returnCode: deliverDescriptor(NotifyMessage.store(name).assignment, descriptor))
    }

    /// Waits until the service manager has processed all earlier messages.
    ///
    /// A process that sends and exits at once needs it. Otherwise its messages may arrive when the service manager can
    /// no longer assign them to a unit.
    ///
    /// - Parameter timeout: The longest wait. It blocks the calling *thread*, so it must be short, and no other task
    ///   may need the thread.
    /// - Returns: `.failed` with `ETIMEDOUT` if the time passes.
    @discardableResult
    public func barrier(timeout: Duration) -> NotifyOutcome {
        guard isAvailable else { return .noSocket }
        return NotifyOutcome(returnCode: synchronize(NotifyMessage.microseconds(of: timeout)))
    }
}

/// The outcome of a message to the service manager.
public enum NotifyOutcome: Sendable, Hashable {
    /// The message was sent. Only ``Notifier/barrier(timeout:)`` shows whether the service manager has read it.
    case delivered
    /// No service manager receives messages.
    case noSocket
    /// The message could not be sent, for the reason in an error number of errno(3).
    case failed(errno: Int32)

    /// Converts the result of a function of sd_notify(3): positive if sent, zero without a socket, otherwise a negated
    /// errno.
    init(returnCode: Int32) {
        switch returnCode {
        case 1...: self = .delivered
        case 0: self = .noSocket
        // `magnitude`, because negating the smallest number would trap. No errno is near it.
        default: self = .failed(errno: Int32(truncatingIfNeeded: returnCode.magnitude))
        }
    }
}
