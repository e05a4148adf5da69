public import FeedbackKit
public import OpenCombine

extension Effect {
    /// Creates an effect that emits the values of a publisher.
    ///
    /// The publisher is created and subscribed to on the loop's executor, or on the feedback's own executor if it has
    /// one. No task is needed. Values that it delivers synchronously (as `Just` and `Sequence` do) are queued in order,
    /// before the events of later feedbacks. Later values may come from any thread. The effect ends when the publisher
    /// completes. Cancelling the effect cancels the subscription and withdraws the values that the loop has not taken.
    ///
    /// The demand is unlimited, because a publisher cannot wait on the loop's executor. If the loop's mailbox has a
    /// limit, the loop's ``Overflow`` policy applies to values beyond it, as for every sender that cannot wait. For a
    /// publisher that delivers only as much as the mailbox accepts, see ``publisherWhenRoom(_:)``. A publisher that
    /// delivers without end before `subscribe` returns blocks the loop for ever.
    ///
    /// - Parameter make: Creates the publisher at each start of the effect, because publishers, unlike effects, need
    ///   not be safe to pass between threads.
    public static func publisher<P: Publisher & SendableMetatype>(_ make: @escaping @Sendable () -> P) -> Effect
    where P.Output == Event, P.Failure == Never {
        subscribe { send, finish in
            let run = PublisherRun<Event, Never>(value: { send($0) }, end: { _ in finish() })
            make().subscribe(run)
            return FeedbackKit.Subscription { run.cancel() }
        }
    }

    /// Creates an effect that emits the values of a publisher that is safe to share between threads.
    public static func publisher<P: Publisher & Sendable>(_ publisher: P) -> Effect
    where P.Output == Event, P.Failure == Never {
        .publisher { publisher }
    }

    /// Creates an effect that emits the values of a publisher one by one, each when the loop's mailbox has room for it.
    ///
    /// A fast publisher that respects its demand therefore fills no buffer. A task on the feedback's executor passes
    /// the values on, not the loop's executor.
    ///
    /// - Parameter make: Creates the publisher at each start of the effect.
    public static func publisherWhenRoom<P: Publisher & SendableMetatype>(_ make: @escaping @Sendable () -> P) -> Effect
    where P.Output == Event, P.Failure == Never {
        run { send in
            for await event in make().values { await send.whenRoom(event) }
        }
    }

    /// Creates an effect that emits the values of a publisher that may fail: an ``attempt(_:recover:)`` of it.
    ///
    /// - Parameters:
    ///   - retry: The policy for subscribing again after a failure. The loop's clock measures the pauses. Values of a
    ///     failed attempt remain sent.
    ///   - make: Creates the publisher, on the executor of the feedback.
    ///   - recover: Converts the failure to an event, or ignores it with `nil`. Without this function a failure is a
    ///     fault: the loop is cancelled, and ``Loop/fault`` contains the reason.
    public static func attempt<P: Publisher & SendableMetatype>(
        retry: RetryPolicy = .constant(.zero, limit: 0),
        publisher make: @escaping @Sendable () -> P,
        recover: (@Sendable (any Error) -> Event?)? = nil
    ) -> Effect where P.Output == Event {
        attempt(
            retry: retry,
            { send in
                let (over, continuation) = AsyncThrowingStream.makeStream(of: Never.self)
                let run = PublisherRun<Event, P.Failure>(
                    value: { send($0) },
                    end: { completion in
                        switch completion {
                        case .finished: continuation.finish()
                        case .failure(let error): continuation.finish(throwing: error)
                        }
                    })
                make().subscribe(run)
                defer { run.cancel() }
                for try await _ in over {}
            }, recover: recover)
    }
}
