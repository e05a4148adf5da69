public import FeedbackKit
public import OpenCombine

// Every operator of the typed dialect that takes a side effect, with a publisher as the side effect. What each does is
// said at its form with an `Effect`. The publisher is made and subscribed to on the loop's turn, or, with
// `execute(on:)`, where that says; its demand is unlimited; it is cancelled when the operator ends its effect.

extension Feedback {
    /// A side effect for every state, of which only the latest runs.
    public static func effects<P: Publisher & SendableMetatype>(
        name: String = "effects",
        _ effects: @escaping @Sendable (S) -> P
    ) -> Feedback where P.Output == E, P.Failure == Never {
        .effects(name: name, { state in Effect<E>.publisher { effects(state) } })
    }

    /// As an initializer: a side effect for every state, of which only the latest runs.
    public init<P: Publisher & SendableMetatype>(
        name: String = "effects",
        effects: @escaping @Sendable (S) -> P
    ) where P.Output == E, P.Failure == Never {
        self.init(name: name, effects: { state in Effect<E>.publisher { effects(state) } })
    }
}

extension Feedback {
    /// A side effect that runs while a condition holds.
    public static func predicate<P: Publisher & SendableMetatype>(
        name: String = "predicate", predicate: @escaping @Sendable (S) -> Bool,
        effects: @escaping @Sendable (S) -> P
    ) -> Feedback where P.Output == E, P.Failure == Never {
        .predicate(
            name: name, predicate: predicate, effects: { state in Effect<E>.publisher { effects(state) } })
    }

    /// As an initializer: a side effect that runs while a condition holds.
    public init<P: Publisher & SendableMetatype>(
        name: String = "predicate", predicate: @escaping @Sendable (S) -> Bool,
        effects: @escaping @Sendable (S) -> P
    ) where P.Output == E, P.Failure == Never {
        self.init(
            name: name, predicate: predicate, effects: { state in Effect<E>.publisher { effects(state) } })
    }
}

extension Feedback {
    /// A side effect for each state in which a condition comes to hold.
    public static func whenBecomesTrue<P: Publisher & SendableMetatype>(
        name: String = "whenBecomesTrue", _ predicate: @escaping @Sendable (S) -> Bool,
        effects: @escaping @Sendable (S) -> P
    ) -> Feedback where P.Output == E, P.Failure == Never {
        .whenBecomesTrue(name: name, predicate, effects: { state in Effect<E>.publisher { effects(state) } })
    }

    /// As an initializer: a side effect for each state in which a condition comes to hold.
    public init<P: Publisher & SendableMetatype>(
        name: String = "whenBecomesTrue", whenBecomesTrue predicate: @escaping @Sendable (S) -> Bool,
        effects: @escaping @Sendable (S) -> P
    ) where P.Output == E, P.Failure == Never {
        self.init(
            name: name, whenBecomesTrue: predicate,
            effects: { state in Effect<E>.publisher { effects(state) } })
    }
}

extension Feedback {
    /// A side effect for the first value of a part of the state that was `nil` before.
    public static func firstValueAfterNil<Control: Sendable, P: Publisher & SendableMetatype>(
        name: String = "firstValueAfterNil", _ transform: @escaping @Sendable (S) -> Control?,
        effects: @escaping @Sendable (Control) -> P
    ) -> Feedback where P.Output == E, P.Failure == Never {
        .firstValueAfterNil(
            name: name, transform, effects: { control in Effect<E>.publisher { effects(control) } })
    }

    /// As an initializer: a side effect for the first value of a part of the state that was `nil` before.
    public init<Control: Sendable, P: Publisher & SendableMetatype>(
        name: String = "firstValueAfterNil", firstValueAfterNil transform: @escaping @Sendable (S) -> Control?,
        effects: @escaping @Sendable (Control) -> P
    ) where P.Output == E, P.Failure == Never {
        self.init(
            name: name, firstValueAfterNil: transform,
            effects: { control in Effect<E>.publisher { effects(control) } })
    }
}

extension Feedback {
    /// A side effect for each different value of a part of the state.
    public static func skippingRepeated<Control: Equatable & Sendable, P: Publisher & SendableMetatype>(
        name: String = "skippingRepeated", state transform: @escaping @Sendable (S) -> Control?,
        effects: @escaping @Sendable (Control) -> P
    ) -> Feedback where P.Output == E, P.Failure == Never {
        .skippingRepeated(
            name: name, state: transform, effects: { control in Effect<E>.publisher { effects(control) } })
    }

    /// As an initializer: a side effect for each different value of a part of the state.
    public init<Control: Equatable & Sendable, P: Publisher & SendableMetatype>(
        name: String = "skippingRepeated", skippingRepeated transform: @escaping @Sendable (S) -> Control?,
        effects: @escaping @Sendable (Control) -> P
    ) where P.Output == E, P.Failure == Never {
        self.init(
            name: name, skippingRepeated: transform,
            effects: { control in Effect<E>.publisher { effects(control) } })
    }
}

extension Feedback {
    /// A side effect for the part of each state that has one.
    public static func lensing<Control: Sendable, P: Publisher & SendableMetatype>(
        name: String = "lensing", state transform: @escaping @Sendable (S) -> Control?,
        effects: @escaping @Sendable (Control) -> P
    ) -> Feedback where P.Output == E, P.Failure == Never {
        .lensing(
            name: name, state: transform, effects: { control in Effect<E>.publisher { effects(control) } })
    }

    /// As an initializer: a side effect for the part of each state that has one.
    public init<Control: Sendable, P: Publisher & SendableMetatype>(
        name: String = "lensing", lensing transform: @escaping @Sendable (S) -> Control?,
        effects: @escaping @Sendable (Control) -> P
    ) where P.Output == E, P.Failure == Never {
        self.init(
            name: name, lensing: transform, effects: { control in Effect<E>.publisher { effects(control) } })
    }
}

extension Feedback {
    /// A side effect for the payload of each event that has one.
    public static func lensing<Payload: Sendable, P: Publisher & SendableMetatype>(
        name: String = "lensing event", event transform: @escaping @Sendable (E) -> Payload?,
        effects: @escaping @Sendable (Payload) -> P
    ) -> Feedback where P.Output == E, P.Failure == Never {
        .lensing(
            name: name, event: transform, effects: { payload in Effect<E>.publisher { effects(payload) } })
    }
}

extension Feedback {
    /// A side effect for each value to which the states are compacted, of which only the latest runs.
    public static func compacting<U: Sendable, P: Publisher & SendableMetatype>(
        name: String = "compacting", state transform: (Compaction<S, S>) -> Compaction<S, U>,
        effects: @escaping @Sendable (U) -> P
    ) -> Feedback where P.Output == E, P.Failure == Never {
        .compacting(name: name, state: transform, effects: { value in Effect<E>.publisher { effects(value) } })
    }

    /// As an initializer: a side effect for each value to which the states are compacted, of which only the latest
    /// runs.
    public init<U: Sendable, P: Publisher & SendableMetatype>(
        name: String = "compacting", compacting transform: (Compaction<S, S>) -> Compaction<S, U>,
        effects: @escaping @Sendable (U) -> P
    ) where P.Output == E, P.Failure == Never {
        self.init(
            name: name, compacting: transform, effects: { value in Effect<E>.publisher { effects(value) } })
    }
}

extension Feedback {
    /// A side effect for each value to which the events are compacted, of which only the latest runs.
    public static func compacting<U: Sendable, P: Publisher & SendableMetatype>(
        name: String = "compacting events", events transform: (Compaction<E, E>) -> Compaction<E, U>,
        effects: @escaping @Sendable (U) -> P
    ) -> Feedback where P.Output == E, P.Failure == Never {
        .compacting(
            name: name, events: transform, effects: { value in Effect<E>.publisher { effects(value) } })
    }
}

extension Feedback {
    /// A side effect for every state, of which only the latest runs.
    public static func middleware<P: Publisher & SendableMetatype>(
        name: String = "middleware",
        _ effects: @escaping @Sendable (S) -> P
    ) -> Feedback where P.Output == E, P.Failure == Never {
        .middleware(name: name, { state in Effect<E>.publisher { effects(state) } })
    }
}

extension Feedback {
    /// A side effect for every event, given the state after the reduction.
    public static func eventMiddleware<P: Publisher & SendableMetatype>(
        name: String = "eventMiddleware",
        _ effects: @escaping @Sendable (S, E) -> P
    ) -> Feedback where P.Output == E, P.Failure == Never {
        .eventMiddleware(name: name, { state, event in Effect<E>.publisher { effects(state, event) } })
    }
}

extension Feedback {
    /// A side effect that a state asks for by a request.
    public static func react<Request: Equatable & Sendable, P: Publisher & SendableMetatype>(
        name: String = "react", request: @escaping @Sendable (S) -> Request?,
        effects: @escaping @Sendable (Request) -> P
    ) -> Feedback where P.Output == E, P.Failure == Never {
        .react(name: name, request: request, effects: { request in Effect<E>.publisher { effects(request) } })
    }
}

extension Feedback {
    /// Side effects that a state asks for by requests, one for each.
    public static func react<Request: Hashable & Sendable, P: Publisher & SendableMetatype>(
        name: String = "react", requests: @escaping @Sendable (S) -> Set<Request>,
        effects: @escaping @Sendable (Request) -> P
    ) -> Feedback where P.Output == E, P.Failure == Never {
        .react(
            name: name, requests: requests, effects: { request in Effect<E>.publisher { effects(request) } })
    }
}

extension Feedback {
    /// Side effects that a state asks for by requests, one for each name. The request and its changes come as a
    /// sequence.
    public static func react<ID: Hashable & Sendable, Request: Equatable & Sendable, P: Publisher & SendableMetatype>(
        name: String = "react", requests: @escaping @Sendable (S) -> [ID: Request],
        effects: @escaping @Sendable (Request, AsyncStream<Request>) -> P
    ) -> Feedback where P.Output == E, P.Failure == Never {
        .react(
            name: name, requests: requests,
            effects: { request, changes in Effect<E>.publisher { effects(request, changes) } })
    }
}
