import CommonExpression
import FeedbackKit
import Logging
import MediatorConfiguration

/// Builds what a host runs; nothing that it builds has been joined or started.
struct SetBuilder: Sendable {
    let effects: EffectCatalogue
    let kinds: SystemCatalogue
    let room: HostRoom
    let time: HostTime
    let logger: Logger
    let healthChanged: AsyncStream<Void>.Continuation
    /// What is to be done about a fault of a system.
    let supervise: HostedSystem.Supervise

    /// What runs already, and what becomes of it.
    struct Predecessor {
        let set: HostedSet
        /// What has the same names in it and in what is built.
        let matching: Matching
        let plan: Plan

        /// What is kept of it, by index in the new graph.
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
            kept(set.systems, matching.systems, count) { plan.systems[$0].action == .keep }
        }

        func keptLinks(_ count: Int) -> [HostedLink?] {
            kept(set.links, matching.links, count) { plan.links[$0].action == .keep }
        }
    }

    /// Builds a set.
    ///
    /// - Parameters:
    ///   - graph: what it is to run. What is kept has the definitions with which it runs.
    ///   - before: what runs already.
    ///   - values: what buses begin with instead of their first values, by their names.
    /// - Throws: when the data of an initial state cannot be computed, or a kind does not make a system.
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
                definition, beginningWith: values[definition.name], after: present, in: room, time: time,
                logger: logger.with(["bus": "\(definition.name)"]))
        }
        let kept = before?.keptLinks(graph.links.count)
        let (missing, made) = Self.made(graph.links, kept) { definition in
            let present = old?.link(definition.name)
            let isSame = present.map { $0.definition.fingerprint == definition.fingerprint } ?? false
            return HostedLink(
                definition, systems: systems, buses: buses, continuing: isSame ? present : nil, at: present?.place,
                in: room, time: time,
                logger: logger.with(["link": "\(definition.name)"]))
        }
        return HostedSet(
            graph: graph, systems: systems, buses: buses, links: Self.completed(kept, made, at: missing),
            after: before.map { ($0.set, $0.matching) })
    }

    private func systems(_ graph: Graph, after before: Predecessor?) throws(InitialStateError) -> [HostedSystem] {
        // What makes systems written in Swift is called by one thread.
        let isOneByOne = graph.systems.contains { $0.kind != nil }
        let kept = before?.keptSystems(graph.systems.count)
        let (missing, made) = Self.made(graph.systems, kept, isOneByOne: isOneByOne) { definition in
            Result { () throws(InitialStateError) in
                try system(
                    definition, because: before == nil ? .start : .reload,
                    after: before?.set.system(definition.name))
            }
        }
        var systems: [HostedSystem] = []
        try Self.gathering { fail in
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

    /// Makes those of some elements that are not there already, each part of them on a thread of its own.
    ///
    /// - Returns: The indices of what was made, and that.
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

    /// What is there already, and what was made for the places where nothing is.
    private static func completed<Part>(_ present: [Part?]?, _ made: [Part], at indices: [Int]) -> [Part] {
        guard var all = present else { return made }
        for (index, part) in zip(indices, made) { all[index] = part }
        return all.compactMap(\.self)
    }

    /// Makes what is inside the systems that are not kept, and lets go of it.
    ///
    /// - Throws: what ``build(_:after:)`` would throw.
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

    /// Does something, and throws all that failed as one.
    private static func gathering(_ body: ((InitialStateError) -> Void) -> Void) throws(InitialStateError) {
        var errors: [InitialStateError] = []
        body { errors.append($0) }
        guard var first = errors.first else { return }
        first.others = Array(errors.dropFirst())
        throw first
    }

    private func behaviour(_ definition: SystemDefinition) throws -> SystemBehaviour {
        guard let instance = definition.kind else { return try .configured(definition, now: time.now()) }
        // The graph was checked against the kinds that there are.
        guard let implementation = kinds[instance.kind] else { throw KindError("this daemon does not know the kind") }
        return try implementation.makeBehaviour(of: instance)
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
        let own = logger.with(["system": "\(definition.name)"])
        return try HostedSystem(
            definition, make: { () throws(InitialStateError) in try begin(definition) }, because: kind,
            effects: effects, after: old,
            in: room, time: time, logger: own, healthChanged: { [healthChanged] in healthChanged.yield() },
            supervise: supervise)
    }
}
