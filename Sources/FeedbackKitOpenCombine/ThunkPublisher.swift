public import FeedbackKit
public import OpenCombine

extension ThunkState: Publisher {
    /// A state.
    public typealias Output = State
    /// It never fails.
    public typealias Failure = Never

    /// Gives the state once, when everything has been taken that was sent before, and completes; on the store's turn.
    /// So a thunk reads the state late, when its work is done.
    public func receive<Downstream: Subscriber>(subscriber: Downstream)
    where Downstream.Input == State, Downstream.Failure == Never {
        OrderedPublisher<State> { see, end in
            read { state in
                see(state)
                end()
            }
            return FeedbackKit.Subscription {}
        }.receive(subscriber: subscriber)
    }
}

extension ThunkOutput {
    /// What a publisher delivers, each as it comes. It is made and subscribed to on the store's turn, and cancelled
    /// with the dispatch or the store. Its demand is unlimited: see ``Effect/publisher(_:)-(()->P)``.
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
    /// Answers with what a publisher delivers: see ``ThunkOutput/publisher(_:)``.
    public init<P: Publisher & SendableMetatype>(
        _ transform: @escaping @Sendable (ThunkState<State>, AsyncAction, Environment) -> P
    )
    where P.Output == Action, P.Failure == Never, AsyncAction: Sendable, Environment: Sendable {
        self.init { (state, action, environment) -> Output in
            .publisher { transform(state, action, environment) }
        }
    }
}
