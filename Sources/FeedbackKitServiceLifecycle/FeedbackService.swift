public import FeedbackKit
public import ServiceLifecycle

/// A system or a loop as a service of a `ServiceGroup`.
///
///     try await ServiceGroup(services: [system.service()], logger: logger).run()
///
/// The service starts with the group. A graceful shutdown takes the waiting events and lets running side effects
/// finish; the group's `maximumGracefulShutdownDuration` limits it. Cancelling the group cancels the loop. A fault ends
/// the service with the ``LoopFault`` as its error.
public struct FeedbackService: Service {
    private let body: @Sendable () async throws -> Void
    private let stop: @Sendable () -> Void

    init(run body: @escaping @Sendable () async throws -> Void, stop: @escaping @Sendable () -> Void) {
        self.body = body
        self.stop = stop
    }

    /// Runs until the loop has stopped.
    public func run() async throws {
        try await withGracefulShutdownHandler {
            try await body()
        } onGracefulShutdown: {
            stop()
        }
    }
}

extension Loop {
    /// The loop as a service.
    public func service() -> FeedbackService {
        FeedbackService(run: { try await self.run() }, stop: { self.beginStop() })
    }
}

extension System {
    /// The system as a service.
    public func service() -> FeedbackService {
        FeedbackService(run: { try await self.run() }, stop: { self.beginStop() })
    }
}

extension UISystem {
    /// The system as a service.
    public func service() -> FeedbackService { system.service() }
}
