import CSystemd
import Glibc

/// Tells the service manager how the process fares, over the socket named by `$NOTIFY_SOCKET`.
///
/// A value without state of its own: copies are alike, and all threads may use them at once. Where there is no service
/// manager, sending does nothing and says so.
///
/// Source: sd_notify(3). The environment variable is left in place (`unset_environment` 0), since clearing it would
/// silence every later message.
public struct Notifier: Sendable {
    /// The longest datagram, in bytes, which systemd takes; it drops longer ones. Source: `NOTIFY_BUFFER_MAX` in
    /// systemd's `src/core/manager.c`, less the NUL.
    public static let datagramLimit = 4095

    private let deliver: @Sendable (String) -> Int32
    private let deliverDescriptor: @Sendable (String, Int32) -> Int32
    private let room: @Sendable () -> Int
    private let synchronize: @Sendable (UInt64) -> Int32
    private let hasReceiver: @Sendable () -> Bool

    /// A notifier of the service manager which started the process.
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

    /// A notifier that hands each datagram to a closure instead: for tests, and for a daemon that runs within another
    /// program.
    ///
    /// - Parameters:
    ///   - storeLimit: How many descriptors the receiver keeps; it is told of them by the text alone.
    ///   - receiver: Given the text of each datagram, on the thread that sends it.
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

    /// Whether there is anyone to tell: whether `$NOTIFY_SOCKET` is set and not empty.
    public var isAvailable: Bool {
        hasReceiver()
    }

    /// Sends messages, all in one datagram, so that the service manager acts on them together.
    ///
    /// - Parameter messages: What to say; with none, nothing is sent.
    /// - Returns: What became of the datagram. One longer than ``datagramLimit`` is not sent: `EMSGSIZE`.
    @discardableResult
    public func notify(_ messages: NotifyMessage...) -> NotifyOutcome {
        notify(messages)
    }

    /// Sends messages, all in one datagram, so that the service manager acts on them together.
    ///
    /// - Parameter messages: What to say; with none, nothing is sent.
    /// - Returns: What became of the datagram. One longer than ``datagramLimit`` is not sent: `EMSGSIZE`.
    @discardableResult
    public func notify(_ messages: [NotifyMessage]) -> NotifyOutcome {
        guard isAvailable else { return .noSocket }
        guard !messages.isEmpty else { return .delivered }
        let datagram = messages.map(\.assignment).joined(separator: "\n")
        guard datagram.utf8.count <= Self.datagramLimit else { return .failed(errno: EMSGSIZE) }
        return NotifyOutcome(returnCode: deliver(datagram))
    }

    /// How many descriptors the service manager keeps for the process after its end (`FileDescriptorStoreMax=` of
    /// systemd.service(5)); 0 where it keeps none, or nobody says so by `$FDSTORE`, as systemd does from 254 on.
    public var storeLimit: Int { isAvailable ? max(0, room()) : 0 }

    /// Has the service manager keep a descriptor, beside the process' own, and pass it under a name to the process that it
    /// starts next (sd_listen_fds_with_names(3)).
    ///
    /// - Parameters:
    ///   - descriptor: What to keep; it stays open here.
    ///   - name: By which it is known: ASCII without control characters and colons.
    /// - Returns: What became of the message. One that was delivered may still be ignored: see ``storeLimit``.
    public func store(_ descriptor: Int32, as name: String) -> NotifyOutcome {
        guard isAvailable else { return .noSocket }
        return NotifyOutcome(returnCode: deliverDescriptor(NotifyMessage.store(name).assignment, descriptor))
    }

    /// Waits until the service manager has taken in everything sent before.
    ///
    /// A process that sends and ends at once needs it: its messages may otherwise arrive when nobody knows any more
    /// whose they were.
    ///
    /// - Parameter timeout: How long to wait at most. The calling *thread* is blocked for that long, so call it where
    ///   nothing else needs the thread, and keep it short.
    /// - Returns: `.failed` with `ETIMEDOUT` when the time is over.
    @discardableResult
    public func barrier(timeout: Duration) -> NotifyOutcome {
        guard isAvailable else { return .noSocket }
        return NotifyOutcome(returnCode: synchronize(NotifyMessage.microseconds(of: timeout)))
    }
}

/// What became of a message to the service manager.
public enum NotifyOutcome: Sendable, Hashable {
    /// It was sent; whether the service manager has read it, only ``Notifier/barrier(timeout:)`` tells.
    case delivered
    /// There is no service manager that wants to know.
    case noSocket
    /// It could not be sent, for the reason given as a number of errno(3).
    case failed(errno: Int32)

    /// Reads what a function of sd_notify(3) returns: above zero sent, zero no socket, below zero a negated errno.
    init(returnCode: Int32) {
        switch returnCode {
        case 1...: self = .delivered
        case 0: self = .noSocket
        // `magnitude`, because negating the smallest number would trap; no errno is near it.
        default: self = .failed(errno: Int32(truncatingIfNeeded: returnCode.magnitude))
        }
    }
}
