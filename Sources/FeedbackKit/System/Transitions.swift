/// The rules that start from one type of state.
public struct From: Sendable {
    @usableFromInline let state: any State.Type
    @usableFromInline let summary: TransitionSummary
    /// Few, so that looking through them is quicker than hashing.
    @usableFromInline let exactEvents: [ObjectIdentifier]
    @usableFromInline let hasWildcard: Bool
    @usableFromInline let evaluate: @Sendable (any State, any Event, ObjectIdentifier, Bool) -> (any State)?
    @usableFromInline var isDisabled: (@Sendable () -> Bool)?

    @inlinable
    init<C: TransitionContent>(
        _ state: any State.Type, _ content: @escaping @Sendable (any State) -> C
    ) {
        self.state = state
        summary = C.summary
        let events = C.summary.rules.map { ObjectIdentifier($0.event) }
        exactEvents = events.filter { $0 != ObjectIdentifier(AnyEvent.self) }
        hasWildcard = events.contains(ObjectIdentifier(AnyEvent.self))
        evaluate = { content($0).next(on: $1, type: $2, wildcard: $3) }
    }

    /// Rules from states of this type, which may look at the state.
    @inlinable
    public init<S: State, C: TransitionContent>(
        _ state: S.Type, @TransitionContentBuilder _ content: @escaping @Sendable (S) -> C
    ) {
        self.init(state) { (state: any State) in
            guard let state = exact(state, S.self) else {
                preconditionFailure("rules from \(S.identity) were asked about \(type(of: state).identity)")
            }
            return content(state)
        }
    }

    /// Rules from every state.
    @inlinable
    public init<C: TransitionContent>(
        _ state: AnyState.Type, @TransitionContentBuilder _ content: @escaping @Sendable (any State) -> C
    ) {
        self.init(state as any State.Type, content)
    }

    /// Rules that do not look at the state they start from.
    @inlinable
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
    func next(from state: any State, on event: any Event, type: ObjectIdentifier, wildcard: Bool) -> (any State)? {
        guard wildcard ? hasWildcard : exactEvents.contains(type) else { return nil }
        if let isDisabled, isDisabled() { return nil }
        return evaluate(state, event, type, wildcard)
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
    private let byState: [ObjectIdentifier: Row]
    private let fromAny: Row?
    private let table: [Row]
    private var isDisabled: (@Sendable () -> Bool)?
    private(set) var executor: (any LoopExecutor)?

    /// Puts rules together.
    ///
    /// Two rules for the same pair are a programming error, and stop the program with a message that names them.
    public init(@TransitionsBuilder _ froms: () -> [From]) {
        self.froms = froms()
        let groups = Dictionary(grouping: self.froms) { ObjectIdentifier($0.state) }
        table = groups.map { Row($0.key, $0.value) }
        byState = Dictionary(uniqueKeysWithValues: table.map { ($0.state, $0) })
        fromAny = byState[ObjectIdentifier(AnyState.self)]
        if let message = conflict() { preconditionFailure(message) }
    }

    /// What is wrong with the rules, if anything: two rules for a pair, or two types with one identity.
    func conflict() -> String? {
        for group in byState.values.map(\.froms) {
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
        let type = ObjectIdentifier(Swift.type(of: event))
        let row = row(of: ObjectIdentifier(Swift.type(of: state)))
        if let row {
            if let new = row.next(from: state, on: event, type: type, wildcard: false) { return new }
            if let new = row.next(from: state, on: event, type: type, wildcard: true) { return new }
        }
        guard let fromAny else { return nil }
        return fromAny.next(from: state, on: event, type: type, wildcard: false)
            ?? fromAny.next(from: state, on: event, type: type, wildcard: true)
    }

    /// The rules from a type of state. A few types are looked through, more are hashed.
    private func row(of state: ObjectIdentifier) -> Row? {
        guard table.count <= 16 else { return byState[state] }
        for index in table.indices where table[index].state == state { return table[index] }
        return nil
    }

    /// The rules from one type of state.
    private final class Row: Sendable {
        let state: ObjectIdentifier
        let froms: [From]
        /// Boxed, so that asking one copies nothing.
        private let boxes: [Box]

        private final class Box: Sendable {
            let from: From

            init(_ from: From) {
                self.from = from
            }
        }

        init(_ state: ObjectIdentifier, _ froms: [From]) {
            self.state = state
            self.froms = froms
            boxes = froms.map(Box.init)
        }

        func next(
            from state: any State, on event: any Event, type: ObjectIdentifier, wildcard: Bool
        ) -> (any State)? {
            for box in boxes {
                let new = box.from.next(from: state, on: event, type: type, wildcard: wildcard)
                if let new { return new }
            }
            return nil
        }
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
