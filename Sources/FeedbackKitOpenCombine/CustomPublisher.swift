public import FeedbackKit
public import OpenCombine

extension Feedback {
    /// Creates a feedback from a function that maps the publisher of states to a publisher of events, as in
    /// CombineFeedback.
    ///
    ///     Feedback.custom { states in states.filter(\.isLoading).flatMap { _ in load() }.map(Event.didLoad) }
    ///
    /// The function is called once per loop, when the loop starts. The states are delivered in order on the loop's
    /// executor. Events that the publisher emits synchronously are queued in the order of the feedbacks. The feedback
    /// ends by itself or when the loop stops.
    ///
    /// Prefer the other operators if they suffice. Events of this one are withdrawn only when the loop is cancelled,
    /// and not with the state that caused them.
    public static func custom<P: Publisher & SendableMetatype>(
        name: String = "custom", perform: @escaping @Sendable (OrderedPublisher<S>) -> P
    ) -> Feedback where P.Output == E, P.Failure == Never {
        Feedback(name: name, { $0 }, perform)
    }
}
