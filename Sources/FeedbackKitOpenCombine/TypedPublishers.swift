public import FeedbackKit
public import OpenCombine

// The operators of the typed dialect with a publisher as the side effect. Their form with an `Effect` documents each of
// them. The publisher is created and subscribed to on the loop's executor, or on that of `execute(on:)`. Its demand is
// unlimited, and it is cancelled when the operator ends its effect.

extension Feedback {
    /// Creates a feedback that runs a side effect for every state, of which only the latest runs.
    public static func effects<P: Publisher & SendableMetatype>(
        name: String = "effects", cancellation: CancellationRule<S> = .onNewState,
        _ effects: @escaping @Sendable (S) -> P
    ) -> Feedback where P.Output == E, P.Failure == Never {
        .effects(name: name, cancellation: cancellation, { state in Effect<E>.publisher { effects(state) } })
    }

    /// `effects` as an initializer.
    public init<P: Publisher & SendableMetatype>(
        name: String = "effects", cancellation: CancellationRule<S> = .onNewState,
        effects: @escaping @Sendable (S) -> P
    ) where P.Output == E, P.Failure == Never {
        self.init(name: name, cancellation: cancellation, effects: { state in Effect<E>.publisher { effects(state) } })
    }
}

extension Feedback {
    /// Creates a feedback that runs a side effect while a condition holds.
    public static func predicate<P: Publisher & SendableMetatype>(
        name: String = "predicate", cancellation: CancellationRule<S> = .onNewState,
        predicate: @escaping @Sendable (S) -> Bool,
        effects: @escaping @Sendable (S) -> P
    ) -> Feedback where P.Output == E, P.Failure == Never {
        .predicate(
            name: name, cancellation: cancellation, predicate: predicate,
            effects: { state in Effect<E>.publisher { effects(state) } })
    }

    /// `predicate` as an initializer.
    public init<P: Publisher & SendableMetatype>(
        name: String = "predicate", cancellation: CancellationRule<S> = .onNewState,
        predicate: @escaping @Sendable (S) -> Bool,
        effects: @escaping @Sendable (S) -> P
    ) where P.Output == E, P.Failure == Never {
        self.init(
            name: name, cancellation: cancellation, predicate: predicate,
            effects: { state in Effect<E>.publisher { effects(state) } })
    }
}

extension Feedback {
    /// Creates a feedback that runs a side effect for each state in which a condition becomes true.
    public static func whenBecomesTrue<P: Publisher & SendableMetatype>(
        name: String = "whenBecomesTrue", cancellation: CancellationRule<S> = .onNewState,
        _ predicate: @escaping @Sendable (S) -> Bool,
        effects: @escaping @Sendable (S) -> P
    ) -> Feedback where P.Output == E, P.Failure == Never {
        .whenBecomesTrue(
            name: name, cancellation: cancellation, predicate,
            effects: { state in Effect<E>.publisher { effects(state) } })
    }

    /// `whenBecomesTrue` as an initializer.
    public init<P: Publisher & SendableMetatype>(
        name: String = "whenBecomesTrue", cancellation: CancellationRule<S> = .onNewState,
        whenBecomesTrue predicate: @escaping @Sendable (S) -> Bool,
        effects: @escaping @Sendable (S) -> P
    ) where P.Output == E, P.Failure == Never {
        self.init(
            name: name, cancellation: cancellation, whenBecomesTrue: predicate,
            effects: { state in Effect<E>.publisher { effects(state) } })
    }
}

extension Feedback {
    /// Creates a feedback that runs a side effect when a part of the state changes from `nil` to a value.
    public static func firstValueAfterNil<Control: Sendable, P: Publisher & SendableMetatype>(
        name: String = "firstValueAfterNil", cancellation: CancellationRule<S> = .onNewState,
        _ transform: @escaping @Sendable (S) -> Control?,
        effects: @escaping @Sendable (Control) -> P
    ) -> Feedback where P.Output == E, P.Failure == Never {
        .firstValueAfterNil(
            name: name, cancellation: cancellation, transform,
            effects: { control in Effect<E>.publisher { effects(control) } })
    }

    /// `firstValueAfterNil` as an initializer.
    public init<Control: Sendable, P: Publisher & SendableMetatype>(
        name: String = "firstValueAfterNil", cancellation: CancellationRule<S> = .onNewState,
        firstValueAfterNil transform: @escaping @Sendable (S) -> Control?,
        effects: @escaping @Sendable (Control) -> P
    ) where P.Output == E, P.Failure == Never {
        self.init(
            name: name, cancellation: cancellation, firstValueAfterNil: transform,
            effects: { control in Effect<E>.publisher { effects(control) } })
    }
}

extension Feedback {
    /// Creates a feedback that runs a side effect for each different value of a part of the state.
    public static func skippingRepeated<Control: Equatable & Sendable, P: Publisher & SendableMetatype>(
        name: String = "skippingRepeated", cancellation: CancellationRule<S> = .onNewState,
        state transform: @escaping @Sendable (S) -> Control?,
        effects: @escaping @Sendable (Control) -> P
    ) -> Feedback where P.Output == E, P.Failure == Never {
        .skippingRepeated(
            name: name, cancellation: cancellation, state: transform,
            effects: { control in Effect<E>.publisher { effects(control) } })
    }

    /// `skippingRepeated` as an initializer.
    public init<Control: Equatable & Sendable, P: Publisher & SendableMetatype>(
        name: String = "skippingRepeated", cancellation: CancellationRule<S> = .onNewState,
        skippingRepeated transform: @escaping @Sendable (S) -> Control?,
        effects: @escaping @Sendable (Control) -> P
    ) where P.Output == E, P.Failure == Never {
        self.init(
            name: name, cancellation: cancellation, skippingRepeated: transform,
            effects: { control in Effect<E>.publisher { effects(control) } })
    }
}

extension Feedback {
    /// Creates a feedback that runs a side effect for the part of each state that has one.
    public static func lensing<Control: Sendable, P: Publisher & SendableMetatype>(
        name: String = "lensing", cancellation: CancellationRule<S> = .onNewState,
        state transform: @escaping @Sendable (S) -> Control?,
        effects: @escaping @Sendable (Control) -> P
    ) -> Feedback where P.Output == E, P.Failure == Never {
        .lensing(
            name: name, cancellation: cancellation, state: transform,
            effects: { control in Effect<E>.publisher { effects(control) } })
    }

    /// `lensing` as an initializer.
    public init<Control: Sendable, P: Publisher & SendableMetatype>(
        name: String = "lensing", cancellation: CancellationRule<S> = .onNewState,
        lensing transform: @escaping @Sendable (S) -> Control?,
        effects: @escaping @Sendable (Control) -> P
    ) where P.Output == E, P.Failure == Never {
        self.init(
            name: name, cancellation: cancellation, lensing: transform,
            effects: { control in Effect<E>.publisher { effects(control) } })
    }
}

extension Feedback {
    /// Creates a feedback that runs a side effect for the payload of each event that has one.
    public static func lensing<Payload: Sendable, P: Publisher & SendableMetatype>(
        name: String = "lensing event", cancellation: CancellationRule<S> = .onNewState,
        event transform: @escaping @Sendable (E) -> Payload?,
        effects: @escaping @Sendable (Payload) -> P
    ) -> Feedback where P.Output == E, P.Failure == Never {
        .lensing(
            name: name, cancellation: cancellation, event: transform,
            effects: { payload in Effect<E>.publisher { effects(payload) } })
    }
}

extension Feedback {
    /// Creates a feedback that runs a side effect for each value of a compacted stream of states. Only the latest one
    /// runs.
    public static func compacting<U: Sendable, P: Publisher & SendableMetatype>(
        name: String = "compacting", cancellation: CancellationRule<S> = .onNewState,
        state transform: (Compaction<S, S>) -> Compaction<S, U>,
        effects: @escaping @Sendable (U) -> P
    ) -> Feedback where P.Output == E, P.Failure == Never {
        .compacting(
            name: name, cancellation: cancellation, state: transform,
            effects: { value in Effect<E>.publisher { effects(value) } })
    }

    /// `compacting` as an initializer.
    public init<U: Sendable, P: Publisher & SendableMetatype>(
        name: String = "compacting", cancellation: CancellationRule<S> = .onNewState,
        compacting transform: (Compaction<S, S>) -> Compaction<S, U>,
        effects: @escaping @Sendable (U) -> P
    ) where P.Output == E, P.Failure == Never {
        self.init(
            name: name, cancellation: cancellation, compacting: transform,
            effects: { value in Effect<E>.publisher { effects(value) } })
    }
}

extension Feedback {
    /// Creates a feedback that runs a side effect for each value of a compacted stream of events. Only the latest one
    /// runs.
    public static func compacting<U: Sendable, P: Publisher & SendableMetatype>(
        name: String = "compacting events", cancellation: CancellationRule<S> = .onNewState,
        events transform: (Compaction<E, E>) -> Compaction<E, U>,
        effects: @escaping @Sendable (U) -> P
    ) -> Feedback where P.Output == E, P.Failure == Never {
        .compacting(
            name: name, cancellation: cancellation, events: transform,
            effects: { value in Effect<E>.publisher { effects(value) } })
    }
}

extension Feedback {
    /// Creates a feedback that runs a side effect for every state, of which only the latest runs.
    public static func middleware<P: Publisher & SendableMetatype>(
        name: String = "middleware", cancellation: CancellationRule<S> = .onNewState,
        _ effects: @escaping @Sendable (S) -> P
    ) -> Feedback where P.Output == E, P.Failure == Never {
        .middleware(name: name, cancellation: cancellation, { state in Effect<E>.publisher { effects(state) } })
    }
}

extension Feedback {
    /// Creates a feedback that runs a side effect for every event. It receives the event and the state after the
    /// reduction.
    public static func eventMiddleware<P: Publisher & SendableMetatype>(
        name: String = "eventMiddleware", cancellation: CancellationRule<S> = .onNewState,
        _ effects: @escaping @Sendable (S, E) -> P
    ) -> Feedback where P.Output == E, P.Failure == Never {
        .eventMiddleware(
            name: name, cancellation: cancellation, { state, event in Effect<E>.publisher { effects(state, event) } })
    }
}

extension Feedback {
    /// Creates a feedback that runs a side effect requested by the state.
    public static func react<Request: Equatable & Sendable, P: Publisher & SendableMetatype>(
        name: String = "react", request: @escaping @Sendable (S) -> Request?,
        effects: @escaping @Sendable (Request) -> P
    ) -> Feedback where P.Output == E, P.Failure == Never {
        .react(name: name, request: request, effects: { request in Effect<E>.publisher { effects(request) } })
    }
}

extension Feedback {
    /// Creates a feedback that runs one side effect for each request of the state.
    public static func react<Request: Hashable & Sendable, P: Publisher & SendableMetatype>(
        name: String = "react", requests: @escaping @Sendable (S) -> Set<Request>,
        effects: @escaping @Sendable (Request) -> P
    ) -> Feedback where P.Output == E, P.Failure == Never {
        .react(
            name: name, requests: requests, effects: { request in Effect<E>.publisher { effects(request) } })
    }
}

extension Feedback {
    /// Creates a feedback that runs one side effect for each identity. The effect receives its request and later
    /// changes as a sequence.
    public static func react<ID: Hashable & Sendable, Request: Equatable & Sendable, P: Publisher & SendableMetatype>(
        name: String = "react", requests: @escaping @Sendable (S) -> [ID: Request],
        effects: @escaping @Sendable (Request, AsyncStream<Request>) -> P
    ) -> Feedback where P.Output == E, P.Failure == Never {
        .react(
            name: name, requests: requests,
            effects: { request, changes in Effect<E>.publisher { effects(request, changes) } })
    }
}
