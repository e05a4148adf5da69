public import ServiceLifecycle

/// Sends `STOPPING=1` to the service manager as soon as the process begins to shut down.
///
/// A `ServiceGroup` shuts its services down one after another, the last one of its list first: put this one last, and the
/// service manager hears of the shutdown before any service has spent time on it.
public struct StoppingNotifier: Service, CustomStringConvertible {
    private let notifier: Notifier
    private let status: String?

    /// A service that waits for the shutdown.
    ///
    /// - Parameters:
    ///   - notifier: Who is told.
    ///   - status: A line for people to go with it, as in ``NotifyMessage/status(_:)``.
    public init(notifier: Notifier = Notifier(), status: String? = nil) {
        self.notifier = notifier
        self.status = status
    }

    /// What the group of services calls it; by itself that would write out everything that it holds.
    public var description: String { "stopping notifier" }

    /// Waits for graceful shutdown or cancellation, then sends.
    public func run() async {
        // Cancellation is a shutdown too, only a harder one.
        try? await gracefulShutdown()
        notifier.notify([.stopping] + (status.map { [.status($0)] } ?? []))
    }
}
