/// The rules in the closure of a ``From``, each for one type of event.
///
/// The event types are known from the type of the content, without a state. So the table of transitions is built once,
/// with the system, and two rules for the same pair are found at that time.
public protocol TransitionContent: SendableMetatype {
    /// The rules that the content may contain.
    static var summary: TransitionSummary { get }

    /// Returns whether the content may contain a rule for this type of event, or, with `wildcard`, for ``AnyEvent``.
    static func handles(_ type: ObjectIdentifier, wildcard: Bool) -> Bool

    /// Returns the new state by the first rule that matches the event and is not disabled.
    ///
    /// - Parameter wildcard: Consider only rules for ``AnyEvent``; if `false`, only the other rules.
    /// - Parameter event: The event.
    /// - Parameter type: The event's type.
    func next(on event: any Event, type: ObjectIdentifier, wildcard: Bool) -> (any State)?
}

/// The rules that a ``TransitionContent`` may contain.
public struct TransitionSummary: Sendable {
    /// A rule.
    @usableFromInline
    package struct Rule: Sendable {
        @usableFromInline let event: any Event.Type
        @usableFromInline let to: any State.Type
        /// A Boolean value that indicates whether the rule updates its state in place.
        @usableFromInline let isUpdate: Bool

        @inlinable
        init(event: any Event.Type, to: any State.Type, isUpdate: Bool = false) {
            self.event = event
            self.to = to
            self.isUpdate = isUpdate
        }
    }
    @usableFromInline package var rules: [Rule]
    /// The events that have two rules in the same content.
    @usableFromInline package var duplicates: [any Event.Type] = []

    @inlinable
    init(rules: [Rule], duplicates: [any Event.Type] = []) {
        self.rules = rules
        self.duplicates = duplicates
    }

    /// Combines two contents that both apply.
    @usableFromInline
    static func both(_ first: TransitionSummary, _ second: TransitionSummary) -> TransitionSummary {
        let known = Set(first.rules.map { ObjectIdentifier($0.event) })
        let again = second.rules.map(\.event).filter { known.contains(ObjectIdentifier($0)) }
        return TransitionSummary(
            rules: first.rules + second.rules, duplicates: first.duplicates + second.duplicates + again)
    }

    /// Combines two contents of which one applies.
    @usableFromInline
    static func either(_ first: TransitionSummary, _ second: TransitionSummary) -> TransitionSummary {
        TransitionSummary(rules: first.rules + second.rules, duplicates: first.duplicates + second.duplicates)
    }
}

/// A rule: on this event, go to that state.
///
/// An event is matched by its exact type: a rule for a class is not one for its subclasses.
@frozen
public struct On<E: Event, To: State>: TransitionContent {
    /// The way in which the new state is made.
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

    /// Creates a rule whose new state does not depend on the event's data. The state is computed when the event
    /// arrives.
    @inlinable
    public init(_ event: E.Type, transitionTo state: @escaping @autoclosure () -> To) {
        make = .constant(state)
    }

    /// Creates a rule that makes the new state from the event.
    @inlinable
    public init(_ event: E.Type, transitionTo state: To.Type, _ make: @escaping (E) -> To) {
        self.make = .typed(make)
    }

    /// Creates a rule that makes the new state when the event arrives.
    @inlinable
    public init(_ event: E.Type, transitionTo state: To.Type, _ make: @escaping () -> To) {
        self.make = .constant(make)
    }

    /// Creates a rule that makes the new state from the event, or declines with `nil`. After `nil`, the next less
    /// specific rule decides. If no rule is left, the event changes nothing and restarts no side effect.
    @_disfavoredOverload  // A closure that never returns `nil` uses an initializer above.
    @inlinable
    public init(_ event: E.Type, transitionTo state: To.Type, _ make: @escaping (E) -> To?) {
        self.make = .perhaps { make($0) }
    }

    /// Disables the rule while `disabled` returns `true`: the next less specific rule applies.
    @inlinable
    public func disable(_ disabled: @escaping @Sendable () -> Bool) -> On {
        var copy = self
        let before = isDisabled
        copy.isDisabled = { before?() == true || disabled() }
        return copy
    }

    /// A summary with this one rule.
    @inlinable
    public static var summary: TransitionSummary { TransitionSummary(rules: [.init(event: E.self, to: To.self)]) }

    /// Returns whether this rule is for this type of event.
    @inlinable
    public static func handles(_ type: ObjectIdentifier, wildcard: Bool) -> Bool {
        E.self == AnyEvent.self ? wildcard : !wildcard && type == ObjectIdentifier(E.self)
    }

    /// Returns the new state if the rule matches the event and is not disabled.
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
    /// Creates a rule that makes the new state from an event of any type.
    @inlinable
    public init(_ event: AnyEvent.Type, transitionTo state: To.Type, _ make: @escaping (any Event) -> To) {
        self.make = .any(make)
    }

    /// Creates a rule that makes the new state from an event of any type, or declines with `nil`. After `nil`, the next
    /// less specific rule decides.
    @_disfavoredOverload  // As above.
    @inlinable
    public init(_ event: AnyEvent.Type, transitionTo state: To.Type, _ make: @escaping (any Event) -> To?) {
        self.make = .perhapsAny { make($0) }
    }
}

extension On where To == AnyState {
    /// Creates a rule whose new state has a type decided when the event arrives; diagrams show `any`.
    @inlinable
    public init(_ event: E.Type, transitionTo state: @escaping @autoclosure () -> any State) {
        make = .plain(state)
    }

    /// Creates a rule that makes a state of any type from the event; diagrams show `any`.
    @inlinable
    public init(_ event: E.Type, transitionTo state: AnyState.Type, _ make: @escaping (E) -> any State) {
        self.make = .open(make)
    }

    /// Creates a rule that makes a state of any type from the event, or declines with `nil`. After `nil`, the next less
    /// specific rule decides. Diagrams show `any`.
    @_disfavoredOverload  // As above.
    @inlinable
    public init(_ event: E.Type, transitionTo state: AnyState.Type, _ make: @escaping (E) -> (any State)?) {
        self.make = .perhaps(make)
    }

    /// Creates a rule that makes a state of any type when the event arrives; diagrams show `any`.
    @inlinable
    public init(_ event: E.Type, transitionTo state: AnyState.Type, _ make: @escaping () -> any State) {
        self.make = .plain(make)
    }
}

extension On where E == AnyEvent, To == AnyState {
    /// Creates a rule that makes a state of any type from an event of any type; diagrams show `any`.
    @inlinable
    public init(_ event: AnyEvent.Type, transitionTo state: AnyState.Type, _ make: @escaping (any Event) -> any State) {
        self.make = .openAny(make)
    }

    /// Creates a rule that makes a state of any type from an event of any type, or declines with `nil`. After `nil`,
    /// the next less specific rule decides. Diagrams show `any`.
    @_disfavoredOverload  // As above.
    @inlinable
    public init(
        _ event: AnyEvent.Type, transitionTo state: AnyState.Type, _ make: @escaping (any Event) -> (any State)?
    ) {
        self.make = .perhapsAny(make)
    }
}

/// Two contents in sequence.
@frozen
public struct TransitionPair<First: TransitionContent, Second: TransitionContent>: TransitionContent {
    @usableFromInline let first: First
    @usableFromInline let second: Second

    @inlinable
    init(first: First, second: Second) {
        self.first = first
        self.second = second
    }

    /// The rules of both contents.
    @inlinable
    public static var summary: TransitionSummary { .both(First.summary, Second.summary) }

    /// Returns whether one of the contents may contain a rule.
    @inlinable
    public static func handles(_ type: ObjectIdentifier, wildcard: Bool) -> Bool {
        First.handles(type, wildcard: wildcard) || Second.handles(type, wildcard: wildcard)
    }

    /// Returns the new state by the first content, or else by the second.
    @inlinable
    public func next(on event: any Event, type: ObjectIdentifier, wildcard: Bool) -> (any State)? {
        first.next(on: event, type: type, wildcard: wildcard) ?? second.next(on: event, type: type, wildcard: wildcard)
    }
}

/// One of two contents, chosen by `if` or `switch`.
@frozen
public enum TransitionEither<First: TransitionContent, Second: TransitionContent>: TransitionContent {
    /// The first branch.
    case first(First)
    /// The second branch.
    case second(Second)

    /// The rules of both branches.
    @inlinable
    public static var summary: TransitionSummary { .either(First.summary, Second.summary) }

    /// Returns whether one of the branches may contain a rule.
    @inlinable
    public static func handles(_ type: ObjectIdentifier, wildcard: Bool) -> Bool {
        First.handles(type, wildcard: wildcard) || Second.handles(type, wildcard: wildcard)
    }

    /// Returns the new state by the branch taken.
    @inlinable
    public func next(on event: any Event, type: ObjectIdentifier, wildcard: Bool) -> (any State)? {
        switch self {
        case .first(let content): content.next(on: event, type: type, wildcard: wildcard)
        case .second(let content): content.next(on: event, type: type, wildcard: wildcard)
        }
    }
}

extension Optional: TransitionContent where Wrapped: TransitionContent {
    /// The rules of the content.
    @inlinable
    public static var summary: TransitionSummary { Wrapped.summary }

    /// Returns whether the content may contain a rule.
    @inlinable
    public static func handles(_ type: ObjectIdentifier, wildcard: Bool) -> Bool {
        Wrapped.handles(type, wildcard: wildcard)
    }

    /// Returns the new state by the content, if present.
    @inlinable
    public func next(on event: any Event, type: ObjectIdentifier, wildcard: Bool) -> (any State)? {
        self?.next(on: event, type: type, wildcard: wildcard)
    }
}

extension Array: TransitionContent where Element: TransitionContent {
    /// The rules of one element. In a `for`, the first enabled rule applies.
    @inlinable
    public static var summary: TransitionSummary { Element.summary }

    /// Returns whether an element may contain a rule.
    @inlinable
    public static func handles(_ type: ObjectIdentifier, wildcard: Bool) -> Bool {
        Element.handles(type, wildcard: wildcard)
    }

    /// Returns the new state by the first element that has a rule.
    @inlinable
    public func next(on event: any Event, type: ObjectIdentifier, wildcard: Bool) -> (any State)? {
        for content in self {
            if let state = content.next(on: event, type: type, wildcard: wildcard) { return state }
        }
        return nil
    }
}

/// Combines the rules of a ``From``.
@resultBuilder
public enum TransitionContentBuilder {
    /// Starts with the first rule.
    @inlinable
    public static func buildPartialBlock<C: TransitionContent>(first: C) -> C { first }
    /// Appends a rule.
    @inlinable
    public static func buildPartialBlock<A: TransitionContent, B: TransitionContent>(
        accumulated: A, next: B
    ) -> TransitionPair<A, B> {
        TransitionPair(first: accumulated, second: next)
    }
    /// Supports `if` with `else` and `switch`.
    @inlinable
    public static func buildEither<A: TransitionContent, B: TransitionContent>(
        first: A
    ) -> TransitionEither<A, B> { .first(first) }
    /// Supports `if` with `else` and `switch`.
    @inlinable
    public static func buildEither<A: TransitionContent, B: TransitionContent>(
        second: B
    ) -> TransitionEither<A, B> { .second(second) }
    /// Supports `if` without `else`.
    @inlinable
    public static func buildOptional<C: TransitionContent>(_ content: C?) -> C? { content }
    /// Supports `for`.
    @inlinable
    public static func buildArray<C: TransitionContent>(_ contents: [C]) -> [C] { contents }
}
