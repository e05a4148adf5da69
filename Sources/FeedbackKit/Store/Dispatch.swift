/// The answer of a store to a dispatch.
@frozen
public enum DispatchResult: Sendable, Hashable {
    /// The store queued the actions, or has taken them already.
    case accepted
    /// The store's loop refused the actions: its mailbox is full, or the store has stopped.
    case dropped(DropReason)
    /// The store replays a recording and accepts no actions until the replay ends.
    case locked

    /// Converts the loop's answer.
    @inlinable
    init(_ result: SendResult) {
        switch result {
        case .accepted: self = .accepted
        case .dropped(let reason): self = .dropped(reason)
        }
    }
}

/// The end of a dispatch.
public enum DispatchOutcome: Sendable, Hashable {
    /// The store took every action, including those that its thunks yielded.
    case finished
    /// The dispatch was cancelled, by ``Dispatch/cancel()`` or because a replay began.
    case cancelled
    /// The store dropped some of the actions: the mailbox was full, later actions displaced them, or the store ended
    /// first. A dispatch whose actions are taken while the store is being cancelled may also end this way.
    case incomplete
    /// The store accepted none of the actions.
    case refused(DispatchResult)
    /// The dispatch exceeded a limit.
    case failed(StoreFault)
}

/// A handle to a dispatch. If you discard it, the store still completes the dispatch and keeps nothing of it.
public struct Dispatch: Sendable {
    /// The source of the outcome.
    @usableFromInline
    enum Progress: Sendable {
        /// Nothing was accepted, so there is nothing to wait for.
        case none
        /// The dispatch has no ticket. It ends when the store has taken the mailbox up to this position.
        case queued(any PendingSource, UInt64)
        /// The dispatch has thunks; its ticket counts the actions and thunks that have not ended.
        case ticketed(any AnyDispatchTicket)
    }

    /// The store's answer at the time of the dispatch. For several actions, it is the first answer other than
    /// ``DispatchResult/accepted``, if any.
    public let result: DispatchResult
    @usableFromInline let progress: Progress

    @inlinable
    init(_ result: DispatchResult, _ progress: Progress = .none) {
        self.result = result
        self.progress = progress
    }

    /// The outcome of the dispatch; waits until the dispatch has ended.
    ///
    /// When this returns ``DispatchOutcome/finished``, the store's `state` includes all effects of the dispatch. Do not
    /// await it in a thunk of the same dispatch: it would wait for itself. Cancelling the waiting task does not cancel
    /// the dispatch. The store's loop stays alive during the wait.
    public var value: DispatchOutcome {
        get async {
            switch progress {
            case .none:
                return result == .accepted ? .finished : .refused(result)
            case .queued(let source, let place):
                let outcome = await source.outcome(upTo: place)
                return result == .accepted ? outcome : .incomplete
            case .ticketed(let ticket):
                return await ticket.outcome()
            }
        }
    }

    /// Waits until the dispatch has ended; the result may be ignored, unlike ``value``.
    @discardableResult
    public func ended() async -> DispatchOutcome { await value }

    /// Cancels the dispatch: cancels its running thunks and drops the actions that the store has not taken. A sync
    /// dispatch to a store without middleware cannot be called back, because it causes no further actions.
    public func cancel() {
        if case .ticketed(let ticket) = progress { ticket.cancel() }
    }
}

/// The source of outcomes for actions that have no ticket.
@usableFromInline
protocol PendingSource: AnyObject, Sendable {
    /// Waits until everything sent before is over, then returns the outcome of the actions up to this position.
    func outcome(upTo place: UInt64) async -> DispatchOutcome
}

extension BaseStore: PendingSource {
    @usableFromInline
    func outcome(upTo place: UInt64) async -> DispatchOutcome {
        await loop.pendingTaken()
        switch loop.phase {
        case .notStarted, .running, .stopping:
            // The loop has reached the end that the mailbox had at the time of the call.
            return .finished
        case .cancelling, .stopped:
            return core.hasTaken(upTo: place) ? .finished : .incomplete
        }
    }
}

extension Loop {
    /// Returns when the loop has taken everything sent before, or has ended.
    @usableFromInline
    package func pendingTaken() async {
        await withCheckedContinuation { continuation in
            afterPending { continuation.resume() }
        }
    }
}
