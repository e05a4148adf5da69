public import ServiceLifecycle

/// Sends `STOPPING=1` to the service manager as soon as the process begins to shut down.
///
/// A `ServiceGroup` shuts down its services one after another, the last one of its list first. Put this service last,
/// so that the service manager learns of the shutdown before any other service takes time for it.
public struct StoppingNotifier: Service, CustomStringConvertible {
    private let notifier: Notifier
    private let status: String?

    /// Creates a service that waits for the shutdown.
    ///
    /// - Parameters:
    ///   - notifier: The notifier that sends the message.
    ///   - status: A line for people to send with it, as in ``NotifyMessage/status(_:)``.
    public init(notifier: Notifier = Notifier(), status: String? = nil) {
        self.notifier = notifier
        self.status = status
    }

    /// The name in the log of the service group. By default it would print the whole value.
    public var description: String { "stopping notifier" }

    /// Waits for graceful shutdown or cancellation, then sends.
    public func run() async {
        // Cancellation also means a shutdown.
        try? await gracefulShutdown()
        notifier.notify([.stopping] + (status.map { [.status($0)] } ?? []))
    }
}
