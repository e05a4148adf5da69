import Durability
import Logging
package import MediatorConfiguration
package import MediatorHost
import Synchronization

// The log lines about the store, and the reasons why states are not stored.
extension StoreKeeper {
    /// Logs the damage of the store.
    func report(_ contents: StoreContents, in directory: String) {
        let copy = DamagedFiles.copy(of: contents, in: directory)
        for flaw in contents.flaws.prefix(Self.mostLines) {
            let (level, text, remedy) = flaw.explained(in: directory, copy: copy)
            logger.log(level: level, "\(text); \(remedy)", metadata: .about(.storeDamaged, ["store": "\(directory)"]))
        }
        let more = contents.flaws.count - Self.mostLines
        if more > 0 {
            logger.error("the store has further damage", metadata: .about(.storeDamaged, ["count": "\(more)"]))
        }
        guard contents.head.life > 0 else {
            logger.info("opened a new store", metadata: ["store": "\(directory)"])
            return
        }
        logger.info(
            "opened the store",
            metadata: [
                "store": "\(directory)", "states": "\(contents.parts.count)", "life": "\(contents.life)",
                "ended": contents.head.isClean ? "in order" : "by a crash or a power cut",
            ])
    }

    /// Notes and logs that persisted parts run in memory until the daemon ends.
    package func runInMemory(because problem: Problem) {
        let reason = "\(problem.flaw.reason); \(problem.flaw.remedy), then restart mediatord"
        state.withLock { $0.phase = .inMemory(reason) }
        logger.error(
            "states are not stored, and what persists runs in memory: \(reason)", metadata: .about(.storeNotUsed))
        announce()
    }

    /// The reasons, with the remedies, why the newest states of systems are not stored.
    package func troubles(of graph: Graph) -> [String: String] {
        let (phase, refused, unencoded, directory) = state.withLock {
            ($0.phase, $0.outbox.troubles, $0.unencoded, $0.directory)
        }
        if case .inMemory(let reason) = phase {
            let systems = graph.persisted.lazy.filter { $0.kind == PartKey.system }
            return Dictionary(systems.map { ($0.name, reason) }) { $1 }
        }
        var troubles: [String: String] = [:]
        for (key, reason) in unencoded where key.kind == PartKey.system { troubles[key.name] = reason }
        for (key, trouble) in refused where key.kind == PartKey.system {
            let flaw = trouble.explained(in: directory)
            troubles[key.name] = "\(flaw.reason); \(flaw.remedy)"
        }
        return troubles
    }

    /// Tells a host which of its systems go on in memory. Of two calls at once the later one may lose, so ``announce()`` follows
    /// a call outside the service of ``news``.
    package func tellTroubles(to host: Host) { host.note(storeTroubles: troubles(of: host.graph)) }

    /// Reports the troubles to the host again, for example after a change of its systems.
    func announce() { newsSender.yield() }

    /// Returns the state of a host that has ended, with the epochs of this life.
    ///
    /// The state of a system is at least as new as each one that this life has stored. A store that was not used wins over it
    /// later. The time of a bus value decides which one counts: the store can have values that the bus has not shown.
    package func marked(_ state: HostState) -> HostState {
        var state = state
        let phase = self.state.withLock { $0.phase }
        switch phase {
        case .inMemory:
            for name in state.systems.keys { state.systemDetails[name]?.epoch = 0 }
            for name in state.buses.keys { state.busDetails[name]?.epoch = 0 }
        case .open(_, let contents):
            let epoch = contents.epoch(incarnation: .max)
            for name in state.systems.keys { state.systemDetails[name]?.epoch = epoch }
        case .unopened, .failed, .closed: break
        }
        return state
    }

    /// Logs the number of parts that go on from the store, and each part that starts without its stored state.
    package func report(_ states: StoredStates, _ continuation: Continuation) {
        let misfits = continuation.refusals.filter(states.has)
        var unused = states.refusals
        for misfit in misfits {
            var lost: (any SavedContent)? = states.state.systems[misfit.name]
            if misfit.part == "bus" { lost = states.state.buses[misfit.name] }
            unused.append(StoredStates.Refusal(misfit.part, misfit.name, misfit.reason, lost: lost))
        }
        report(unused: unused)
        for conversion in continuation.conversions.prefix(Self.mostLines) {
            logger.notice(
                "goes on from a state of an earlier configuration",
                metadata: ["system": "\(conversion.name)", "changes": "\(conversion.changes)"])
        }
        state.withLock { $0.ledger.restored = states.keys(without: misfits) }
        let (systems, buses) = states.restored(continuation)
        guard systems + buses + states.unused > 0 else { return }
        logger.notice(
            "restored the stored states",
            metadata: ["systems": "\(systems)", "buses": "\(buses)", "unused": "\(states.unused)"])
    }

    /// Logs each part that a reload has started without the state or value that the store had of it.
    ///
    /// - Parameter old: The configuration before the reload.
    package func report(_ plan: Plan, replacing old: HostSnapshot) {
        let persisted = old.graph.persisted
        let systems = plan.systems.lazy.filter {
            $0.action == .restart && persisted.contains(PartKey(kind: PartKey.system, name: $0.name))
        }
        let buses = plan.buses.lazy.filter {
            $0.value == .initial && persisted.contains(PartKey(kind: PartKey.bus, name: $0.name))
        }
        let renamed = plan.renames.lazy.filter {
            $0.misfit != nil && persisted.contains(PartKey(kind: PartKey.system, name: $0.was))
        }
        report(
            unused: buses.map {
                .init("bus", $0.name, $0.reason ?? "it was replaced", lost: old.savedBus($0.name))
            }
                + systems.map {
                    .init("system", $0.name, $0.reason ?? "it was replaced", lost: old.savedSystem($0.name))
                }
                + renamed.map { .init("system", $0.name, $0.misfit ?? "", lost: old.savedSystem($0.was)) })
    }

    private func report(unused: [StoredStates.Refusal]) {
        for part in unused.prefix(Self.mostLines) {
            var metadata: Logger.Metadata = ["\(part.part)": "\(part.name)", "reason": "\(part.reason)"]
            if let lost = part.lost { metadata["lost"] = "\(lost)" }
            logger.warning("starts without its stored state", metadata: metadata)
        }
        if unused.count > Self.mostLines {
            logger.warning(
                "further systems and buses start without their stored states",
                metadata: ["count": "\(unused.count - Self.mostLines)"])
        }
    }
}

// The text of a part.
extension StoreKeeper {
    /// Returns the text of a part. If the store cannot hold its state, the text is empty, so that the next start does not use
    /// an older state.
    func encode(_ change: HostChange, _ epoch: UInt64) -> [UInt8]? {
        let content = change.content()
        state.withLock { $0.ledger.willStore(change.key, isRemoved: content == nil) }
        guard let content else {
            note(nil, change)
            return nil
        }
        do throws(PartCoder.Flaw) {
            let bytes: [UInt8]
            switch content {
            case .system(let system, var details):
                details.epoch = epoch
                bytes = try PartCoder.encode(SavedPart(system, details))
            case .bus(let bus, var details):
                details.epoch = epoch
                bytes = try PartCoder.encode(SavedPart(bus, details))
            }
            note(nil, change)
            return bytes
        } catch {
            note("\(error); keep less data in it", change)
            return []
        }
    }

    /// Notes why the state of a part cannot be encoded; `nil` if it can.
    private func note(_ reason: String?, _ change: HostChange) {
        let before = state.withLock { state in
            defer { state.unencoded[change.key] = reason }
            return state.unencoded[change.key]
        }
        guard before != reason else { return }
        announce()
        guard before == nil, let reason else { return }
        logger.error(
            "its state is not stored, so the next start would be without it: \(reason)",
            metadata: .about(.statesNotStored, ["\(change.part)": "\(change.name)"]))
    }
}
