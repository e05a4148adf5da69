import CommonExpression
import FeedbackKit
import Logging
import MediatorConfiguration

/// A builder of the systems, buses and links of a host. It neither joins nor starts them.
struct SetBuilder: Sendable {
    let effects: EffectCatalogue
    let kinds: SystemCatalogue
    let room: HostRoom
    let time: HostTime
    let logger: Logger
    /// The journal of the host, if it has one.
    let journal: HostJournal?
    let healthChanged: AsyncStream<Void>.Continuation
    /// The function that carries out a supervision decision.
    let supervise: HostedSystem.Supervise

    /// The set that runs, and the plan for its parts.
    struct Predecessor {
        let set: HostedSet
        /// The parts with the same names in the running set and in the new graph.
        let matching: Matching
        let plan: Plan

        /// Returns the kept parts, by index in the new graph.
        private func kept<Part>(
            _ parts: [Part], _ pairs: Matching.Pairs, _ count: Int, _ isKept: (Int) -> Bool
        ) -> [Part?] {
            var kept = [Part?](repeating: nil, count: count)
            for (step, pair) in pairs.all.enumerated() where isKept(step) {
                if let old = pair.old, let new = pair.new { kept[new] = parts[old] }
            }
            return kept
        }

        func keptSystems(_ count: Int) -> [HostedSystem?] {
            kept(set.systems, matching.systems, count) { plan.systems[$0].action.goesOn }
        }

        /// Returns the links that stay. The links of a system that gets another definition are made for that definition.
        func keptLinks(_ count: Int) -> [HostedLink?] {
            let changed = Set(plan.systems.filter { $0.action == .change }.map(\.name))
            return kept(set.links, matching.links, count) { step in
                guard plan.links[step].action == .keep else { return false }
                guard !changed.isEmpty, let old = matching.links.all[step].old else { return true }
                return set.graph.links[old].systems.allSatisfy { !changed.contains(set.graph.systems[$0].name) }
            }
        }
    }

    /// Builds a set.
    ///
    /// - Parameters:
    ///   - graph: The configuration. Its kept systems have the definitions with which they run.
    ///   - before: The set that runs already.
    ///   - values: The first values of buses, by bus name, in place of the configured ones.
    /// - Throws: An error if the data of an initial state cannot be computed, or if a kind does not make a system.
    func build(
        _ graph: Graph, after before: Predecessor? = nil,
        beginningWith values: [String: BusValue] = [:]
    ) throws(InitialStateError) -> HostedSet {
        let old = before?.set
        let systems = try systems(graph, after: before)
        let busSteps = Dictionary(uniqueKeysWithValues: before?.plan.buses.map { ($0.name, $0) } ?? [])
        let buses = graph.buses.map { definition in
            let step = busSteps[definition.name]
            let present = old?.bus(definition.name)
            if step?.action == .keep, let present { return present }
            return HostedBus(
                definition, beginningWith: values[definition.name], after: present, journal: journal, in: room,
                time: time, logger: logger)
        }
        let linkSteps = Set(before?.plan.links.filter { $0.action == .keep }.map(\.name) ?? [])
        let definitions = self.definitions(systems, of: graph, after: before)
        let kept = before?.keptLinks(graph.links.count)
        let (missing, made) = Self.made(graph.links, kept) { definition in
            let present = old?.link(definition.name)
            let isSame = present.map { $0.definition.fingerprint == definition.fingerprint } ?? false
            return HostedLink(
                definition, systems: systems, definitions, buses: buses, continuing: isSame ? present : nil,
                goesOn: linkSteps.contains(definition.name), at: present?.place,
                in: room, time: time, logger: logger)
        }
        return HostedSet(
            graph: graph, systems: systems, buses: buses, links: Self.completed(kept, made, at: missing),
            after: before.map { ($0.set, $0.matching) })
    }

    /// Returns the definitions for which links are made: the running ones, or the new ones of systems that change.
    private func definitions(
        _ systems: [HostedSystem], of graph: Graph, after before: Predecessor?
    ) -> [SystemDefinition] {
        let changed = Set(before?.plan.systems.filter { $0.action == .change }.map(\.name) ?? [])
        return zip(systems, graph.systems).map { changed.contains($1.name) ? $1 : $0.definition }
    }

    /// Returns the new design of a system that continues with another definition.
    func design(_ definition: SystemDefinition, after old: HostedSystem.Design) -> HostedSystem.Design {
        HostedSystem.Design(
            definition, make: { () throws(InitialStateError) in try begin(definition) }, after: old)
    }

    private func systems(_ graph: Graph, after before: Predecessor?) throws(InitialStateError) -> [HostedSystem] {
        // Systems written in Swift are made on one thread.
        let isOneByOne = graph.systems.contains { $0.kind != nil }
        let kept = before?.keptSystems(graph.systems.count)
        let (missing, made) = Self.made(graph.systems, kept, isOneByOne: isOneByOne) { definition in
            Result { () throws(InitialStateError) in
                try system(
                    definition, because: before == nil ? .start : .reload,
                    after: before?.set.system(definition.name))
            }
        }
        let changed = Set(before?.plan.systems.filter { $0.action == .change }.map(\.name) ?? [])
        var systems: [HostedSystem] = []
        try Self.gathering { fail in
            // A system that changes must also be able to begin with its new definition.
            for definition in graph.systems where changed.contains(definition.name) {
                do throws(InitialStateError) {
                    _ = try begin(definition)
                } catch {
                    fail(error)
                }
            }
            for result in made {
                do throws(InitialStateError) {
                    systems.append(try result.get())
                } catch {
                    fail(error)
                }
            }
        }
        return Self.completed(kept, systems, at: missing)
    }

    /// Makes the missing elements. Each thread makes a share of them.
    ///
    /// - Returns: The indices of the missing elements, and the parts made for them.
    private static func made<Element, Part, Made>(
        _ elements: [Element], _ present: [Part?]?, isOneByOne: Bool = false, _ make: (Element) -> Made
    ) -> (indices: [Int], made: [Made]) {
        let missing =
            present.map { present in present.indices.filter { present[$0] == nil } } ?? Array(elements.indices)
        let threads = isOneByOne ? 1 : Concurrency.threads(for: missing.count)
        let made = Concurrency.map(threads) { part in
            Concurrency.part(part, of: missing, in: threads).map { make(elements[$0]) }
        }
        return (missing, made.flatMap { $0 })
    }

    /// Returns the present parts, with the made parts in the empty places.
    private static func completed<Part>(_ present: [Part?]?, _ made: [Part], at indices: [Int]) -> [Part] {
        guard var all = present else { return made }
        for (index, part) in zip(indices, made) { all[index] = part }
        return all.compactMap(\.self)
    }

    /// Makes the behaviours of the systems that are not kept, and discards them.
    ///
    /// - Throws: The error that ``build(_:after:beginningWith:)`` would throw.
    func check(_ graph: Graph, _ plan: Plan) throws(InitialStateError) {
        let kept = Set(plan.systems.filter { $0.action == .keep }.map(\.name))
        try Self.gathering { fail in
            for definition in graph.systems where !kept.contains(definition.name) {
                do throws(InitialStateError) {
                    _ = try begin(definition)
                } catch {
                    fail(error)
                }
            }
        }
    }

    /// Calls a function, and throws all its failures as one error.
    private static func gathering(_ body: ((InitialStateError) -> Void) -> Void) throws(InitialStateError) {
        var errors: [InitialStateError] = []
        body { errors.append($0) }
        guard var first = errors.first else { return }
        first.others = Array(errors.dropFirst())
        throw first
    }

    private func behaviour(_ definition: SystemDefinition) throws -> SystemBehaviour {
        guard let instance = definition.kind else { return try .configured(definition, time) }
        // The graph was checked against the known kinds.
        guard let implementation = kinds[instance.kind] else { throw KindError("this daemon does not know the kind") }
        var behaviour = try implementation.makeBehaviour(of: instance)
        if let executor = time.executor, behaviour.executor is SharedPool { behaviour.executor = executor }
        return behaviour
    }

    private func begin(_ definition: SystemDefinition) throws(InitialStateError) -> SystemBehaviour {
        do {
            return try behaviour(definition)
        } catch {
            let message = (error as? EvaluationError)?.message ?? "\(error)"
            throw InitialStateError(
                system: definition.name, kind: definition.kind?.kind, source: definition.source,
                message: Concealment(definition.kind?.confidential ?? [])(message))
        }
    }

    private func system(
        _ definition: SystemDefinition, because kind: Cause.BeginningOrigin.Kind, after old: HostedSystem?
    ) throws(InitialStateError) -> HostedSystem {
        return try HostedSystem(
            definition, make: { () throws(InitialStateError) in try begin(definition) }, because: kind,
            effects: effects, after: old,
            in: room, time: time, logger: logger, journal: journal,
            healthChanged: { [healthChanged] in healthChanged.yield() },
            supervise: supervise)
    }
}
