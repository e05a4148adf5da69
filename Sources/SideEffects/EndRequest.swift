import Systemd

/// A request to end a running command, made once, with its reason.
final class EndRequest: Sendable {
    /// The reason for ending the command.
    enum Reason: Sendable {
        case cancelled
        case timedOut
    }

    /// The reason, or nil if the command has finished by itself.
    private let waiter = CancellableWaiter<Reason?>()

    /// The reason for ending the command; `nil` while the command may continue.
    var reason: Reason? { waiter.current ?? nil }

    /// Requests the end. Only the first reason counts, and none counts after the command has finished by itself.
    func request(_ reason: Reason) { waiter.resume(with: .success(reason)) }

    /// Marks the command as finished. Returns `true` if nobody has requested the end; later requests then have no
    /// effect.
    func finish() -> Bool { waiter.resume(with: .success(nil)) }

    /// Waits until the end is requested, the command has finished, or the task is cancelled. Only one task may wait.
    func requested() async { _ = try? await waiter.value() }
}
