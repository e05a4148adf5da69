/// The rules that start from one type of state.
public struct From: Sendable {
    let state: any State.Type
    let summary: TransitionSummary
    private let exactEvents: Set<ObjectIdentifier>
    private let hasWildcard: Bool
    private let evaluate: @Sendable (any State, any Event, Bool) -> (any State)?
    private var isDisabled: (@Sendable () -> Bool)?

    private init<C: TransitionContent>(
        _ state: any State.Type, _ content: @escaping @Sendable (any State) -> C
    ) {
        self.state = state
        summary = C.summary
        let events = C.summary.rules.map { ObjectIdentifier($0.event) }
        exactEvents = Set(events).subtracting([ObjectIdentifier(AnyEvent.self)])
        hasWildcard = events.contains(ObjectIdentifier(AnyEvent.self))
        evaluate = { content($0).next(on: $1, wildcard: $2) }
    }

    /// Rules from states of this type, which may look at the state.
    public init<S: State, C: TransitionContent>(
        _ state: S.Type, @TransitionContentBuilder _ content: @escaping @Sendable (S) -> C
    ) {
        self.init(state) { (state: any State) in
            guard let state = state as? S else {
                preconditionFailure("rules from \(S.identity) were asked about \(type(of: state).identity)")
            }
            return content(state)
        }
    }

    /// Rules from every state.
    public init<C: TransitionContent>(
        _ state: AnyState.Type, @TransitionContentBuilder _ content: @escaping @Sendable (any State) -> C
    ) {
        self.init(state as any State.Type, content)
    }

    /// Rules that do not look at the state they start from.
    public init<S: State, C: TransitionContent>(
        _ state: S.Type, @TransitionContentBuilder _ content: @escaping @Sendable () -> C
    ) {
        self.init(state) { (_: any State) in content() }
    }

    /// The rules do not exist while `disabled` holds: the next less specific ones apply.
    public func disable(_ disabled: @escaping @Sendable () -> Bool) -> From {
        var copy = self
        let before = isDisabled
        copy.isDisabled = { before?() == true || disabled() }
        return copy
    }

    /// The new state, by rules for exactly this event, or by rules for any.
    func next(from state: any State, on event: any Event, wildcard: Bool) -> (any State)? {
        guard wildcard ? hasWildcard : exactEvents.contains(ObjectIdentifier(type(of: event))) else { return nil }
        if let isDisabled, isDisabled() { return nil }
        return evaluate(state, event, wildcard)
    }
}

/// A rule as it can be drawn: from this state, on this event, to that state, each by its identity.
public struct TransitionDescription: Sendable, Hashable, Codable, CustomStringConvertible {
    /// The state it starts from; `any` for the wildcard.
    public let from: String
    /// The event; `any` for the wildcard.
    public let event: String
    /// The state it leads to; `any` where that is decided when the event comes.
    public let to: String

    /// `from -- event --> to`
    public var description: String { "\(from) -- \(event) --> \(to)" }
}

/// A state machine: pure rules that say which event leads from which state to which.
///
/// For a state and an event, the rule for exactly these two decides; else (state, any event); else (any state, event);
/// else (any state, any event). A rule that is disabled is passed over. Where none is left, the event is not handled.
public struct Transitions: Sendable {
    private let froms: [From]
    private let byState: [ObjectIdentifier: [From]]
    private let fromAny: [From]
    private var isDisabled: (@Sendable () -> Bool)?
    private(set) var executor: (any LoopExecutor)?

    /// Puts rules together.
    ///
    /// Two rules for the same pair are a programming error, and stop the program with a message that names them.
    public init(@TransitionsBuilder _ froms: () -> [From]) {
        self.froms = froms()
        byState = Dictionary(grouping: self.froms) { ObjectIdentifier($0.state) }
        fromAny = byState[ObjectIdentifier(AnyState.self)] ?? []
        if let message = conflict() { preconditionFailure(message) }
    }

    /// What is wrong with the rules, if anything: two rules for a pair, or two types with one identity.
    func conflict() -> String? {
        for group in byState.values {
            let summary = group.dropFirst().reduce(group[0].summary) { .both($0, $1.summary) }
            if let event = summary.duplicates.first {
                return "two transitions from \(group[0].state.identity) on \(event.identity): remove one of them"
            }
        }
        var owners: [String: ObjectIdentifier] = [:]
        for from in froms {
            let owner = ObjectIdentifier(from.state)
            if owners.updateValue(owner, forKey: from.state.identity) ?? owner != owner {
                return "two types of state have the identity \(from.state.identity): give one of them another"
            }
        }
        return nil
    }

    /// The new state, or `nil` if no rule handles the event.
    public func next(from state: any State, on event: any Event) -> (any State)? {
        if let isDisabled, isDisabled() { return nil }
        let own = byState[ObjectIdentifier(type(of: state))] ?? []
        return Self.first(own, state, event, wildcard: false)
            ?? Self.first(own, state, event, wildcard: true)
            ?? Self.first(fromAny, state, event, wildcard: false)
            ?? Self.first(fromAny, state, event, wildcard: true)
    }

    private static func first(
        _ froms: [From], _ state: any State, _ event: any Event, wildcard: Bool
    ) -> (any State)? {
        for from in froms {
            if let state = from.next(from: state, on: event, wildcard: wildcard) { return state }
        }
        return nil
    }

    /// No event is handled while `disabled` holds.
    public func disable(_ disabled: @escaping @Sendable () -> Bool) -> Transitions {
        var copy = self
        let before = isDisabled
        copy.isDisabled = { before?() == true || disabled() }
        return copy
    }

    /// Says where the transitions are computed, which is where the system's loop turns.
    public func execute(on executor: some LoopExecutor) -> Transitions {
        var copy = self
        copy.executor = executor
        return copy
    }

    /// The rules, for drawing, in the order in which they were written.
    public var descriptions: [TransitionDescription] {
        froms.flatMap { from in
            from.summary.rules.map {
                TransitionDescription(from: from.state.identity, event: $0.event.identity, to: $0.to.identity)
            }
        }
    }
}

/// Puts ``From``s together.
@resultBuilder
public enum TransitionsBuilder {
    /// One.
    public static func buildExpression(_ from: From) -> [From] { [from] }
    /// Several, kept in a property.
    public static func buildExpression(_ froms: [From]) -> [From] { froms }
    /// One after the other.
    public static func buildBlock(_ froms: [From]...) -> [From] { froms.flatMap(\.self) }
    /// `if` without `else`.
    public static func buildOptional(_ froms: [From]?) -> [From] { froms ?? [] }
    /// `if` with `else`, `switch`.
    public static func buildEither(first: [From]) -> [From] { first }
    /// `if` with `else`, `switch`.
    public static func buildEither(second: [From]) -> [From] { second }
    /// `for`.
    public static func buildArray(_ froms: [[From]]) -> [From] { froms.flatMap(\.self) }
}
