public import FeedbackKit
public import OpenCombine

extension ThunkState: Publisher {
    /// A state of the store.
    public typealias Output = State
    /// The publisher never fails.
    public typealias Failure = Never

    /// Delivers the state once, after everything sent before has been taken, and completes. It delivers on the store's
    /// executor. A thunk therefore reads the state when its work is done.
    public func receive<Downstream: Subscriber>(subscriber: Downstream)
    where Downstream.Input == State, Downstream.Failure == Never {
        OrderedPublisher<State> { handler, end in
            read { state in
                handler(state)
                end()
            }
            return FeedbackKit.Subscription {}
        }.receive(subscriber: subscriber)
    }
}

extension ThunkOutput {
    /// Yields the values of a publisher as they arrive. The publisher is created and subscribed to on the store's
    /// executor, and cancelled with the dispatch or the store. Its demand is unlimited: see
    /// ``Effect/publisher(_:)-(()->P)``.
    public static func publisher<P: Publisher & SendableMetatype>(_ make: @escaping @Sendable () -> P) -> ThunkOutput
    where P.Output == Action, P.Failure == Never {
        subscribe { send, finish in
            let run = PublisherRun<Action, Never>(value: { send($0) }, end: { _ in finish() })
            make().subscribe(run)
            return FeedbackKit.Subscription { run.cancel() }
        }
    }
}

extension Thunk {
    /// Creates a thunk that yields the values of a publisher: see ``ThunkOutput/publisher(_:)``.
    public init<P: Publisher & SendableMetatype>(
        _ transform: @escaping @Sendable (ThunkState<State>, AsyncAction, Environment) -> P
    )
    where P.Output == Action, P.Failure == Never, AsyncAction: Sendable, Environment: Sendable {
        self.init { (state, action, environment) -> Output in
            .publisher { transform(state, action, environment) }
        }
    }
}
