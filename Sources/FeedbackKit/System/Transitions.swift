/// The types behind a ``From``.
@usableFromInline
protocol RuleTypes: SendableMetatype {
    /// The state that the rules start from.
    static var state: any State.Type { get }
    /// The type of the rules' content.
    static var content: any TransitionContent.Type { get }
    /// Returns whether the rules apply to this state.
    static func matches(_ state: any State) -> Bool
    /// Returns whether the rules apply to all states of this type.
    static func includes(_ type: any State.Type) -> Bool
}

/// A single metatype for both types.
@usableFromInline
enum RulesOf<S: State, C: TransitionContent>: RuleTypes {
    @usableFromInline static var state: any State.Type { S.self }
    @usableFromInline static var content: any TransitionContent.Type { C.self }
    @usableFromInline static func matches(_ state: any State) -> Bool { state is S }
    @usableFromInline static func includes(_ type: any State.Type) -> Bool { type is S.Type }
}

/// The rules that start from one type of state.
public struct From: Sendable {
    /// Returns the new state if an enabled rule matches the event. It is a closure and not a method of a generic type,
    /// so that the compiler specializes it for its types.
    @usableFromInline typealias Evaluate = @Sendable (any State, any Event, ObjectIdentifier, Bool) -> (any State)?

    /// The identity of the state's type, for a quick comparison.
    @usableFromInline let id: ObjectIdentifier
    @usableFromInline let types: any RuleTypes.Type
    @usableFromInline let evaluate: Evaluate

    @inlinable
    init(_ id: ObjectIdentifier, _ types: any RuleTypes.Type, _ evaluate: @escaping Evaluate) {
        self.id = id
        self.types = types
        self.evaluate = evaluate
    }

    /// Creates rules from states of this type. The closure receives the state.
    @inlinable
    public init<S: State, C: TransitionContent>(
        _ state: S.Type, @TransitionContentBuilder _ content: @escaping @Sendable (S) -> C
    ) {
        self.init(ObjectIdentifier(S.self), RulesOf<S, C>.self) { state, event, type, wildcard in
            guard C.handles(type, wildcard: wildcard), let state = exact(state, S.self) else { return nil }
            return content(state).next(on: event, type: type, wildcard: wildcard)
        }
    }

    /// Creates rules from every state.
    @inlinable
    public init<C: TransitionContent>(
        _ state: AnyState.Type, @TransitionContentBuilder _ content: @escaping @Sendable (any State) -> C
    ) {
        self.init(ObjectIdentifier(AnyState.self), RulesOf<AnyState, C>.self) { state, event, type, wildcard in
            guard C.handles(type, wildcard: wildcard) else { return nil }
            return content(state).next(on: event, type: type, wildcard: wildcard)
        }
    }

    /// Creates rules from states of this type that do not depend on the state's data.
    @inlinable
    public init<S: State, C: TransitionContent>(
        _ state: S.Type, @TransitionContentBuilder _ content: @escaping @Sendable () -> C
    ) {
        self.init(ObjectIdentifier(S.self), RulesOf<S, C>.self) { _, event, type, wildcard in
            guard C.handles(type, wildcard: wildcard) else { return nil }
            return content().next(on: event, type: type, wildcard: wildcard)
        }
    }

    /// Disables the rules while `disabled` returns `true`: the next less specific rules apply.
    public func disable(_ disabled: @escaping @Sendable () -> Bool) -> From {
        let (content, evaluate) = (types.content, evaluate)
        return From(id, types) { state, event, type, wildcard in
            guard content.handles(type, wildcard: wildcard), !disabled() else { return nil }
            return evaluate(state, event, type, wildcard)
        }
    }
}

/// A rule for a diagram: from this state, on this event, to that state, each by its identity.
public struct TransitionDescription: Sendable, Hashable, Codable, CustomStringConvertible {
    /// The identity of the state in which the rule applies; `any` for the wildcard.
    public let from: String
    /// The identity of the event; `any` for the wildcard.
    public let event: String
    /// The identity of the new state; `any` if its type is decided when the event arrives.
    public let to: String
    /// A Boolean value that indicates whether the rule updates its state in place; see ``UpdateInPlace``.
    public let isUpdate: Bool

    /// The text `from -- event --> to`, or `from -- event --> in place`.
    public var description: String { "\(from) -- \(event) --> \(isUpdate ? "in place" : to)" }
}

/// A state machine: pure rules that define which event leads from which state to which.
///
/// For a state and an event, the most specific enabled rule decides, in this order:
///
/// 1. this state, this event
/// 2. this state, any event
/// 3. any state, this event
/// 4. any state, any event
///
/// If no rule is left, the event is not handled. For a state that is an object, the rules for its superclasses come
/// after those for its own class and before those for any state, the nearest superclass first.
///
/// The table is built once and shared by all copies. Systems that use one value from a property share one table.
public struct Transitions: Sendable {
    /// The rules in one shared object.
    private final class Table: Sendable {
        let froms: [From]
        /// The first rules of each state type, present only if there are too many rules for a linear search.
        let places: [ObjectIdentifier: [Int]]
        let hasWildcard: Bool
        /// One `From` of each class, subclasses before their superclasses; empty in most tables.
        let classes: [From]

        init(_ froms: [From]) {
            self.froms = froms
            var known: Set<ObjectIdentifier> = []
            let classes = froms.filter { $0.types.state is AnyClass && known.insert($0.id).inserted }
            let ranked = classes.enumerated().map { index, from in
                (from: from, index: index, depth: classes.count { $0.types.includes(from.types.state) })
            }
            self.classes = ranked.sorted { ($1.depth, $0.index) < ($0.depth, $1.index) }.map(\.from)
            places = froms.count <= 16 ? [:] : Dictionary(grouping: froms.indices) { froms[$0].id }
            hasWildcard = froms.contains { $0.id == ObjectIdentifier(AnyState.self) }
        }

        /// Returns the new state by the rules for this type of state.
        func next(
            _ id: ObjectIdentifier, from state: any State, on event: any Event, type: ObjectIdentifier, wildcard: Bool
        ) -> (any State)? {
            if !places.isEmpty {
                for index in places[id] ?? [] {
                    let new = froms[index].evaluate(state, event, type, wildcard)
                    if let new { return new }
                }
                return nil
            }
            for from in froms where from.id == id {
                if let new = from.evaluate(state, event, type, wildcard) { return new }
            }
            return nil
        }
    }

    /// The additions of modifiers; absent in most tables.
    private final class Modifiers: Sendable {
        let isDisabled: (@Sendable () -> Bool)?
        let executor: (any LoopExecutor)?

        init(isDisabled: (@Sendable () -> Bool)?, executor: (any LoopExecutor)?) {
            self.isDisabled = isDisabled
            self.executor = executor
        }
    }

    private let table: Table
    private var modifiers: Modifiers?

    /// The executor for the transitions, if one was set.
    var executor: (any LoopExecutor)? { modifiers?.executor }

    /// Combines rules.
    ///
    /// Two rules for the same pair are a programming error. The initializer stops the program with a message that names
    /// them.
    ///
    /// - Parameter froms: The rules.
    /// - Parameter file: The file of the rules, for the message.
    /// - Parameter line: The line in this file.
    public init(
        file: StaticString = #file, line: UInt = #line, @TransitionsBuilder _ froms: () -> [From]
    ) {
        table = Table(froms())
        if let message = conflict() { preconditionFailure(message, file: file, line: line) }
    }

    /// Returns an error in the rules, if any: two rules for a pair, or two types with one identity.
    func conflict() -> String? {
        let froms = table.froms
        var groups: [(id: ObjectIdentifier, summary: TransitionSummary)] = []
        var places: [ObjectIdentifier: Int] = [:]
        for from in froms {
            let summary = from.types.content.summary
            if let place = places[from.id] {
                groups[place].summary = .both(groups[place].summary, summary)
            } else {
                places[from.id] = groups.count
                groups.append((from.id, summary))
            }
        }
        var owners: [String: ObjectIdentifier] = [:]
        for (id, summary) in groups {
            guard let place = froms.firstIndex(where: { $0.id == id }) else { continue }
            let own = froms[place].types.state
            if let rule = summary.rules.first(where: { $0.isUpdate && $0.to != own }) {
                return
                    "the update on \(rule.event.identity) from \(own.identity) makes a \(rule.to.identity): an update stays "
                    + "in its state, so write On(…, transitionTo: …)"
            }
            if let event = summary.duplicates.first {
                return "two transitions from \(own.identity) on \(event.identity): remove one of them"
            }
            guard groups.count > 1 else { break }
            let identity = own.identity
            if owners.updateValue(id, forKey: identity) != nil {
                return "two types of state have the identity \(identity): give one of them another"
            }
        }
        return nil
    }

    /// Returns the new state, or `nil` if no rule handles the event.
    public func next(from state: any State, on event: any Event) -> (any State)? {
        step(from: state, on: event)?.state
    }

    /// Returns the new state with whether it is an update, or `nil` if no rule handles the event.
    @inline(__always)
    func step(from state: any State, on event: any Event) -> (state: any State, isUpdate: Bool)? {
        guard let new = find(from: state, on: event) else { return nil }
        if let updated = exact(new, UpdatedState.self) {
            // A rule for a class may make an object of another one.
            return (updated.base, type(of: updated.base) == type(of: state))
        }
        return (new, false)
    }

    private func find(from state: any State, on event: any Event) -> (any State)? {
        if let modifiers, let isDisabled = modifiers.isDisabled, isDisabled() { return nil }
        let type = ObjectIdentifier(Swift.type(of: event))
        let id = ObjectIdentifier(Swift.type(of: state))
        if let new = table.next(id, from: state, on: event, type: type, wildcard: false) { return new }
        if let new = table.next(id, from: state, on: event, type: type, wildcard: true) { return new }
        if !table.classes.isEmpty, Swift.type(of: state) is AnyClass {
            for known in table.classes where known.id != id && known.types.matches(state) {
                if let new = table.next(known.id, from: state, on: event, type: type, wildcard: false) { return new }
                if let new = table.next(known.id, from: state, on: event, type: type, wildcard: true) { return new }
            }
        }
        guard table.hasWildcard else { return nil }
        let any = ObjectIdentifier(AnyState.self)
        return table.next(any, from: state, on: event, type: type, wildcard: false)
            ?? table.next(any, from: state, on: event, type: type, wildcard: true)
    }

    /// A function that returns the new state, or the old one if no rule handles the event.
    public var reducer: @Sendable (any State, any Event) -> any State {
        { next(from: $0, on: $1) ?? $0 }
    }

    /// Handles no event while `disabled` returns `true`.
    public func disable(_ disabled: @escaping @Sendable () -> Bool) -> Transitions {
        var copy = self
        let before = modifiers?.isDisabled
        copy.modifiers = Modifiers(isDisabled: { before?() == true || disabled() }, executor: executor)
        return copy
    }

    /// Sets the executor for the transitions, on which the system's loop then runs. The innermost setting wins; of two
    /// calls on one object, the first wins.
    public func execute(on executor: some LoopExecutor) -> Transitions {
        var copy = self
        copy.modifiers = Modifiers(isDisabled: modifiers?.isDisabled, executor: self.executor ?? executor)
        return copy
    }

    /// The rules in the order in which they were written, for a diagram.
    public var descriptions: [TransitionDescription] {
        table.froms.flatMap { from in
            from.types.content.summary.rules.map {
                TransitionDescription(
                    from: from.types.state.identity, event: $0.event.identity, to: $0.to.identity, isUpdate: $0.isUpdate
                )
            }
        }
    }
}

/// Combines ``From`` values.
@resultBuilder
public enum TransitionsBuilder {
    /// Accepts one ``From``.
    public static func buildExpression(_ from: From) -> [From] { [from] }
    /// Accepts several, for example from a property.
    public static func buildExpression(_ froms: [From]) -> [From] { froms }
    /// Joins them in order.
    public static func buildBlock(_ froms: [From]...) -> [From] { froms.flatMap(\.self) }
    /// Supports `if` without `else`.
    public static func buildOptional(_ froms: [From]?) -> [From] { froms ?? [] }
    /// Supports `if` with `else` and `switch`.
    public static func buildEither(first: [From]) -> [From] { first }
    /// Supports `if` with `else` and `switch`.
    public static func buildEither(second: [From]) -> [From] { second }
    /// Supports `for`.
    public static func buildArray(_ froms: [[From]]) -> [From] { froms.flatMap(\.self) }
}
