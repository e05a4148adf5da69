/// A type of another library that can be the side effect of a typed ``Feedback``, such as a publisher.
///
/// Every operator that takes a side effect accepts an ``Effect``, a synchronous function, an async function, an
/// `AsyncSequence`, or a type that conforms to this protocol. A type that is an `AsyncSequence` must not conform,
/// because the two forms would be ambiguous.
///
/// A task iterates a sequence and is cancelled with the effect. An `AsyncStream` ends for good when its reader is
/// cancelled, so create a new one for each start of the effect. A mediator's ``Mediator/values(buffering:)`` is such a
/// stream. A graceful stop of the loop waits for a sequence to end, up to its limit. For a sequence without end, use
/// `Effect.sequence(…).untilStop()`.
public protocol SideEffectConvertible<Event>: Sendable {
    /// The event it emits.
    associatedtype Event: Sendable

    /// Returns a side effect that has not started. Runs on the loop's executor.
    func asEffect() -> Effect<Event>
}

extension Effect: SideEffectConvertible {
    /// The effect itself.
    @inlinable
    public func asEffect() -> Effect { self }
}

/// Conversions from the supported forms of a side effect to functions that return an ``Effect``.
@usableFromInline
enum EffectConversion {
    /// Converts a synchronous function, which runs on the loop's executor or on the feedback's own.
    @inlinable
    static func quick<each Input: Sendable, E: Sendable>(
        _ body: @escaping @Sendable (repeat each Input) -> E?
    ) -> @Sendable (repeat each Input) -> Effect<E> {
        { (input: repeat each Input) in .call { body(repeat each input) } }
    }

    /// Converts an async function.
    @inlinable
    static func async<each Input: Sendable, E: Sendable>(
        _ body: @escaping @Sendable (repeat each Input) async -> E?
    ) -> @Sendable (repeat each Input) -> Effect<E> {
        { (input: repeat each Input) in .task { await body(repeat each input) } }
    }

    /// Converts a sequence of events.
    @inlinable
    static func sequence<each Input: Sendable, Events: AsyncSequence & Sendable>(
        _ body: @escaping @Sendable (repeat each Input) -> Events
    ) -> @Sendable (repeat each Input) -> Effect<Events.Element>
    where Events.Failure == Never, Events.Element: Sendable {
        { (input: repeat each Input) in .sequence(body(repeat each input)) }
    }

    /// Converts a ``SideEffectConvertible`` type.
    @inlinable
    static func convertible<each Input: Sendable, Source: SideEffectConvertible>(
        _ body: @escaping @Sendable (repeat each Input) -> Source
    ) -> @Sendable (repeat each Input) -> Effect<Source.Event> {
        { (input: repeat each Input) in body(repeat each input).asEffect() }
    }
}
