/// A rule for the running side effects of a feedback when a new state comes.
///
/// Some operators decide by themselves when a side effect ends, for example ``Feedback`` with `predicate:` or
/// `skippingRepeated:`. There the rule applies only to the states in which the operator ends the side effect or starts
/// another one. In other states the side effect goes on.
@frozen
public enum CancellationRule<S: Sendable>: Sendable {
    /// Every new state cancels them, and withdraws their waiting events.
    case onNewState
    /// Every new state cancels them, and withdraws their waiting events and those of effects that have ended.
    case boundToState
    /// The side effects go on until they end by themselves.
    case never
    /// A new state cancels them if the function returns `true` for it.
    case when(@Sendable (S) -> Bool)
}

/// The name of a feedback. A name that comes from a state type is made only on demand.
@usableFromInline
enum FeedbackLabel: Sendable {
    case text(String)
    case state(any State.Type)
    /// A name of its own, and the type of the states that the feedback answers. Indirect, so that the other labels stay
    /// small.
    indirect case named(String, any State.Type)

    @usableFromInline var text: String {
        switch self {
        case .text(let text), .named(let text, _): text
        case .state(let state): "on \(state.identity)"
        }
    }

    /// The type of the states that the feedback answers, if it is known.
    var state: (any State.Type)? {
        switch self {
        case .text: nil
        case .state(let state), .named(_, let state): state
        }
    }

    @inlinable
    init(_ name: String?, _ state: any State.Type) {
        if let name { self = .named(name, state) } else { self = .state(state) }
    }
}

/// The executor of a feedback's side effects, in a box, because most feedbacks have none.
@usableFromInline
package final class ExecutorBox: Sendable {
    @usableFromInline package let base: any LoopExecutor

    @usableFromInline
    package init(_ base: any LoopExecutor) {
        self.base = base
    }
}

/// Selects a side effect for each state. The events of the side effect go back to the same loop.
///
/// `S` is the loop's state and `E` its event. In a ``System`` they are `any State` and `any Event`, and the
/// initializers with `on:` select the states by their type.
///
/// A feedback is a value, and several loops may use it. Each loop has its own side effects and its own memory.
public struct Feedback<S: Sendable, E: Sendable>: Sendable {
    /// A function that sees a state and the event that caused it, which is `nil` for the initial state.
    @usableFromInline package typealias Receive = @Sendable (S, E?) -> Effect<E>

    /// The kind of answer to a state.
    @usableFromInline
    package enum Kind: Sendable {
        /// Answers each state with an event or `nil`, quickly enough for the loop's turn.
        case answer(CancellationRule<S>, @Sendable (S, E?) -> E?)
        /// Answers each state with a side effect.
        case reaction(CancellationRule<S>, Receive)
        /// Answers each state with a side effect, and has a memory of its own in each loop.
        case memory(CancellationRule<S>, @Sendable () -> Receive)
        /// Sends events from outside to the loop while it runs.
        case source(@Sendable (Send<E>) -> Subscription)
        /// Several feedbacks, in order.
        case group([Feedback])
    }

    @usableFromInline var label: FeedbackLabel
    @usableFromInline package var kind: Kind
    @usableFromInline package var executor: ExecutorBox?
    /// A Boolean value that indicates whether the feedback also sees updates.
    @usableFromInline package var seesUpdates = false
    /// A Boolean value that indicates whether the feedback, when it ends its side effects by itself, also withdraws the
    /// events of effects that have ended.
    @usableFromInline package var withdrawsEnded = false
    /// A Boolean value that indicates whether a feedback that is no `answer` computes its event on the loop's turn, too.
    @usableFromInline package var answersAtOnce = false

    /// The name of the feedback, for observers and snapshots.
    public var name: String {
        get { label.text }
        set { label = label.state.map { .named(newValue, $0) } ?? .text(newValue) }
    }

    /// The identity of the type of the states that the feedback answers. `nil` if the type is unknown.
    package var stateIdentity: String? { label.state?.identity }

    /// Sets the name, and the type of the states that the feedback answers. Without a name, the name comes from the
    /// type.
    package mutating func setLabel(_ name: String?, on state: any State.Type) {
        label = FeedbackLabel(name, state)
    }

    @inlinable
    package init(name: String, kind: Kind, executor: ExecutorBox? = nil) {
        self.init(label: .text(name), kind: kind, executor: executor)
    }

    @inlinable
    init(label: FeedbackLabel, kind: Kind, executor: ExecutorBox? = nil) {
        self.label = label
        self.kind = kind
        self.executor = executor
    }

    /// A Boolean value that indicates whether every new state ends the side effects.
    @inlinable
    package var endsOnNewState: Bool {
        switch rule {
        case .onNewState, .boundToState: true
        case .never, .when, nil: false
        }
    }

    /// A Boolean value that indicates whether the end of side effects also withdraws the events of effects that have
    /// ended.
    @inlinable
    package var isBoundToState: Bool {
        if case .boundToState = rule { true } else { withdrawsEnded }
    }

    /// The cancellation rule of a feedback that answers states, otherwise `nil`.
    @inlinable
    var rule: CancellationRule<S>? {
        switch kind {
        case .answer(let rule, _), .reaction(let rule, _), .memory(let rule, _): rule
        case .source, .group: nil
        }
    }

    /// A Boolean value that indicates whether the feedback receives states. A source does not.
    var receivesStates: Bool {
        switch kind {
        case .answer, .reaction, .memory: true
        case .source: false
        case .group(let feedbacks): feedbacks.contains(where: \.receivesStates)
        }
    }

    /// Returns the feedbacks for one loop: the members of groups, with memories for this loop alone.
    @usableFromInline
    package func parts() -> [Feedback] {
        switch kind {
        case .answer, .reaction, .source:
            return [self]
        case .memory(let rule, let make):
            var part = self
            part.kind = .reaction(rule, make())
            return [part]
        case .group(let feedbacks):
            return feedbacks.flatMap { feedback in
                var part = feedback
                if part.executor == nil { part.executor = executor }
                if seesUpdates { part.seesUpdates = true }
                return part.parts()
            }
        }
    }

    /// Creates a feedback that answers each state with a side effect.
    ///
    /// - Parameters:
    ///   - name: The name for observers and snapshots.
    ///   - cancellation: The rule for running side effects when a new state comes.
    ///   - effect: A function that returns the side effect for a state and the event that caused it. The event is `nil`
    ///     for the initial state. The loop calls the function on its turn, for the initial state and each new one, in
    ///     the order of declaration of the feedbacks. The function should be quick, and leave the work to the effect.
    @inlinable
    public init(
        name: String = "",
        cancellation: CancellationRule<S> = .onNewState,
        effect: @escaping @Sendable (S, E?) -> Effect<E>
    ) {
        self.init(name: name, kind: .reaction(cancellation, effect))
    }

    /// Creates a feedback with a memory. It answers states as with `effect:`, but each loop gets its own closure. So
    /// the values that the closure captures belong to that loop alone.
    ///
    /// - Parameter memory: A function that returns the closure for a loop. It is called once for each loop, when the
    ///   feedback is added to the loop. The loop calls the closure only on its turn, one state after the other.
    /// - Parameter cancellation: The rule for running side effects when a new state comes.
    /// - Parameter name: The name for observers and snapshots.
    @inlinable
    public init(
        name: String = "",
        cancellation: CancellationRule<S> = .onNewState,
        memory: @escaping @Sendable () -> @Sendable (S, E?) -> Effect<E>
    ) {
        self.init(name: name, kind: .memory(cancellation, memory))
    }

    /// Creates a feedback that answers each state at once with an event or `nil`, without leaving the loop's turn.
    ///
    /// This is the cheapest kind, because it starts no side effect. If the feedback has its own executor
    /// (``execute(on:)``), `answer` is called there, as a side effect.
    ///
    /// - Parameter answer: A function that returns the event for a state and the event that caused it.
    /// - Parameter cancellation: The rule for waiting events and running calls when a new state comes.
    /// - Parameter name: The name for observers and snapshots.
    @inlinable
    public init(
        name: String = "",
        cancellation: CancellationRule<S> = .onNewState,
        answer: @escaping @Sendable (S, E?) -> E?
    ) {
        self.init(name: name, kind: .answer(cancellation, answer))
    }

    /// Creates a feedback that only looks at states. It calls `body` for the initial state and each new one, on the
    /// loop's turn or on its own executor (``execute(on:)``).
    @inlinable
    public static func sink(name: String = "", _ body: @escaping @Sendable (S, E?) -> Void) -> Feedback {
        Feedback(name: name, cancellation: .never) { (state, event) -> E? in
            body(state, event)
            return nil
        }
    }

    /// Creates a feedback that sends events from outside to the loop.
    ///
    /// Each loop calls `subscribe` once, on its turn, before it shows its first state. A loop that already runs calls
    /// it when the feedback is added. The loop cancels the returned subscription when it begins to stop or is
    /// cancelled.
    public static func source(
        name: String = "", subscribe: @escaping @Sendable (Send<E>) -> Subscription
    ) -> Feedback {
        Feedback(name: name, kind: .source(subscribe))
    }

    /// Combines several feedbacks into one value. Each keeps its own name, rule and executor, and their order stays the
    /// same.
    public static func combine(_ feedbacks: [Feedback]) -> Feedback {
        Feedback(name: "", kind: .group(feedbacks))
    }

    /// Combines several feedbacks into one value. Each keeps its own name, rule and executor, and their order stays the
    /// same.
    public static func combine(_ feedbacks: Feedback...) -> Feedback {
        combine(feedbacks)
    }
}
