/// Something of another library that can be a side effect of a typed ``Feedback``: a publisher, say.
///
/// Every operator that takes a side effect takes, besides an ``Effect``, a quick function, an async function and an
/// `AsyncSequence`, whatever conforms to this. A type that is an `AsyncSequence` already should not conform: the two
/// forms would be ambiguous.
///
/// A sequence is iterated by a task, which is cancelled with the effect. An `AsyncStream` whose reader is cancelled
/// ends for good: so make a new one each time the effect starts. A mediator's ``Mediator/values(buffering:)`` is one.
/// A gentle stop of the loop waits for a sequence to end, up to its limit; one that never does is better given as
/// `Effect.sequence(…).untilStop()`.
public protocol SideEffectConvertible<Event>: Sendable {
    /// The event it emits.
    associatedtype Event: Sendable

    /// The same as a side effect, not yet started. Called on the loop's turn.
    func asEffect() -> Effect<Event>
}

extension Effect: SideEffectConvertible {
    /// Itself.
    @inlinable
    public func asEffect() -> Effect { self }
}

/// Turns the forms in which a typed feedback takes its side effect into functions that make an ``Effect``.
@usableFromInline
enum Lift {
    /// A quick function: called on the loop's turn, or where the feedback's executor says.
    @inlinable
    static func quick<each Input: Sendable, E: Sendable>(
        _ body: @escaping @Sendable (repeat each Input) -> E?
    ) -> @Sendable (repeat each Input) -> Effect<E> {
        { (input: repeat each Input) in .call { body(repeat each input) } }
    }

    /// An async function.
    @inlinable
    static func async<each Input: Sendable, E: Sendable>(
        _ body: @escaping @Sendable (repeat each Input) async -> E?
    ) -> @Sendable (repeat each Input) -> Effect<E> {
        { (input: repeat each Input) in .task { await body(repeat each input) } }
    }

    /// A sequence of events.
    @inlinable
    static func sequence<each Input: Sendable, Events: AsyncSequence & Sendable>(
        _ body: @escaping @Sendable (repeat each Input) -> Events
    ) -> @Sendable (repeat each Input) -> Effect<Events.Element>
    where Events.Failure == Never, Events.Element: Sendable {
        { (input: repeat each Input) in .sequence(body(repeat each input)) }
    }

    /// Whatever can be a side effect.
    @inlinable
    static func convertible<each Input: Sendable, Source: SideEffectConvertible>(
        _ body: @escaping @Sendable (repeat each Input) -> Source
    ) -> @Sendable (repeat each Input) -> Effect<Source.Event> {
        { (input: repeat each Input) in body(repeat each input).asEffect() }
    }
}
