public import FeedbackKit
public import OpenCombine

// The forms of Feedbacks, whose closures name the type `AnyPublisher`. The last parameter has no meaning. It only ranks
// these forms behind those with an `OrderedPublisher`, so that a closure without types is not ambiguous.
extension Feedback where S == any State, E == any Event {
    /// Creates a feedback that maps the publisher of all states of one type to a publisher of events.
    @_disfavoredOverload  // `AnyState` is a `State` too, and has a form of its own.
    public init<T: State, P: Publisher & SendableMetatype>(
        name: String? = nil, on type: T.Type, perform: @escaping @Sendable (AnyPublisher<T, Never>) -> P,
        _: Void = ()
    ) where P.Output == any Event, P.Failure == Never {
        self.init(name: name, on: type) { (states: OrderedPublisher<T>) in perform(states.eraseToAnyPublisher()) }
    }

    /// Creates a feedback that maps the publisher of all states to a publisher of events.
    @_disfavoredOverload  // A closure without types takes an `OrderedPublisher`.
    public init<P: Publisher & SendableMetatype>(
        name: String? = nil, on type: AnyState.Type, perform: @escaping @Sendable (AnyPublisher<any State, Never>) -> P,
        _: Void = ()
    ) where P.Output == any Event, P.Failure == Never {
        self.init(name: name, on: type) { (states: OrderedPublisher<any State>) in
            perform(states.eraseToAnyPublisher())
        }
    }
}
