/// What a new state does to the side effects of a feedback that still run.
@frozen
public enum CancellationRule<S: Sendable>: Sendable {
    /// Every new state cancels them, and withdraws their events that the loop has not taken.
    case onNewState
    /// The same, and every new state also withdraws the waiting events of effects that have ended.
    case boundToState
    /// They go on until they end by themselves.
    case never
    /// A new state for which this holds cancels them.
    case when(@Sendable (S) -> Bool)
}

/// What a feedback is called. The name of one that is called after its state is only made when somebody asks.
@usableFromInline
enum FeedbackLabel: Sendable {
    case text(String)
    case state(any State.Type)

    @usableFromInline var text: String {
        switch self {
        case .text(let text): text
        case .state(let state): "on \(state.identity)"
        }
    }

    @inlinable
    init(_ name: String?, _ state: any State.Type) {
        if let name { self = .text(name) } else { self = .state(state) }
    }
}

/// Where a feedback's side effects run, in a box, since most say nothing about it.
@usableFromInline
package final class ExecutorBox: Sendable {
    @usableFromInline package let base: any LoopExecutor

    @usableFromInline
    package init(_ base: any LoopExecutor) {
        self.base = base
    }
}

/// Decides, from states, which side effect runs; the events of the side effect come back into the same loop.
///
/// `S` is the loop's state and `E` its event. In a ``System`` they are `any State` and `any Event`, and the
/// initializers with `on:` pick the states by their type.
///
/// A feedback is a value: it may be given to several loops, each of which has side effects, and memory, of its own.
public struct Feedback<S: Sendable, E: Sendable>: Sendable {
    /// Sees a state and the event that caused it (none for the initial one).
    @usableFromInline package typealias Receive = @Sendable (S, E?) -> Effect<E>

    /// What it does.
    @usableFromInline
    package enum Kind: Sendable {
        /// Answers each state with an event or none, quickly enough for the loop's turn.
        case answer(CancellationRule<S>, @Sendable (S, E?) -> E?)
        /// Answers each state with a side effect.
        case reaction(CancellationRule<S>, Receive)
        /// The same, with a memory that each loop has for itself.
        case memory(CancellationRule<S>, @Sendable () -> Receive)
        /// Brings events in from outside for as long as the loop runs.
        case source(@Sendable (Send<E>) -> Subscription)
        /// Several, in order.
        case group([Feedback])
    }

    @usableFromInline var label: FeedbackLabel
    @usableFromInline package var kind: Kind
    @usableFromInline package var executor: ExecutorBox?

    /// Its name, for observers and snapshots.
    public var name: String {
        get { label.text }
        set { label = .text(newValue) }
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

    /// Whether every new state ends its side effects.
    @inlinable
    package var endsOnNewState: Bool {
        switch rule {
        case .onNewState, .boundToState: true
        case .never, .when, nil: false
        }
    }

    /// A Boolean value that indicates whether a new state also withdraws the events of effects that have ended.
    @inlinable
    package var isBoundToState: Bool {
        if case .boundToState = rule { true } else { false }
    }

    /// Its rule, if it answers states.
    @inlinable
    var rule: CancellationRule<S>? {
        switch kind {
        case .answer(let rule, _), .reaction(let rule, _), .memory(let rule, _): rule
        case .source, .group: nil
        }
    }

    /// What a loop is given: groups taken apart, and memories made for this loop alone.
    @usableFromInline
    package func parts() -> [Feedback] {
        switch kind {
        case .answer, .reaction, .source:
            return [self]
        case .memory(let rule, let make):
            return [Feedback(label: label, kind: .reaction(rule, make()), executor: executor)]
        case .group(let feedbacks):
            return feedbacks.flatMap { feedback in
                var part = feedback
                if part.executor == nil { part.executor = executor }
                return part.parts()
            }
        }
    }

    /// A feedback that answers each state with a side effect.
    ///
    /// - Parameters:
    ///   - name: for observers and snapshots.
    ///   - cancellation: what a new state does to side effects that still run.
    ///   - effect: called on the loop's turn for the initial state and each new one, with the event that caused it, in
    ///     the order in which feedbacks were declared; it should be quick, and leave the work to the effect it returns.
    @inlinable
    public init(
        name: String = "",
        cancellation: CancellationRule<S> = .onNewState,
        effect: @escaping @Sendable (S, E?) -> Effect<E>
    ) {
        self.init(name: name, kind: .reaction(cancellation, effect))
    }

    /// A feedback that remembers: as with `effect:`, but the closure that answers the states is made anew for each loop
    /// the feedback is given to, so that what it captures belongs to that loop alone.
    ///
    /// - Parameter memory: called once a loop, when the feedback is given to it. The closure it returns is only called on
    ///   the loop's turn, one state after the other.
    /// - Parameter cancellation: what a new state does to side effects that still run.
    /// - Parameter name: for observers and snapshots.
    @inlinable
    public init(
        name: String = "",
        cancellation: CancellationRule<S> = .onNewState,
        memory: @escaping @Sendable () -> @Sendable (S, E?) -> Effect<E>
    ) {
        self.init(name: name, kind: .memory(cancellation, memory))
    }

    /// A feedback that answers each state at once, with an event or with none, without leaving the loop's turn.
    ///
    /// The cheapest kind: no side effect is started. With an executor of its own (``execute(on:)``) it is called there.
    @inlinable
    public init(
        name: String = "",
        cancellation: CancellationRule<S> = .onNewState,
        answer: @escaping @Sendable (S, E?) -> E?
    ) {
        self.init(name: name, kind: .answer(cancellation, answer))
    }

    /// A feedback that only looks: called on the loop's turn for the initial state and each new one.
    @inlinable
    public static func sink(name: String = "", _ body: @escaping @Sendable (S, E?) -> Void) -> Feedback {
        Feedback(name: name, cancellation: .never) { (state, event) -> E? in
            body(state, event)
            return nil
        }
    }

    /// A feedback that brings events in from outside.
    ///
    /// `subscribe` is called once, before the loop's first state is shown; the subscription it returns is cancelled
    /// when the loop stops taking events.
    public static func source(
        name: String = "", subscribe: @escaping @Sendable (Send<E>) -> Subscription
    ) -> Feedback {
        Feedback(name: name, kind: .source(subscribe))
    }

    /// Several feedbacks as one value; each keeps its own name, rule and executor, and their order is kept.
    public static func combine(_ feedbacks: [Feedback]) -> Feedback {
        Feedback(name: "", kind: .group(feedbacks))
    }

    /// Several feedbacks as one value; each keeps its own name, rule and executor, and their order is kept.
    public static func combine(_ feedbacks: Feedback...) -> Feedback {
        combine(feedbacks)
    }
}
