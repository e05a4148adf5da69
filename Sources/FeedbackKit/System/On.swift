/// What the closure of a ``From`` gives: rules, each for a type of event.
///
/// The types of the events are known from the type of the content, without a state at hand. That is why the table of
/// transitions is made once, when a system is built, and why two rules for the same pair are found then.
public protocol TransitionContent: SendableMetatype {
    /// The rules that may be in it.
    static var summary: TransitionSummary { get }

    /// The new state by the first rule that is for this event and not disabled.
    ///
    /// - Parameter wildcard: look at rules for ``AnyEvent`` only, or at the others only.
    func next(on event: any Event, wildcard: Bool) -> (any State)?
}

/// The rules that may be in a ``TransitionContent``.
public struct TransitionSummary: Sendable {
    /// A rule.
    package struct Rule: Sendable {
        let event: any Event.Type
        let to: any State.Type
    }
    package var rules: [Rule]
    /// Events for which two rules stand side by side.
    package var duplicates: [any Event.Type] = []

    /// Both apply.
    static func both(_ first: TransitionSummary, _ second: TransitionSummary) -> TransitionSummary {
        let known = Set(first.rules.map { ObjectIdentifier($0.event) })
        let again = second.rules.map(\.event).filter { known.contains(ObjectIdentifier($0)) }
        return TransitionSummary(
            rules: first.rules + second.rules, duplicates: first.duplicates + second.duplicates + again)
    }

    /// One of them applies.
    static func either(_ first: TransitionSummary, _ second: TransitionSummary) -> TransitionSummary {
        TransitionSummary(rules: first.rules + second.rules, duplicates: first.duplicates + second.duplicates)
    }
}

/// On this event, go to that state.
public struct On<E: Event, To: State>: TransitionContent {
    private let make: (any Event) -> any State
    private var isDisabled: (@Sendable () -> Bool)?

    /// Goes to a state that does not depend on what the event carries. It is computed when the event comes.
    public init(_ event: E.Type, transitionTo state: @escaping @autoclosure () -> To) {
        make = { _ in state() }
    }

    /// Goes to a state made from the event.
    public init(_ event: E.Type, transitionTo state: To.Type, _ make: @escaping (E) -> To) {
        self.make = { event in
            guard let event = event as? E else {
                preconditionFailure("a rule for \(E.identity) was asked about \(type(of: event).identity)")
            }
            return make(event)
        }
    }

    /// Goes to a state made when the event comes.
    public init(_ event: E.Type, transitionTo state: To.Type, _ make: @escaping () -> To) {
        self.make = { _ in make() }
    }

    /// The rule does not exist while `disabled` holds: the next less specific one applies.
    public func disable(_ disabled: @escaping @Sendable () -> Bool) -> On {
        var copy = self
        let before = isDisabled
        copy.isDisabled = { before?() == true || disabled() }
        return copy
    }

    /// This one rule.
    public static var summary: TransitionSummary { TransitionSummary(rules: [.init(event: E.self, to: To.self)]) }

    /// The new state, if the rule is for this event and not disabled.
    public func next(on event: any Event, wildcard: Bool) -> (any State)? {
        if E.self == AnyEvent.self {
            guard wildcard else { return nil }
        } else {
            guard !wildcard, type(of: event) == E.self else { return nil }
        }
        if let isDisabled, isDisabled() { return nil }
        return make(event)
    }
}

extension On where E == AnyEvent {
    /// Goes to a state made from the event, whatever it is.
    public init(_ event: AnyEvent.Type, transitionTo state: To.Type, _ make: @escaping (any Event) -> To) {
        self.make = { make($0) }
    }
}

extension On where To == AnyState {
    /// Goes to a state whose type is decided when the event comes; a drawing shows `any`.
    public init(_ event: E.Type, transitionTo state: @escaping @autoclosure () -> any State) {
        make = { _ in state() }
    }
}

/// Two contents, one after the other.
public struct TransitionPair<First: TransitionContent, Second: TransitionContent>: TransitionContent {
    let first: First
    let second: Second

    /// The rules of both.
    public static var summary: TransitionSummary { .both(First.summary, Second.summary) }

    /// By the first, else by the second.
    public func next(on event: any Event, wildcard: Bool) -> (any State)? {
        first.next(on: event, wildcard: wildcard) ?? second.next(on: event, wildcard: wildcard)
    }
}

/// One of two contents, by `if` or `switch`.
public enum TransitionEither<First: TransitionContent, Second: TransitionContent>: TransitionContent {
    /// The one branch.
    case first(First)
    /// The other branch.
    case second(Second)

    /// The rules of both branches.
    public static var summary: TransitionSummary { .either(First.summary, Second.summary) }

    /// By the branch taken.
    public func next(on event: any Event, wildcard: Bool) -> (any State)? {
        switch self {
        case .first(let content): content.next(on: event, wildcard: wildcard)
        case .second(let content): content.next(on: event, wildcard: wildcard)
        }
    }
}

extension Optional: TransitionContent where Wrapped: TransitionContent {
    /// The rules that may be there.
    public static var summary: TransitionSummary { Wrapped.summary }

    /// By the content, if there is one.
    public func next(on event: any Event, wildcard: Bool) -> (any State)? {
        self?.next(on: event, wildcard: wildcard)
    }
}

extension Array: TransitionContent where Element: TransitionContent {
    /// The rules of one element. In a `for`, the first rule that is not disabled counts.
    public static var summary: TransitionSummary { Element.summary }

    /// By the first element that has a rule.
    public func next(on event: any Event, wildcard: Bool) -> (any State)? {
        for content in self {
            if let state = content.next(on: event, wildcard: wildcard) { return state }
        }
        return nil
    }
}

/// Puts rules together.
@resultBuilder
public enum TransitionContentBuilder {
    /// A first rule.
    public static func buildPartialBlock<C: TransitionContent>(first: C) -> C { first }
    /// One more.
    public static func buildPartialBlock<A: TransitionContent, B: TransitionContent>(
        accumulated: A, next: B
    ) -> TransitionPair<A, B> {
        TransitionPair(first: accumulated, second: next)
    }
    /// `if` with `else`, `switch`.
    public static func buildEither<A: TransitionContent, B: TransitionContent>(
        first: A
    ) -> TransitionEither<A, B> { .first(first) }
    /// `if` with `else`, `switch`.
    public static func buildEither<A: TransitionContent, B: TransitionContent>(
        second: B
    ) -> TransitionEither<A, B> { .second(second) }
    /// `if` without `else`.
    public static func buildOptional<C: TransitionContent>(_ content: C?) -> C? { content }
    /// `for`.
    public static func buildArray<C: TransitionContent>(_ contents: [C]) -> [C] { contents }
}
