import CommonExpression
import FeedbackKit
import Logging
import MediatorConfiguration

/// Builds what a host runs; nothing that it builds has been joined or started.
struct SetBuilder: Sendable {
    let effects: EffectCatalogue
    let kinds: SystemCatalogue
    let time: HostTime
    let logger: Logger
    let healthChanged: AsyncStream<Void>.Continuation
    /// What is to be done about a fault of a system.
    let supervise: HostedSystem.Supervise

    /// Builds a set.
    ///
    /// - Parameters:
    ///   - graph: what it is to run. What is kept has the definitions with which it runs.
    ///   - before: what runs already, and what becomes of it.
    ///   - values: what buses begin with instead of their first values, by their names.
    /// - Throws: when the data of an initial state cannot be computed, or a kind does not make a system.
    func build(
        _ graph: Graph, after before: (set: HostedSet, plan: Plan)? = nil,
        beginningWith values: [String: BusValue] = [:]
    ) throws(InitialStateError) -> HostedSet {
        let old = before?.set
        let fates = Dictionary(uniqueKeysWithValues: before?.plan.systems.map { ($0.name, $0.fate) } ?? [])
        let busFates = Dictionary(uniqueKeysWithValues: before?.plan.buses.map { ($0.name, $0) } ?? [])
        let linkFates = Dictionary(uniqueKeysWithValues: before?.plan.links.map { ($0.name, $0.fate) } ?? [])
        // What makes systems written in Swift is called by one thread.
        let threads = graph.systems.contains { $0.kind != nil } ? 1 : Concurrency.threads(for: graph.systems.count)
        let built = Self.each(graph.systems, threads) { definition -> Result<HostedSystem, InitialStateError> in
            if fates[definition.name] == .keep, let kept = old?.system(definition.name) { return .success(kept) }
            return Result { () throws(InitialStateError) in
                try system(definition, because: before == nil ? .start : .reload)
            }
        }
        var systems: [HostedSystem] = []
        systems.reserveCapacity(built.count)
        try Self.gathering { fail in
            for result in built {
                do throws(InitialStateError) {
                    systems.append(try result.get())
                } catch {
                    fail(error)
                }
            }
        }
        let buses = graph.buses.map { definition in
            let step = busFates[definition.name]
            let present = old?.bus(definition.name)
            if step?.fate == .keep, let present { return present }
            let value = step?.value == .keep ? present?.carried : values[definition.name]
            return HostedBus(
                definition, continuing: value, time: time, logger: logger.with(["bus": "\(definition.name)"]))
        }
        let links = Self.each(graph.links, threads) { [systems] definition in
            let present = old?.link(definition.name)
            if linkFates[definition.name] == .keep, let present { return present }
            let isSame = present.map { $0.definition.fingerprint == definition.fingerprint } ?? false
            return HostedLink(
                definition, systems: systems, buses: buses, continuing: isSame ? present : nil, time: time,
                logger: logger.with(["link": "\(definition.name)"]))
        }
        return HostedSet(
            generation: (old?.generation ?? 0) + 1, graph: graph, systems: systems, buses: buses, links: links)
    }

    /// Makes something of each element, in order, those of each part on a thread of its own.
    private static func each<Element, Result>(
        _ elements: [Element], _ threads: Int, _ body: (Element) -> Result
    ) -> [Result] {
        Concurrency.map(threads) { Concurrency.part($0, of: elements, in: threads).map(body) }.flatMap { $0 }
    }

    /// Makes what is inside the systems that are not kept, and lets go of it.
    ///
    /// - Throws: what ``build(_:after:)`` would throw.
    func check(_ graph: Graph, _ plan: Plan) throws(InitialStateError) {
        let kept = Set(plan.systems.filter { $0.fate == .keep }.map(\.name))
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
        _ definition: SystemDefinition, because kind: Cause.BeginningOrigin.Kind
    ) throws(InitialStateError) -> HostedSystem {
        let own = logger.with(["system": "\(definition.name)"])
        return try HostedSystem(
            definition, make: { () throws(InitialStateError) in try begin(definition) }, because: kind,
            effects: effects,
            time: time, logger: own, healthChanged: { [healthChanged] in healthChanged.yield() }, supervise: supervise)
    }
}
