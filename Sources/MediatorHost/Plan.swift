import CommonExpression
public import MediatorConfiguration

/// What has to be done to make what runs into what is written.
///
/// A pure value: it is made from two graphs and the states of what runs, and touches nothing. Two things of one name are
/// the same if their fingerprints are.
public struct Plan: Sendable, Hashable {
    /// What becomes of a system.
    public enum SystemAction: String, Sendable, Hashable, CaseIterable {
        /// It goes on, undisturbed.
        case keep
        /// It begins anew, in the state in which it is.
        case migrate
        /// It begins anew, in its initial state.
        case restart
        /// It is new.
        case add
        /// It is stopped.
        case remove
    }

    /// What becomes of a bus or a link.
    public enum Action: String, Sendable, Hashable, CaseIterable {
        /// It stays as it is.
        case keep
        /// Another takes its place.
        case change
        /// It is new.
        case add
        /// It is taken away.
        case remove
    }

    /// What value a bus that remembers has afterwards.
    public enum ValueAfterChange: String, Sendable, Hashable, CaseIterable {
        /// The one it has now.
        case keep
        /// The one that is written as its first.
        case initial
    }

    /// What becomes of one system.
    public struct SystemStep: Sendable, Hashable {
        /// The system's name.
        public var name: String
        /// What becomes of it.
        public var action: SystemAction
        /// Why, where that is not obvious.
        public var reason: String?
        /// The feedbacks whose side effects run now and are to end, sorted.
        public var ending: [String] = []
        /// The parts in which its definition differs, where it is another.
        public var changes: [DefinitionChange] = []

        /// A step.
        public init(
            name: String, action: SystemAction, reason: String? = nil, ending: [String] = [],
            changes: [DefinitionChange] = []
        ) {
            self.name = name
            self.action = action
            self.reason = reason
            self.ending = ending
            self.changes = changes
        }
    }

    /// What becomes of one bus.
    public struct BusStep: Sendable, Hashable {
        /// The bus's name.
        public var name: String
        /// What becomes of it.
        public var action: Action
        /// What becomes of its value; nil for one that does not remember, and for one that is removed.
        public var value: ValueAfterChange?
        /// Why, where that is not obvious.
        public var reason: String?
        /// The parts in which its definition differs, where it is another.
        public var changes: [DefinitionChange] = []

        /// A step.
        public init(
            name: String, action: Action, value: ValueAfterChange? = nil, reason: String? = nil,
            changes: [DefinitionChange] = []
        ) {
            self.name = name
            self.action = action
            self.value = value
            self.reason = reason
            self.changes = changes
        }
    }

    /// What becomes of one link or group.
    public struct LinkStep: Sendable, Hashable {
        /// The link's or group's name.
        public var name: String
        /// What becomes of it.
        public var action: Action
        /// Why, where that is not obvious.
        public var reason: String?
        /// The parts in which its definition differs, where it is another.
        public var changes: [DefinitionChange] = []

        /// A step.
        public init(name: String, action: Action, reason: String? = nil, changes: [DefinitionChange] = []) {
            self.name = name
            self.action = action
            self.reason = reason
            self.changes = changes
        }
    }

    /// What is known of a system that runs.
    public struct Running: Sendable, Hashable {
        /// The index of its state.
        public var state: Int
        /// The feedbacks whose side effects run.
        public var feedbacks: [String]
        /// Whether it has ended on account of a fault, or waits to begin anew: there is no state to be carried over.
        public var hasFailed: Bool
        /// How many events wait until it goes on, if it is paused: what takes its place is not, and has none of them.
        public var waiting: Int?

        /// A system in a state.
        public init(state: Int, feedbacks: [String] = [], hasFailed: Bool = false, waiting: Int? = nil) {
            self.state = state
            self.feedbacks = feedbacks
            self.hasFailed = hasFailed
            self.waiting = waiting
        }

        /// What ends with its pause, for a reason.
        fileprivate var lost: String {
            switch waiting {
            case nil: ""
            case 0: "; it is no longer paused"
            case 1: "; it is no longer paused, and the event that waits is lost"
            case let count?: "; it is no longer paused, and the \(count) events that wait are lost"
            }
        }
    }

    /// Every system of either graph, by name.
    public var systems: [SystemStep]
    /// Every bus of either graph, by name.
    public var buses: [BusStep]
    /// Every link of either graph, by name.
    public var links: [LinkStep]
    /// Every group of either graph, by name.
    public var groups: [LinkStep]
    /// What becomes of who may do what; nil if neither graph says anything of it.
    public var access: LinkStep?
    /// What becomes of how much memory data may take; nil: it stays as it is.
    public var limits: LinkStep?

    /// Compares what runs with what is to run. About linear.
    ///
    /// - Parameters:
    ///   - old: what runs.
    ///   - running: how a system of a name stands; nil: it is in its initial state. Asked for those that are not kept.
    ///   - new: what is to run.
    public init(from old: Graph, running: (String) -> Running? = { _ in nil }, to new: Graph) {
        self.init(Matching(old, new), from: old, running: running, to: new)
    }

    /// Compares what runs with what is to run, in which it is known what has the same names: the steps are in that order.
    init(_ matching: Matching, from old: Graph, running: (String) -> Running?, to new: Graph) {
        systems = matching.systems.all.map { pair in
            Self.system(pair.name, pair.old.map { old.systems[$0] }, pair.new.map { new.systems[$0] }, running)
        }
        buses = matching.buses.all.map { pair in
            Self.bus(pair.name, pair.old.map { old.buses[$0] }, pair.new.map { new.buses[$0] })
        }
        let kept = Self.flags(matching.systems, new.systems.count, systems.map { $0.action == .keep })
        let keptBuses = Self.flags(matching.buses, new.buses.count, buses.map { $0.action == .keep })
        links = matching.links.all.map { pair in
            let name = pair.name
            guard let before = pair.old.map({ old.links[$0] }) else { return LinkStep(name: name, action: .add) }
            guard let after = pair.new.map({ new.links[$0] }) else { return LinkStep(name: name, action: .remove) }
            guard before === after || before.fingerprint == after.fingerprint else {
                return LinkStep(
                    name: name, action: .change, reason: "its definition has changed",
                    changes: after.changes(from: before))
            }
            // It holds indices, and programs made for the types of what it joins.
            if !kept[after.system] { return Self.rejoined(name, "system", new.systems[after.system].name) }
            switch after.form {
            case .systemToBus(let bus, _, _), .busToSystem(let bus, _, _):
                if !keptBuses[bus] { return Self.rejoined(name, "bus", new.buses[bus].name) }
            case .systemToSystem(let target, _, _):
                if !kept[target] { return Self.rejoined(name, "system", new.systems[target].name) }
            }
            return LinkStep(name: name, action: .keep)
        }
        groups = matching.groups.all.map { pair in
            let name = pair.name
            guard let before = pair.old.map({ old.groups[$0] }) else { return LinkStep(name: name, action: .add) }
            guard let after = pair.new.map({ new.groups[$0] }) else { return LinkStep(name: name, action: .remove) }
            let changes = [
                ("strategy", before.strategy == after.strategy),
                (
                    "systems",
                    before.systems.map { old.systems[$0].name } == after.systems.map { new.systems[$0].name }
                ),
            ].filter { !$0.1 }.map {
                DefinitionChange(part: $0.0, kind: .changed, old: before.source, new: after.source)
            }
            return LinkStep(
                name: name, action: changes.isEmpty ? .keep : .change,
                reason: changes.isEmpty ? nil : "its definition has changed", changes: changes)
        }
        limits = Self.limits(old.limits, new.limits)
        let difference = new.access.difference(from: old.access)
        switch (old.access.grants.isEmpty, new.access.grants.isEmpty) {
        case (true, true): access = nil
        case (true, false): access = LinkStep(name: Self.accessName, action: .add, reason: difference)
        case (false, true): access = LinkStep(name: Self.accessName, action: .remove, reason: difference)
        case (false, false):
            let isSame = old.access.means(new.access)
            access = LinkStep(
                name: Self.accessName, action: isSame ? .keep : .change,
                reason: isSame ? nil : difference.isEmpty ? "the same is said otherwise" : difference)
        }
    }

    /// What becomes of how much memory data may take; nil: it stays as it is.
    private static func limits(_ old: MemoryLimits, _ new: MemoryLimits) -> LinkStep? {
        guard old != new else { return nil }
        return LinkStep(name: limitsName, action: .change, reason: new.difference(from: old))
    }

    /// What the step about how much memory data may take is called.
    public static let limitsName = "limits"

    /// What the step about who may do what is called.
    public static let accessName = "access"

    /// Whether everything stays as it is.
    public var isEmpty: Bool {
        systems.allSatisfy { $0.action == .keep } && buses.allSatisfy { $0.action == .keep }
            && links.allSatisfy { $0.action == .keep } && groups.allSatisfy { $0.action == .keep }
            && access?.action ?? .keep == .keep && limits == nil
    }

    /// What becomes of the systems, in a line: `3 kept, 1 restarted, 2 added; 1 link changed`.
    public var summary: String {
        func count(_ action: SystemAction, _ word: String) -> String? {
            let number = systems.count { $0.action == action }
            return number == 0 && action != .keep ? nil : "\(number) \(word)"
        }
        let words = [
            count(.keep, "kept"), count(.migrate, "migrated"), count(.restart, "restarted"), count(.add, "added"),
            count(.remove, "removed"),
        ]
        let changed = [
            (buses.count { $0.action != .keep }, "bus", "buses"), (links.count { $0.action != .keep }, "link", "links"),
            (groups.count { $0.action != .keep }, "group", "groups"),
        ]
        let others = changed.filter { $0.0 > 0 }.map { "\($0.0) \($0.0 == 1 ? $0.1 : $0.2) changed" }
        let rights = access?.action ?? .keep == .keep ? [] : ["access changed"]
        let memory = limits == nil ? [] : ["limits changed"]
        return ([words.compactMap { $0 }.joined(separator: ", ")] + others + rights + memory).joined(separator: "; ")
    }

    // MARK: Parts

    private static func rejoined(_ name: String, _ what: String, _ end: String) -> LinkStep {
        LinkStep(name: name, action: .change, reason: "the \(what) '\(end)' is replaced")
    }

    /// By index in the new graph, what is so of which step.
    private static func flags(_ pairs: Matching.Pairs, _ count: Int, _ ofSteps: [Bool]) -> [Bool] {
        var flags = Array(repeating: false, count: count)
        for (pair, flag) in zip(pairs.all, ofSteps) { if let index = pair.new { flags[index] = flag } }
        return flags
    }

    private static func system(
        _ name: String, _ before: SystemDefinition?, _ after: SystemDefinition?, _ running: (String) -> Running?
    ) -> SystemStep {
        guard let before else { return SystemStep(name: name, action: .add) }
        if let after, before === after || before.fingerprint == after.fingerprint {
            return SystemStep(name: name, action: .keep)
        }
        let running = running(name)
        let ending = running?.feedbacks.sorted() ?? []
        guard let after else { return SystemStep(name: name, action: .remove, ending: ending) }
        let changes = after.changes(from: before)
        if running?.hasFailed == true {
            return SystemStep(
                name: name, action: .restart, reason: "it does not run, on account of a fault", ending: ending,
                changes: changes)
        }
        let state = running?.state ?? before.initialState.state
        if let obstacle = obstacle(to: state, of: before, in: after) {
            return SystemStep(
                name: name, action: .restart, reason: obstacle + (running?.lost ?? ""), ending: ending, changes: changes
            )
        }
        return SystemStep(
            name: name, action: .migrate,
            reason: "its state '\(before.states[state].name)' is carried over" + (running?.lost ?? ""), ending: ending,
            changes: changes)
    }

    private static func obstacle(to state: Int, of old: SystemDefinition, in new: SystemDefinition) -> String? {
        let type = old.states[state].type
        guard let match = new.states.first(where: { $0.name == type.name }) else {
            return "it is in the state '\(old.states[state].name)', which there is no more"
        }
        return match.type == type ? nil : "it is in the state '\(type.name)', whose fields have changed"
    }

    private static func bus(_ name: String, _ before: BusDefinition?, _ after: BusDefinition?) -> BusStep {
        guard let after else { return BusStep(name: name, action: .remove) }
        let remembers = after.kind == .currentValue
        guard let before else { return BusStep(name: name, action: .add, value: remembers ? .initial : nil) }
        if before.fingerprint == after.fingerprint {
            return BusStep(name: name, action: .keep, value: remembers ? .keep : nil)
        }
        let (value, reason): (ValueAfterChange?, String) =
            if !remembers {
                (nil, "its definition has changed")
            } else if before.kind != .currentValue {
                (.initial, "it remembered no value")
            } else if before.valueType != after.valueType {
                (.initial, "its values have another type")
            } else if before.initial != after.initial {
                (.keep, "its first value is another, for later starts")
            } else {
                (.keep, "its definition has changed")
            }
        return BusStep(name: name, action: .change, value: value, reason: reason, changes: after.changes(from: before))
    }
}

extension SystemState {
    /// The same state in another definition of its system; nil if there is none with the same fields.
    ///
    /// It counts as one that was entered by no event, when it was.
    ///
    /// - Parameter time: when that is done.
    func migrated(from old: SystemDefinition, to new: SystemDefinition, at time: Timestamp) -> SystemState? {
        let type = old.states[index].type
        guard let match = new.states.firstIndex(where: { $0.name == type.name && $0.type == type }),
            case .structure(let structure) = data
        else { return nil }
        let value = Value.structure(Structure(type: new.states[match].type, fields: structure.fields))
        return SystemState(
            beginning: new, in: match, value, since: since, serial: serial + 1,
            because: Cause(Cause.BeginningOrigin(.migration), of: record, at: time))
    }
}
