public import Synchronization

/// A ticket whose action type is erased.
@usableFromInline
protocol AnyDispatchTicket: AnyObject, Sendable {
    /// Returns when the dispatch is over.
    func outcome() async -> DispatchOutcome
    /// Cancels it.
    func cancel()
}

/// The count of the open parts of one dispatch: actions in the mailbox and running thunks.
///
/// Each of them holds a ``DispatchPart``, which ends exactly once, at the latest when it is released. So a dispatch
/// also ends if its actions are withdrawn or discarded, or if its thunks never start because the store is stopping.
@usableFromInline
package final class DispatchTicket<SyncAction: Sendable>: AnyDispatchTicket {
    /// The storage that the lock guards. Many tasks may wait for the outcome, and a cancelled one does not leave.
    @usableFromInline
    struct State {
        @usableFromInline var parts = 0
        @usableFromInline var asyncParts = 0
        @usableFromInline var running: Set<ThunkRun> = []
        @usableFromInline var collected: [SyncAction] = []
        @usableFromInline var hasLost = false
        @usableFromInline var verdict: DispatchOutcome?
        @usableFromInline var isOver = false
        @usableFromInline var waiters: [CheckedContinuation<DispatchOutcome, Never>] = []

        @inlinable
        init() {}

        @usableFromInline var outcome: DispatchOutcome { verdict ?? (hasLost ? .incomplete : .finished) }
    }

    /// A Boolean value that indicates whether sync actions are held back until all other work has ended.
    @usableFromInline let collects: Bool
    @usableFromInline let limits: StoreLimits
    @usableFromInline let isCancelledFlag = Atomic<Bool>(false)
    @usableFromInline let state = Mutex(State())
    @usableFromInline let cancelRun: @Sendable (ThunkRun) -> Void
    @usableFromInline let deliver: @Sendable ([SyncAction], DispatchPart<SyncAction>) -> Void
    @usableFromInline let report: @Sendable (StoreFault) -> Void

    /// Creates a ticket without parts.
    ///
    /// - Parameters:
    ///   - cancelRun: Cancels a running thunk.
    ///   - deliver: Puts the collected batch into the mailbox.
    ///   - report: Receives the fault that ended the dispatch.
    @inlinable
    init(
        collects: Bool, limits: StoreLimits,
        cancelRun: @escaping @Sendable (ThunkRun) -> Void,
        deliver: @escaping @Sendable ([SyncAction], DispatchPart<SyncAction>) -> Void,
        report: @escaping @Sendable (StoreFault) -> Void
    ) {
        self.collects = collects
        self.limits = limits
        self.cancelRun = cancelRun
        self.deliver = deliver
        self.report = report
    }

    /// A Boolean value that indicates whether the remaining actions of the dispatch must be dropped.
    @inlinable var isCancelled: Bool { isCancelledFlag.load(ordering: .acquiring) }

    /// Opens a part for one more action. Returns `nil` if the dispatch is over, cancelled or too large.
    @inlinable
    func open(isAsync: Bool) -> DispatchPart<SyncAction>? {
        let isOpen: Bool? = state.withLock { state in
            guard !state.isOver, state.verdict == nil else { return false }
            if isAsync, state.asyncParts >= limits.outstanding { return nil }
            state.parts += 1
            if isAsync { state.asyncParts += 1 }
            return true
        }
        switch isOpen {
        case true?: return DispatchPart(of: self, isAsync: isAsync)
        case false?: return nil
        case nil:
            fail(.tooManyOutstanding(limit: limits.outstanding))
            return nil
        }
    }

    /// Holds sync actions back for the collected batch.
    @inlinable
    func collect(_ actions: [SyncAction]) {
        let fits = state.withLock { state in
            guard state.verdict == nil else { return true }
            guard state.collected.count + actions.count <= limits.collected else { return false }
            state.collected += actions
            return true
        }
        if !fits { fail(.tooManyCollected(limit: limits.collected)) }
    }

    /// Registers a thunk before it runs. Returns `false` if the thunk must not run.
    @inlinable
    func begin(_ run: ThunkRun) -> Bool {
        state.withLock { state in
            guard state.verdict == nil else { return false }
            state.running.insert(run)
            return true
        }
    }

    /// Removes a thunk that has ended.
    @inlinable
    func end(_ run: ThunkRun) {
        state.withLock { _ = $0.running.remove(run) }
    }

    /// Cancels the dispatch.
    @usableFromInline
    package func cancel() { _ = end(with: .cancelled) }

    /// Ends the dispatch because it exceeded a limit.
    @inlinable
    func fail(_ fault: StoreFault) {
        if end(with: .failed(fault)) { report(fault) }
    }

    /// Records the verdict, unless there is one already. Returns `true` if this call recorded it.
    @inlinable
    @discardableResult
    func end(with verdict: DispatchOutcome) -> Bool {
        // Returns the collected actions from the closure, so that they are not released under the lock.
        let ended: (running: Set<ThunkRun>, discarded: [SyncAction])? = state.withLock { state in
            guard !state.isOver, state.verdict == nil else { return nil }
            state.verdict = verdict
            defer { state.collected = [] }
            return (state.running, state.collected)
        }
        guard let ended else { return false }
        isCancelledFlag.store(true, ordering: .releasing)
        for run in ended.running { cancelRun(run) }
        return true
    }

    /// The action that follows the end of a part.
    @usableFromInline
    enum Next {
        case nothing
        case deliver([SyncAction])
        case finish([CheckedContinuation<DispatchOutcome, Never>], DispatchOutcome)
    }

    /// Ends a part. The last part delivers the collected batch or ends the dispatch.
    @inlinable
    func partDidEnd(isAsync: Bool, isLost: Bool) {
        let next: Next = state.withLock { state in
            state.parts -= 1
            if isAsync { state.asyncParts -= 1 }
            if isLost { state.hasLost = true }
            guard state.parts == 0 else { return .nothing }
            if !state.collected.isEmpty {
                state.parts = 1
                defer { state.collected = [] }
                return .deliver(state.collected)
            }
            state.isOver = true
            defer { state.waiters = [] }
            return .finish(state.waiters, state.outcome)
        }
        switch next {
        case .nothing: break
        case .deliver(let batch): deliver(batch, DispatchPart(of: self, isAsync: false))
        case .finish(let waiters, let outcome): for waiter in waiters { waiter.resume(returning: outcome) }
        }
    }

    /// Returns when the dispatch is over.
    @usableFromInline
    package func outcome() async -> DispatchOutcome {
        await withCheckedContinuation { continuation in
            let outcome: DispatchOutcome? = state.withLock { state in
                if state.isOver { return state.outcome }
                state.waiters.append(continuation)
                return nil
            }
            if let outcome { continuation.resume(returning: outcome) }
        }
    }
}

/// An open action or thunk of a dispatch. It ends once: by ``finish()``, or, as lost, when it is released.
@usableFromInline
package final class DispatchPart<SyncAction: Sendable>: Sendable {
    @usableFromInline let ticket: DispatchTicket<SyncAction>
    @usableFromInline let isAsync: Bool
    @usableFromInline let isOver = Atomic<Bool>(false)

    @inlinable
    init(of ticket: DispatchTicket<SyncAction>, isAsync: Bool) {
        self.ticket = ticket
        self.isAsync = isAsync
    }

    /// Ends the part after its action was processed.
    @inlinable
    func finish() { end(isLost: false) }

    /// A Boolean value that indicates whether the part has ended.
    @inlinable var hasEnded: Bool { isOver.load(ordering: .acquiring) }

    @inlinable
    func end(isLost: Bool) {
        guard !isOver.exchange(true, ordering: .acquiringAndReleasing) else { return }
        ticket.partDidEnd(isAsync: isAsync, isLost: isLost)
    }

    @inlinable
    deinit {
        end(isLost: true)
    }
}

/// The identity of a running thunk among the effects of its store's loop.
@usableFromInline
struct ThunkRun: Hashable, Sendable {
    @usableFromInline let number: UInt64

    @inlinable
    init(number: UInt64) {
        self.number = number
    }
}
