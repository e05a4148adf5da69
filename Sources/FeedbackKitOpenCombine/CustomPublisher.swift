public import FeedbackKit
public import OpenCombine

extension Feedback {
    /// A feedback as CombineFeedback has it at its root: a function from the publisher of states to a publisher of
    /// events.
    ///
    ///     Feedback.custom { states in states.filter(\.isLoading).flatMap { _ in load() }.map(Event.didLoad) }
    ///
    /// It is called once a loop, when the loop starts. The states are delivered on the loop's turn, each in its order;
    /// what the publisher emits at once is queued in the order of the feedbacks. It ends by itself or when the loop
    /// stops. Where the other operators suffice, take them: what this one emits is withdrawn only when the loop is
    /// cancelled, not with the state that was the reason for it.
    public static func custom<P: Publisher & SendableMetatype>(
        name: String = "custom", perform: @escaping @Sendable (OrderedPublisher<S>) -> P
    ) -> Feedback where P.Output == E, P.Failure == Never {
        Feedback(name: name, { $0 }, perform)
    }
}
