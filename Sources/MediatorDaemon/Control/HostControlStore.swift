import CommonExpression
import Durability
import FeedbackKit
import Logging
import MediatorConfiguration
import MediatorControl
import MediatorHost
import StrictJSON
import Synchronization
import Varlink

// The calls about the store. Only administrators may have the file read, because commits wait for that.
extension HostControl {
    /// The limit on the parts in a description.
    private static let mostParts = 10_000

    func describeStore(peer: VarlinkPeer) async throws -> StoreDescription {
        guard let keeper = reloader.store else { return StoreDescription(mode: .unneeded) }
        await pay((keeper.presence.ledger.rows.count + host.graph.persisted.count) * UserBudgets.part, peer)
        let presence = keeper.presence
        let persisted = host.graph.persisted
        let keys = presence.ledger.keys(with: persisted)
        var store = StoreDescription(presence, keys.prefix(Self.mostParts), persisted: persisted, now: StoreTime.now())
        if keys.count > store.parts.count { store.leftOut = keys.count - store.parts.count }
        return store
    }

    func checkStore(peer: VarlinkPeer) async throws -> CheckStoreReply {
        let keeper = try openStore()
        let page = try await translated(keeper) { () throws(StoreTrouble) in try await keeper.read(.check) }
        return CheckStoreReply(states: page.rows, damage: Self.damage(page.flaws, keeper))
    }

    func exportStore(peer: VarlinkPeer) async throws -> AsyncThrowingStream<ExportStoreReply, any Error> {
        let keeper = try openStore()
        let export = StoreExport()
        return AsyncThrowingStream {
            if let state = export.next() { return state }
            guard let reading = export.reading else { return nil }
            let page = try await translated(keeper) { () throws(StoreTrouble) in try await keeper.read(reading) }
            export.add(page, damage: Self.damage(page.flaws.filter { !$0.isRow }, keeper))
            return export.next()
        }
    }

    func forgetStored(_ parameters: ForgetStoredParameters, peer: VarlinkPeer) async throws {
        guard let key = PartKey(parameters.part, parameters.name) else {
            throw ServiceError.invalidParameter(parameter: "part")
        }
        let keeper = try openStore()
        let (part, name) = (parameters.part.rawValue, parameters.name)
        try checkEnded(key)
        let wasThere: Bool
        do throws(StoreTrouble) {
            wasThere = try await keeper.forget(key)
        } catch .superseded {
            throw ControlError.notAccepted(
                name: name, obstacle: .other,
                reason: "its state has changed just now; look at `mediatorctl store`, then try again")
        } catch {
            throw Self.translated(error, keeper)
        }
        guard wasThere else {
            throw ControlError.notAccepted(
                name: name, obstacle: .other,
                reason: "the store has no state of it; `mediatorctl store` lists those that it has")
        }
        acts.done(
            "store", by: peer, .notice, .storeForgotten, "stored state removed by a client", ["\(part)": "\(name)"])
    }

    /// Throws an error unless a part has ended or does not persist.
    private func checkEnded(_ key: PartKey) throws(ControlError) {
        guard host.graph.persisted.contains(key) else { return }
        if key.kind == PartKey.system, let status = try? host.systemStatus(key.name), status.loop.phase == .stopped,
            status.begins == nil
        {
            return
        }
        let remedy =
            key.kind == PartKey.system
            ? "`mediatorctl reset \(key.name)` puts it into its initial state; to forget it for good, "
            : "`mediatorctl publish` replaces its value; to forget it for good, "
        throw .notAccepted(
            name: key.name, obstacle: .other,
            reason: "it persists and runs; \(remedy)remove its `persist` and reload")
    }

    private func openStore() throws(ControlError) -> StoreKeeper {
        let unneeded = "nothing in the configuration persists; set `persist: state` in a system to open it"
        guard let keeper = reloader.store else { throw Self.noStore(unneeded) }
        let presence = keeper.presence
        switch presence.phase {
        case .open: return keeper
        case .unneeded: throw Self.noStore(unneeded)
        case .inMemory: throw Self.noStore(presence.problem ?? "it cannot be used")
        case .failed, .closed: throw .stopping
        }
    }

    private static func noStore(_ reason: String) -> ControlError {
        .notAccepted(name: "store", obstacle: .other, reason: "it is not open: \(reason)")
    }

    private func translated<Value: Sendable>(
        _ keeper: StoreKeeper, _ body: () async throws(StoreTrouble) -> Value
    ) async throws(ControlError) -> Value {
        do throws(StoreTrouble) { return try await body() } catch { throw Self.translated(error, keeper) }
    }

    private static func translated(_ trouble: StoreTrouble, _ keeper: StoreKeeper) -> ControlError {
        switch trouble {
        case .closed: return .stopping
        case .queueFull:
            return .notAccepted(
                name: "store", obstacle: .full, reason: "too many calls wait for the store; try again later")
        default:
            let flaw = trouble.explained(in: keeper.presence.directory)
            return .notAccepted(name: "store", obstacle: .other, reason: "\(flaw.reason); \(flaw.remedy)")
        }
    }

    private static func damage(_ flaws: [StoreFlaw], _ keeper: StoreKeeper) -> [String] {
        let directory = keeper.presence.directory
        var lines = flaws.prefix(StoreKeeper.mostLines).map { $0.explained(in: directory).text }
        if flaws.count > lines.count { lines.append("and \(flaws.count - lines.count) further") }
        return lines
    }

    /// The place of a system's state in the store; `nil` if it does not persist.
    func persistence(of definition: SystemDefinition) -> PersistenceStatus? {
        guard definition.persistence == .state else { return nil }
        return persistence(of: PartKey(kind: PartKey.system, name: definition.name))
    }

    /// The place of a bus's value in the store; `nil` if it does not persist.
    func persistence(of definition: BusDefinition) -> PersistenceStatus? {
        guard definition.isPersisted else { return nil }
        return persistence(of: PartKey(kind: PartKey.bus, name: definition.name))
    }

    private func persistence(of key: PartKey) -> PersistenceStatus {
        reloader.store?.presence.persistence(of: key)
            ?? PersistenceStatus(stored: false, reason: "this daemon has no store")
    }
}

/// An export on its way: the states that were read and not taken, and the next reading. Only one task uses it at a time.
private final class StoreExport: Sendable {
    private let state = Mutex<(waiting: [ExportStoreReply], reading: StoreReading?)>(([], .parts(after: nil)))

    var reading: StoreReading? { state.withLock { $0.reading } }

    /// Returns the next state that was read.
    func next() -> ExportStoreReply? { state.withLock { $0.waiting.popLast() } }

    /// Adds a page, and damage that belongs to no row.
    func add(_ page: StorePage, damage: [String]) {
        var replies = page.parts.map { ExportStoreReply($0) }
        for case .row(let kind, let name, _) in page.flaws {
            replies.append(
                ExportStoreReply(
                    part: kind == Int64(PartKey.bus) ? .bus : kind == Int64(PartKey.system) ? .system : nil, name: name,
                    damage: "it does not fit its checksum"))
        }
        for line in damage { replies.append(ExportStoreReply(part: nil, name: "", damage: line)) }
        state.withLock { $0 = (replies.reversed(), page.next.map { .parts(after: $0) }) }
    }
}

extension StoreFlaw {
    fileprivate var isRow: Bool { if case .row = self { true } else { false } }
}

extension PartKey {
    /// The key of a system or bus; `nil` for other parts.
    fileprivate init?(_ part: PartKind, _ name: String) {
        switch part {
        case .system: self.init(kind: PartKey.system, name: name)
        case .bus: self.init(kind: PartKey.bus, name: name)
        default: return nil
        }
    }

    fileprivate var part: PartKind { kind == PartKey.bus ? .bus : .system }
}

extension ExportStoreReply {
    /// The limit on the text of a state, in bytes, so that its reply is not too large. The others can still be exported.
    private static let largest = 15 << 20

    fileprivate init(_ part: Durability.StoredPart) {
        let isTooLarge = part.body.count > Self.largest
        let content = isTooLarge ? nil : try? JSONValue(parsing: part.body.span)
        let damage =
            isTooLarge
            ? "its \(part.body.count) bytes are too many for an export; the store has it"
            : content == nil ? "it could not be saved, so the next start begins in the initial state" : nil
        self.init(
            part: part.key.part, name: part.key.name, ended: part.phase != HostChange.running, content: content,
            damage: damage)
    }
}

extension StorePresence {
    /// Returns the place of the state of a part that persists or has a stored state.
    func persistence(of key: PartKey) -> PersistenceStatus {
        PersistenceStatus(
            stored: reason(for: key) == nil, since: ledger.time(of: key).map { "\($0)" },
            restored: ledger.restored.contains(key) ? ledger.earlier.map { "\($0)" } : nil, reason: reason(for: key))
    }

    /// The reason why the store lacks the present state of a part.
    private func reason(for key: PartKey) -> String? {
        if let reason = unstored[key] { return reason }
        switch phase {
        case .unneeded: return "the store is not open"
        case .inMemory: return problem ?? "the store cannot be used"
        case .failed: return "the store has failed"
        case .open, .closed: return ledger.has(key) ? nil : "the store has no state of it yet"
        }
    }
}

extension StoreDescription {
    /// - Parameters:
    ///   - keys: The parts to list.
    ///   - persisted: The parts that persist in the active configuration.
    ///   - now: The present time.
    fileprivate init(
        _ presence: StorePresence, _ keys: ArraySlice<PartKey>, persisted: Set<PartKey>, now: StoreTime
    ) {
        let metrics = presence.metrics
        let mode: StoreMode =
            switch presence.phase {
            case .unneeded: .unneeded
            case .inMemory: .inMemory
            case .open: .open
            case .failed: .failed
            case .closed: .closed
            }
        let waiting = metrics.pendingSince.flatMap { Timestamp(nanoseconds: now.wall - max(0, now.boottime - $0)) }
        func seconds(_ share: Double) -> Double? { metrics.durations.bound(of: share).map { Double($0) / 1e9 } }
        self.init(
            mode: mode, reason: presence.problem,
            directory: presence.directory.isEmpty ? nil : presence.directory, bytes: Int(clamping: metrics.bytes),
            life: presence.contents.map { Int(clamping: $0.life) },
            failedStarts: presence.contents.map { Int(clamping: $0.head.starts) },
            closedInOrder: presence.contents?.head.isClean,
            lastCommit: metrics.lastCommit.flatMap { Timestamp(nanoseconds: $0) }.map { "\($0)" },
            commits: metrics.commits, errors: metrics.errors, pending: metrics.pending,
            pendingSince: waiting.map { "\($0)" }, refused: presence.refused, p50: seconds(0.5), p99: seconds(0.99),
            damage: presence.ledger.damage,
            parts: keys.map { key in
                MediatorControl.StoredPart(
                    part: key.part, name: key.name, configured: persisted.contains(key),
                    persistence: presence.persistence(of: key))
            })
    }
}
