import Synchronization

/// A store in memory, for tests of its users. It commits on the caller's thread, with faults that a test sets.
package final class MemoryStore: PartStore {
    /// A fault of the next commits, until another one is set.
    package enum Fault: Sendable, Hashable {
        case noFault
        /// A commit is refused.
        case refuse(StoreTrouble)
        /// A commit does not return: everything waits until another fault is set.
        case hang
        /// A sync fails, so the store fails for good.
        case failSync
    }

    fileprivate struct State {
        var queue = StoreQueue()
        var fault: Fault
        var parts: [PartKey: StoredPart]
        var removed: [PartKey: UInt64] = [:]
        var contents: StoreContents
        var metrics = StoreMetrics()
        /// Whether a thread commits. Others leave their changes to it, which keeps the order.
        var isCommitting = false
        var isClosed = false
    }

    private let state: Mutex<State>
    private let time: @Sendable () -> StoreTime
    private let failed: @Sendable (StoreTrouble) -> Void

    /// Creates a store.
    ///
    /// - Parameters:
    ///   - contents: The contents to load; `nil` for a new store.
    ///   - fault: The first fault.
    ///   - time: Reads the clocks.
    ///   - failed: Receives the reason when the store fails for good.
    package init(
        contents: StoreContents? = nil, fault: Fault = .noFault,
        time: @escaping @Sendable () -> StoreTime = StoreTime.now,
        failed: @escaping @Sendable (StoreTrouble) -> Void = { _ in }
    ) {
        let new = StoreContents(head: StoreHead(store: Array(repeating: 0, count: 16)), life: 1)
        let contents = contents ?? new
        let parts = Dictionary(contents.parts.map { ($0.key, $0) }) { $1 }
        state = Mutex(State(fault: fault, parts: parts, contents: contents))
        self.time = time
        self.failed = failed
    }

    /// Sets the fault of the next commits. After ``Fault/hang`` everything that waits is committed before this returns.
    package func set(_ fault: Fault) {
        state.withLock { $0.fault = fault }
        commit()
    }

    /// The contents for the next life. The parts of a real store that failed may be newer.
    package var contents: StoreContents {
        state.withLock { state in
            var contents = state.contents
            contents.parts = state.parts.values.sorted { ($0.key.kind, $0.key.name) < ($1.key.kind, $1.key.name) }
            contents.flaws = []
            contents.life = contents.head.life + 1
            return contents
        }
    }

    package func load() throws(StoreTrouble) -> StoreContents {
        let result: Result<StoreContents, StoreTrouble> = state.withLock { state in
            guard state.queue.load() else { return .failure(.closed) }
            state.queue.loaded()
            return .success(state.contents)
        }
        return try result.get()
    }

    package func put(_ change: PartChange, done: @escaping @Sendable (StoreOutcome) -> Void) {
        put(.change(change), done)
    }

    package func mark(_ milestone: StoreMilestone, done: @escaping @Sendable (StoreOutcome) -> Void) {
        put(.milestone(milestone), done)
    }

    /// Answers on the caller's thread.
    package func read(_ reading: StoreReading, done: @escaping @Sendable (Result<StorePage, StoreTrouble>) -> Void) {
        let isOpen = state.withLock { $0.queue.isOpen }
        done(isOpen ? .success(StorePage(of: contents.parts, for: reading)) : .failure(.closed))
    }

    package var metrics: StoreMetrics {
        state.withLock { state in
            var metrics = state.metrics
            metrics.pendingSince = state.queue.pendingSince
            metrics.pending = state.queue.pending
            return metrics
        }
    }

    /// Closes the store. It does not wait: returns `false` while the store hangs.
    package func close(within limit: Duration) -> Bool {
        _ = state.withLock { $0.queue.close() }
        commit()
        return state.withLock { $0.isClosed }
    }

    private func put(_ content: StoreQueue.Entry.Content, _ done: @escaping @Sendable (StoreOutcome) -> Void) {
        let entry = StoreQueue.Entry(content: content, done: done, since: time().boottime)
        if case .refuse(let trouble) = state.withLock({ $0.queue.put(entry) }) { done(.refused(trouble)) }
        commit()
    }

    /// Commits everything that waits, unless the store hangs or another thread commits.
    private func commit() {
        guard state.withLock({ $0.begin() }) else { return }
        while let entries = next() {
            var rest = entries[...]
            repeat {
                let batch = Batch(&rest)
                let now = time()
                switch state.withLock({ $0.commit(batch.entries, at: now) }) {
                case .success(let outcomes): batch.report(outcomes)
                case .failure(.refused(let trouble)): batch.report(batch.entries.map { _ in .refused(trouble) })
                case .failure(.failed(let trouble)):
                    _ = state.withLock { $0.queue.end(failed: true) }
                    return failed(trouble)
                }
                let nextSince = rest.first?.since
                state.withLock { $0.queue.reported(batch.count, nextSince: nextSince) }
            } while !rest.isEmpty
        }
    }

    private func next() -> [StoreQueue.Entry]? {
        let now = time()
        return state.withLock { $0.next(at: now) }
    }
}

extension MemoryStore.State {
    mutating func begin() -> Bool {
        guard !isCommitting, fault != .hang else { return false }
        isCommitting = true
        return true
    }

    /// Returns the next entries; `nil` if none waits.
    mutating func next(at time: StoreTime) -> [StoreQueue.Entry]? {
        if fault != .hang {
            switch queue.next() {
            case .commit(let entries): return entries
            case .wait, .read: break
            case .finish: end(at: time)
            }
        }
        isCommitting = false
        return nil
    }

    mutating func commit(_ entries: [EncodedEntry], at time: StoreTime) -> Result<[StoreOutcome], StoreFailure> {
        switch fault {
        case .noFault, .hang: break
        case .refuse(let trouble):
            metrics.errors += 1
            return .failure(.refused(trouble))
        case .failSync:
            metrics.errors += 1
            return .failure(.failed(.system(call: "fdatasync", number: 5)))
        }
        contents.head.advance(life: contents.life, closes: false, time: time)
        var outcomes: [StoreOutcome] = []
        for entry in entries {
            switch entry {
            case .change(let change): outcomes.append(apply(change))
            case .milestone(let milestone):
                contents.head.note(milestone)
                outcomes.append(.synced)
            }
        }
        contents.head.rows = UInt64(parts.count)
        metrics.commits += 1
        metrics.lastCommit = time.wall
        metrics.durations.add(0)
        return .success(outcomes)
    }

    private mutating func end(at time: StoreTime) {
        contents.head.advance(life: contents.life, closes: true, time: time)
        // Nothing waits, so nothing is released.
        _ = queue.end(failed: false)
        isClosed = true
    }

    private mutating func apply(_ change: EncodedChange) -> StoreOutcome {
        if let epoch = parts[change.key]?.epoch ?? removed[change.key], change.epoch < epoch {
            return .refused(.superseded)
        }
        contents.head.order += 1
        parts[change.key] = change.body.map {
            StoredPart(
                key: change.key, epoch: change.epoch, order: contents.head.order, phase: change.phase, body: $0)
        }
        if change.body == nil { removed[change.key] = change.epoch }
        return .synced
    }
}
