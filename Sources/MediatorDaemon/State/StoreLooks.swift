package import Durability
import MediatorConfiguration
import MediatorHost
import Synchronization

/// The store of a daemon at one moment.
package struct StorePresence: Sendable {
    package enum Phase: Sendable, Equatable { case unneeded, inMemory, open, failed, closed }

    package var phase: Phase
    /// The directory; empty before the store is opened.
    package var directory: String
    /// The head that the life before left, and the number of this life.
    package var contents: StoreContents?
    package var metrics: StoreMetrics
    package var ledger: StoreLedger
    /// The reason why the store cannot be used, with the remedy.
    package var problem: String?
    /// The number of parts whose newest state was refused.
    package var refused: Int
    /// The parts whose newest state the store lacks, with the reason and the remedy as a clause.
    package var unstored: [PartKey: String]
}

// Looks into the store that change nothing for the host.
extension StoreKeeper {
    /// The store as it is now. It does not wait for the disk.
    package var presence: StorePresence {
        let (presence, store, troubles) = state.withLock {
            state -> (StorePresence, (any PartStore)?, [PartKey: StoreTrouble]) in
            var presence = StorePresence(
                phase: .unneeded, directory: state.directory, metrics: StoreMetrics(), ledger: state.ledger, refused: 0,
                unstored: state.unencoded)
            let troubles = state.outbox.troubles
            presence.refused = troubles.count
            switch state.phase {
            case .unopened: break
            case .inMemory(let reason):
                presence.phase = .inMemory
                presence.problem = reason
            case .open(let store, let contents):
                presence.phase = .open
                presence.contents = contents
                return (presence, store, troubles)
            case .failed: presence.phase = .failed
            case .closed: presence.phase = .closed
            }
            return (presence, nil, troubles)
        }
        var result = presence
        for (key, trouble) in troubles {
            let flaw = trouble.explained(in: presence.directory)
            result.unstored[key] = "\(flaw.reason); \(flaw.remedy)"
        }
        if let store { result.metrics = store.metrics }
        return result
    }

    /// Reads the store, between two commits.
    ///
    /// - Throws: The trouble, which is ``/Durability/StoreTrouble/closed`` without an open store and if the task is cancelled.
    package func read(_ reading: StoreReading) async throws(StoreTrouble) -> StorePage {
        guard let (store, _) = open else { throw .closed }
        let answers = AsyncStream<Result<StorePage, StoreTrouble>>.makeStream(bufferingPolicy: .bufferingOldest(1))
        store.read(reading) { answers.continuation.yield($0) }
        for await answer in answers.stream { return try answer.get() }
        throw .closed
    }

    /// Removes the stored state of a part that writes no states.
    ///
    /// - Returns: `false` if the store has no state of it.
    /// - Throws: The trouble. It is ``/Durability/StoreTrouble/superseded`` if the part has written a later state. It is
    ///   ``/Durability/StoreTrouble/closed`` as for ``read(_:)``.
    package func forget(_ key: PartKey) async throws(StoreTrouble) -> Bool {
        let page = try await read(.part(key))
        guard page.rows > 0 else { return false }
        guard let (store, contents) = open else { throw .closed }
        // A later incarnation of the part has a higher epoch, so its state stays. The epoch of a damaged row is unknown.
        let epoch = page.parts.first?.epoch ?? contents.epoch(incarnation: 0)
        let outcomes = AsyncStream<StoreOutcome>.makeStream(bufferingPolicy: .bufferingOldest(1))
        store.put(PartChange(key: key, epoch: epoch, encode: { nil })) { [self] outcome in
            if outcome == .synced {
                state.withLock { state in
                    state.ledger.hasForgotten(key)
                    state.outbox.forget(key)
                }
                announce()
            }
            outcomes.continuation.yield(outcome)
        }
        for await outcome in outcomes.stream {
            switch outcome {
            case .synced: return true
            case .refused(let trouble): throw trouble
            }
        }
        throw .closed
    }

    /// Notes the outcome of an entry. Returns the consequences, and the directory of the store.
    func settled(
        _ entry: StoreOutbox.Entry, _ outcome: StoreOutcome
    ) -> (consequences: StoreOutbox.Consequences, directory: String) {
        let time = Daemon.now()
        return state.withLock { state in
            if outcome == .synced, case .part(let key) = entry.content.subject {
                state.ledger.hasStored(key, at: time)
            }
            return (state.outbox.settle(entry, outcome), state.directory)
        }
    }

    private var open: (store: any PartStore, contents: StoreContents)? {
        state.withLock { state in
            if case .open(let store, let contents) = state.phase { (store, contents) } else { nil }
        }
    }
}
