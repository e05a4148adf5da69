/// What the closure of a ``From`` gives: rules, each for a type of event.
///
/// The types of the events are known from the type of the content, without a state at hand. That is why the table of
/// transitions is made once, when a system is built, and why two rules for the same pair are found then.
public protocol TransitionContent: SendableMetatype {
    /// The rules that may be in it.
    static var summary: TransitionSummary { get }

    /// Whether a rule for this type of event may be in it, or, with `wildcard`, one for ``AnyEvent``.
    static func handles(_ type: ObjectIdentifier, wildcard: Bool) -> Bool

    /// The new state by the first rule that is for this event and not disabled.
    ///
    /// - Parameter wildcard: look at rules for ``AnyEvent`` only, or at the others only.
    /// - Parameter event: what has happened.
    /// - Parameter type: the event's type.
    func next(on event: any Event, type: ObjectIdentifier, wildcard: Bool) -> (any State)?
}

/// The rules that may be in a ``TransitionContent``.
public struct TransitionSummary: Sendable {
    /// A rule.
    @usableFromInline
    package struct Rule: Sendable {
        @usableFromInline let event: any Event.Type
        @usableFromInline let to: any State.Type

        @inlinable
        init(event: any Event.Type, to: any State.Type) {
            self.event = event
            self.to = to
        }
    }
    @usableFromInline package var rules: [Rule]
    /// Events for which two rules stand side by side.
    @usableFromInline package var duplicates: [any Event.Type] = []

    @inlinable
    init(rules: [Rule], duplicates: [any Event.Type] = []) {
        self.rules = rules
        self.duplicates = duplicates
    }

    /// Both apply.
    @usableFromInline
    static func both(_ first: TransitionSummary, _ second: TransitionSummary) -> TransitionSummary {
        let known = Set(first.rules.map { ObjectIdentifier($0.event) })
        let again = second.rules.map(\.event).filter { known.contains(ObjectIdentifier($0)) }
        return TransitionSummary(
            rules: first.rules + second.rules, duplicates: first.duplicates + second.duplicates + again)
    }

    /// One of them applies.
    @usableFromInline
    static func either(_ first: TransitionSummary, _ second: TransitionSummary) -> TransitionSummary {
        TransitionSummary(rules: first.rules + second.rules, duplicates: first.duplicates + second.duplicates)
    }
}

/// On this event, go to that state.
///
/// An event is matched by its exact type: a rule for a class is not one for its subclasses.
@frozen
public struct On<E: Event, To: State>: TransitionContent {
    /// How the new state is made.
    @usableFromInline
    enum Make {
        case plain(() -> any State)
        case constant(() -> To)
        case typed((E) -> To)
        case any((any Event) -> To)
        case open((E) -> any State)
        case openAny((any Event) -> any State)
        case perhaps((E) -> (any State)?)
        case perhapsAny((any Event) -> (any State)?)
    }
    @usableFromInline let make: Make
    @usableFromInline var isDisabled: (@Sendable () -> Bool)?

    /// Goes to a state that does not depend on what the event carries. It is computed when the event comes.
    @inlinable
    public init(_ event: E.Type, transitionTo state: @escaping @autoclosure () -> To) {
        make = .constant(state)
    }

    /// Goes to a state made from the event.
    @inlinable
    public init(_ event: E.Type, transitionTo state: To.Type, _ make: @escaping (E) -> To) {
        self.make = .typed(make)
    }

    /// Goes to a state made when the event comes.
    @inlinable
    public init(_ event: E.Type, transitionTo state: To.Type, _ make: @escaping () -> To) {
        self.make = .constant(make)
    }

    /// Goes to a state made from the event, if the closure answers one. With `nil` it is as if the rule were not there: a less
    /// specific one decides, and where there is none, the event changes nothing, and no side effect is started again.
    @_disfavoredOverload  // A closure that always answers a state is one of those above.
    @inlinable
    public init(_ event: E.Type, transitionTo state: To.Type, _ make: @escaping (E) -> To?) {
        self.make = .perhaps { make($0) }
    }

    /// The rule does not exist while `disabled` holds: the next less specific one applies.
    @inlinable
    public func disable(_ disabled: @escaping @Sendable () -> Bool) -> On {
        var copy = self
        let before = isDisabled
        copy.isDisabled = { before?() == true || disabled() }
        return copy
    }

    /// This one rule.
    @inlinable
    public static var summary: TransitionSummary { TransitionSummary(rules: [.init(event: E.self, to: To.self)]) }

    /// Whether it is the rule for this type of event.
    @inlinable
    public static func handles(_ type: ObjectIdentifier, wildcard: Bool) -> Bool {
        E.self == AnyEvent.self ? wildcard : !wildcard && type == ObjectIdentifier(E.self)
    }

    /// The new state, if the rule is for this event and not disabled.
    @inlinable
    public func next(on event: any Event, type: ObjectIdentifier, wildcard: Bool) -> (any State)? {
        guard Self.handles(type, wildcard: wildcard) else { return nil }
        if let isDisabled, isDisabled() { return nil }
        switch make {
        case .plain(let make): return make()
        case .constant(let make): return make()
        case .typed(let make):
            guard let event = exact(event, E.self) else { return nil }
            return make(event)
        case .any(let make): return make(event)
        case .open(let make): return exact(event, E.self).map(make)
        case .openAny(let make): return make(event)
        case .perhaps(let make): return exact(event, E.self).flatMap(make)
        case .perhapsAny(let make): return make(event)
        }
    }
}

extension On where E == AnyEvent {
    /// Goes to a state made from the event, whatever it is.
    @inlinable
    public init(_ event: AnyEvent.Type, transitionTo state: To.Type, _ make: @escaping (any Event) -> To) {
        self.make = .any(make)
    }

    /// Goes to a state made from the event, whatever it is, if the closure answers one; else it is as if the rule were not
    /// there.
    @_disfavoredOverload  // As above.
    @inlinable
    public init(_ event: AnyEvent.Type, transitionTo state: To.Type, _ make: @escaping (any Event) -> To?) {
        self.make = .perhapsAny { make($0) }
    }
}

extension On where To == AnyState {
    /// Goes to a state whose type is decided when the event comes; a drawing shows `any`.
    @inlinable
    public init(_ event: E.Type, transitionTo state: @escaping @autoclosure () -> any State) {
        make = .plain(state)
    }

    /// Goes to a state made from the event, whose type is decided then; a drawing shows `any`.
    @inlinable
    public init(_ event: E.Type, transitionTo state: AnyState.Type, _ make: @escaping (E) -> any State) {
        self.make = .open(make)
    }

    /// Goes to a state made from the event, whose type is decided then, if the closure answers one; else it is as if the
    /// rule were not there. A drawing shows `any`.
    @_disfavoredOverload  // As above.
    @inlinable
    public init(_ event: E.Type, transitionTo state: AnyState.Type, _ make: @escaping (E) -> (any State)?) {
        self.make = .perhaps(make)
    }

    /// Goes to a state made when the event comes, whose type is decided then; a drawing shows `any`.
    @inlinable
    public init(_ event: E.Type, transitionTo state: AnyState.Type, _ make: @escaping () -> any State) {
        self.make = .plain(make)
    }
}

extension On where E == AnyEvent, To == AnyState {
    /// Goes to a state made from the event, whatever it is; its type is decided then, and a drawing shows `any`.
    @inlinable
    public init(_ event: AnyEvent.Type, transitionTo state: AnyState.Type, _ make: @escaping (any Event) -> any State) {
        self.make = .openAny(make)
    }

    /// Goes to a state made from the event, whatever it is, if the closure answers one; else it is as if the rule were not
    /// there. The type of the state is decided then, and a drawing shows `any`.
    @_disfavoredOverload  // As above.
    @inlinable
    public init(
        _ event: AnyEvent.Type, transitionTo state: AnyState.Type, _ make: @escaping (any Event) -> (any State)?
    ) {
        self.make = .perhapsAny(make)
    }
}

/// Two contents, one after the other.
@frozen
public struct TransitionPair<First: TransitionContent, Second: TransitionContent>: TransitionContent {
    @usableFromInline let first: First
    @usableFromInline let second: Second

    @inlinable
    init(first: First, second: Second) {
        self.first = first
        self.second = second
    }

    /// The rules of both.
    @inlinable
    public static var summary: TransitionSummary { .both(First.summary, Second.summary) }

    /// Whether one of them may have a rule.
    @inlinable
    public static func handles(_ type: ObjectIdentifier, wildcard: Bool) -> Bool {
        First.handles(type, wildcard: wildcard) || Second.handles(type, wildcard: wildcard)
    }

    /// By the first, else by the second.
    @inlinable
    public func next(on event: any Event, type: ObjectIdentifier, wildcard: Bool) -> (any State)? {
        first.next(on: event, type: type, wildcard: wildcard) ?? second.next(on: event, type: type, wildcard: wildcard)
    }
}

/// One of two contents, by `if` or `switch`.
@frozen
public enum TransitionEither<First: TransitionContent, Second: TransitionContent>: TransitionContent {
    /// The one branch.
    case first(First)
    /// The other branch.
    case second(Second)

    /// The rules of both branches.
    @inlinable
    public static var summary: TransitionSummary { .either(First.summary, Second.summary) }

    /// Whether one of them may have a rule.
    @inlinable
    public static func handles(_ type: ObjectIdentifier, wildcard: Bool) -> Bool {
        First.handles(type, wildcard: wildcard) || Second.handles(type, wildcard: wildcard)
    }

    /// By the branch taken.
    @inlinable
    public func next(on event: any Event, type: ObjectIdentifier, wildcard: Bool) -> (any State)? {
        switch self {
        case .first(let content): content.next(on: event, type: type, wildcard: wildcard)
        case .second(let content): content.next(on: event, type: type, wildcard: wildcard)
        }
    }
}

extension Optional: TransitionContent where Wrapped: TransitionContent {
    /// The rules that may be there.
    @inlinable
    public static var summary: TransitionSummary { Wrapped.summary }

    /// Whether the content may have a rule.
    @inlinable
    public static func handles(_ type: ObjectIdentifier, wildcard: Bool) -> Bool {
        Wrapped.handles(type, wildcard: wildcard)
    }

    /// By the content, if there is one.
    @inlinable
    public func next(on event: any Event, type: ObjectIdentifier, wildcard: Bool) -> (any State)? {
        self?.next(on: event, type: type, wildcard: wildcard)
    }
}

extension Array: TransitionContent where Element: TransitionContent {
    /// The rules of one element. In a `for`, the first rule that is not disabled counts.
    @inlinable
    public static var summary: TransitionSummary { Element.summary }

    /// Whether an element may have a rule.
    @inlinable
    public static func handles(_ type: ObjectIdentifier, wildcard: Bool) -> Bool {
        Element.handles(type, wildcard: wildcard)
    }

    /// By the first element that has a rule.
    @inlinable
    public func next(on event: any Event, type: ObjectIdentifier, wildcard: Bool) -> (any State)? {
        for content in self {
            if let state = content.next(on: event, type: type, wildcard: wildcard) { return state }
        }
        return nil
    }
}

/// Puts rules together.
@resultBuilder
public enum TransitionContentBuilder {
    /// A first rule.
    @inlinable
    public static func buildPartialBlock<C: TransitionContent>(first: C) -> C { first }
    /// One more.
    @inlinable
    public static func buildPartialBlock<A: TransitionContent, B: TransitionContent>(
        accumulated: A, next: B
    ) -> TransitionPair<A, B> {
        TransitionPair(first: accumulated, second: next)
    }
    /// `if` with `else`, `switch`.
    @inlinable
    public static func buildEither<A: TransitionContent, B: TransitionContent>(
        first: A
    ) -> TransitionEither<A, B> { .first(first) }
    /// `if` with `else`, `switch`.
    @inlinable
    public static func buildEither<A: TransitionContent, B: TransitionContent>(
        second: B
    ) -> TransitionEither<A, B> { .second(second) }
    /// `if` without `else`.
    @inlinable
    public static func buildOptional<C: TransitionContent>(_ content: C?) -> C? { content }
    /// `for`.
    @inlinable
    public static func buildArray<C: TransitionContent>(_ contents: [C]) -> [C] { contents }
}
