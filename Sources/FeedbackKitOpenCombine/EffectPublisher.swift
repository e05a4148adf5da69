public import FeedbackKit
public import OpenCombine

extension Effect {
    /// Emits the values of a publisher.
    ///
    /// The publisher is made and subscribed to on the loop's turn, without a task: what it delivers at once (as `Just`
    /// and `Sequence` do) is queued in its order, ahead of what later feedbacks emit. Where the feedback has an executor of
    /// its own, that happens there instead. What it delivers later may come
    /// from any thread. The effect ends when the publisher completes; cancelling the effect cancels the subscription,
    /// and what was delivered and the loop has not taken is withdrawn.
    ///
    /// Its demand is unlimited, because a publisher cannot be made to wait on the loop's turn: where the loop's mailbox
    /// has a limit, a value beyond it meets the loop's ``Overflow`` policy, as does that of any sender who cannot wait.
    /// For a publisher that is to be asked only for as much as the mailbox has room for, see ``publisherWhenRoom(_:)``.
    /// A publisher that delivers without end before `subscribe` returns holds the loop up for ever.
    ///
    /// - Parameter make: called each time the effect is started. It makes the publisher, since publishers, unlike
    ///   effects, need not be safe to hand from one thread to another.
    public static func publisher<P: Publisher & SendableMetatype>(_ make: @escaping @Sendable () -> P) -> Effect
    where P.Output == Event, P.Failure == Never {
        subscribe { send, finish in
            let run = PublisherRun<Event, Never>(value: { send($0) }, end: { _ in finish() })
            make().subscribe(run)
            return FeedbackKit.Subscription { run.cancel() }
        }
    }

    /// Emits the values of a publisher that is safe to share between threads.
    public static func publisher<P: Publisher & Sendable>(_ publisher: P) -> Effect
    where P.Output == Event, P.Failure == Never {
        .publisher { publisher }
    }

    /// Emits the values of a publisher, asking for one after the other, each when the loop's mailbox has room for it.
    ///
    /// So a fast publisher that heeds its demand fills no buffer. The values are carried by a task, on the feedback's
    /// executor, and not on the loop's turn.
    ///
    /// - Parameter make: makes the publisher each time the effect is started.
    public static func publisherWhenRoom<P: Publisher & SendableMetatype>(_ make: @escaping @Sendable () -> P) -> Effect
    where P.Output == Event, P.Failure == Never {
        run { send in
            for await event in make().values { await send.whenRoom(event) }
        }
    }

    /// Emits the values of a publisher that may fail: an ``attempt(_:recover:)`` of it.
    ///
    /// - Parameters:
    ///   - retry: how often the publisher is made and subscribed to again after a failure; the loop's clock counts the
    ///     pauses. Values delivered in a try that failed remain sent.
    ///   - make: makes the publisher, on the executor of the feedback.
    ///   - recover: turns the failure into an event, or with `nil` into nothing. Without this rule a failure is a
    ///     fault: the loop is cancelled, and ``Loop/fault`` says why.
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
