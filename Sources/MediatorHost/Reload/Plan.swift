import CommonExpression
public import MediatorConfiguration

/// The steps that replace the running configuration with another one.
///
/// A plan is a pure value, made from two graphs and the states of the running systems. Two parts of one name are the same if
/// their fingerprints are.
public struct Plan: Sendable, Hashable {
    /// The treatment of a system.
    public enum SystemAction: String, Sendable, Hashable, CaseIterable {
        /// The system continues undisturbed.
        case keep
        /// The system continues in its state, with another definition. The side effects of feedbacks that mean the same
        /// continue.
        case change
        /// The system restarts in its present state.
        case migrate
        /// The system restarts in its initial state.
        case restart
        /// The system is new.
        case add
        /// The system is stopped.
        case remove

        /// A Boolean value that indicates whether the same system continues.
        var goesOn: Bool { self == .keep || self == .change }
    }

    /// The treatment of a bus, a link or a group, or of the access rights or the memory limits.
    public enum Action: String, Sendable, Hashable, CaseIterable {
        /// The part stays the same.
        case keep
        /// The part is replaced.
        case change
        /// The part is new.
        case add
        /// The part is removed.
        case remove
    }

    /// The value of a bus that remembers, after the change.
    public enum ValueAfterChange: String, Sendable, Hashable, CaseIterable {
        /// The present value.
        case keep
        /// The configured first value.
        case initial
    }

    /// The step for one system.
    public struct SystemStep: Sendable, Hashable {
        /// The name of the system.
        public var name: String
        /// The treatment of the system.
        public var action: SystemAction
        /// The reason, if it is not obvious.
        public var reason: String?
        /// The feedbacks whose side effects run or wait now, by their treatment.
        public var feedbacks = FeedbackSteps()
        /// The parts of the definition that differ, if it has changed.
        public var changes: [DefinitionChange] = []

        /// Creates a step.
        public init(
            name: String, action: SystemAction, reason: String? = nil, feedbacks: FeedbackSteps = FeedbackSteps(),
            changes: [DefinitionChange] = []
        ) {
            self.name = name
            self.action = action
            self.reason = reason
            self.feedbacks = feedbacks
            self.changes = changes
        }
    }

    /// The step for one bus.
    public struct BusStep: Sendable, Hashable {
        /// The name of the bus.
        public var name: String
        /// The treatment of the bus.
        public var action: Action
        /// The value after the change; `nil` for a bus that does not remember or is removed.
        public var value: ValueAfterChange?
        /// The reason, if it is not obvious.
        public var reason: String?
        /// The parts of the definition that differ, if it has changed.
        public var changes: [DefinitionChange] = []

        /// Creates a step.
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

    /// The step for one link or group, for the access rights, or for the memory limits.
    public struct LinkStep: Sendable, Hashable {
        /// The name of the link or group, or ``Plan/accessName`` or ``Plan/limitsName``.
        public var name: String
        /// The treatment of the part.
        public var action: Action
        /// The reason, if it is not obvious.
        public var reason: String?
        /// The parts of the definition that differ, if it has changed.
        public var changes: [DefinitionChange] = []

        /// Creates a step.
        public init(name: String, action: Action, reason: String? = nil, changes: [DefinitionChange] = []) {
            self.name = name
            self.action = action
            self.reason = reason
            self.changes = changes
        }
    }

    /// The present situation of a running system.
    public struct Running: Sendable, Hashable {
        /// The index of its state in the old definition, or `nil` if that does not have the state.
        public var state: Int?
        /// The feedbacks whose side effects run.
        public var feedbacks: [String]
        /// The feedbacks that only wait for their time.
        public var waits: [String]
        /// A Boolean value that indicates whether the system has ended with a fault or waits for a restart. It then has no
        /// state to carry over.
        public var hasFailed: Bool
        /// The number of events that wait for the end of a pause; `nil` if the system is not paused. A successor is not paused
        /// and gets none of these events.
        public var waiting: Int?

        /// Creates the situation of a system in a state.
        public init(
            state: Int?, feedbacks: [String] = [], waits: [String] = [], hasFailed: Bool = false, waiting: Int? = nil
        ) {
            self.state = state
            self.feedbacks = feedbacks
            self.waits = waits
            self.hasFailed = hasFailed
            self.waiting = waiting
        }

        /// The text about the loss of a pause and its events, for the end of a reason.
        var lost: String {
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
    /// The step for the access rights; `nil` if neither graph has grants.
    public var access: LinkStep?
    /// The step for the memory limits; `nil` if they stay the same.
    public var limits: LinkStep?
    /// The added systems whose earlier name is that of a removed one.
    package var renames: [Rename] = []

    /// Compares the running configuration with a new one. About linear.
    ///
    /// - Parameters:
    ///   - old: The running configuration.
    ///   - running: A function that returns the situation of a system, or `nil` for a system in its initial state. It is called
    ///     for each old system that is not kept.
    ///   - new: The new configuration.
    public init(from old: Graph, running: (String) -> Running? = { _ in nil }, to new: Graph) {
        self.init(Matching(old, new), from: old, running: running, to: new)
    }

    /// Compares the running configuration with a new one. The steps are in the order of the matching.
    init(_ matching: Matching, from old: Graph, running: (String) -> Running?, to new: Graph) {
        systems = matching.systems.all.map { pair in
            Self.system(pair.name, pair.old.map { old.systems[$0] }, pair.new.map { new.systems[$0] }, running)
        }
        buses = matching.buses.all.map { pair in
            Self.bus(pair.name, pair.old.map { old.buses[$0] }, pair.new.map { new.buses[$0] })
        }
        let kept = Self.flags(matching.systems, new.systems.count, systems.map { $0.action.goesOn })
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
            // A link holds indices, and programs for the types of the parts that it joins.
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
        noteRenames(old, running, new)
    }

    /// Returns the step for the memory limits; `nil` if they stay the same.
    private static func limits(_ old: MemoryLimits, _ new: MemoryLimits) -> LinkStep? {
        guard old != new else { return nil }
        return LinkStep(name: limitsName, action: .change, reason: new.difference(from: old))
    }

    /// The name of the step for the memory limits.
    public static let limitsName = "limits"

    /// The name of the step for the access rights.
    public static let accessName = "access"

    /// A Boolean value that indicates whether everything stays the same.
    public var isEmpty: Bool {
        systems.allSatisfy { $0.action == .keep } && buses.allSatisfy { $0.action == .keep }
            && links.allSatisfy { $0.action == .keep } && groups.allSatisfy { $0.action == .keep }
            && access?.action ?? .keep == .keep && limits == nil
    }

    /// A summary in one line, such as `3 kept, 1 restarted, 2 added; 1 link changed`.
    public var summary: String {
        func count(_ action: SystemAction, _ word: String) -> String? {
            let number = systems.count { $0.action == action }
            return number == 0 && action != .keep ? nil : "\(number) \(word)"
        }
        let words = [
            count(.keep, "kept"), count(.change, "changed"), count(.migrate, "migrated"), count(.restart, "restarted"),
            count(.add, "added"),
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

    /// Returns the flags of the steps, by index in the new graph.
    private static func flags(_ pairs: Matching.Pairs, _ count: Int, _ ofSteps: [Bool]) -> [Bool] {
        var flags = Array(repeating: false, count: count)
        for (pair, flag) in zip(pairs.all, ofSteps) { if let index = pair.new { flags[index] = flag } }
        return flags
    }

    private static func system(
        _ name: String, _ before: SystemDefinition?, _ after: SystemDefinition?, _ running: (String) -> Running?
    ) -> SystemStep {
        guard let before else {
            return SystemStep(name: name, action: .add, feedbacks: FeedbackSteps(beginning: after))
        }
        if let after,
            before === after || (before.fingerprint == after.fingerprint && before.persistence == after.persistence)
        {
            return SystemStep(name: name, action: .keep)
        }
        let running = running(name)
        guard let after else {
            return SystemStep(name: name, action: .remove, feedbacks: FeedbackSteps(ending: before, running))
        }
        let changes = after.changes(from: before)
        let state = running.map { $0.state } ?? before.initialState.state
        let fit: StateFit
        let misfit = { (reason: String) in
            SystemStep(
                name: name, action: .restart, reason: reason,
                feedbacks: FeedbackSteps(ending: before, running, beginning: after), changes: changes)
        }
        guard running?.hasFailed != true else { return misfit("it does not run, on account of a fault") }
        guard let state else { return misfit("it is in a state of another configuration") }
        do throws(StateFit.Misfit) {
            fit = try StateFit(before.states[state].type, in: after)
        } catch {
            return misfit(error.text("is") + (running?.lost ?? ""))
        }
        // A loop is made with or without a gate for its commits, so another persistence takes another loop.
        // So does a state of other fields, because its side effects see its data.
        if before.kind == nil, after.kind == nil, before.persistence == after.persistence, fit.text == nil {
            return SystemStep(
                name: name, action: .change, reason: "it goes on in its state '\(before.states[state].name)'",
                feedbacks: FeedbackSteps(of: before, in: state, changedTo: after, running), changes: changes)
        }
        return SystemStep(
            name: name, action: .migrate,
            reason: "its state '\(before.states[state].name)' is carried over" + (fit.text.map { ": \($0)" } ?? "")
                + (running?.lost ?? ""),
            feedbacks: FeedbackSteps(ending: before, running, beginning: after, in: fit.state), changes: changes)
    }

    private static func bus(_ name: String, _ before: BusDefinition?, _ after: BusDefinition?) -> BusStep {
        guard let after else { return BusStep(name: name, action: .remove) }
        let remembers = after.kind == .currentValue
        guard let before else { return BusStep(name: name, action: .add, value: remembers ? .initial : nil) }
        if before.fingerprint == after.fingerprint, before.isPersisted == after.isPersisted {
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
