/// What became of actions at the moment they were dispatched.
@frozen
public enum DispatchResult: Sendable, Hashable {
    /// They wait, or have been taken already.
    case accepted
    /// The loop under the store did not take them: its mailbox is full, or the store has stopped.
    case dropped(DropReason)
    /// The store replays a recording, and dispatch is locked until it is done.
    case locked

    /// The loop's answer in the store's words.
    @inlinable
    init(_ result: SendResult) {
        switch result {
        case .accepted: self = .accepted
        case .dropped(let reason): self = .dropped(reason)
        }
    }
}

/// How a dispatch ended.
public enum DispatchOutcome: Sendable, Hashable {
    /// Every action of it has been taken, what its thunks yielded included.
    case finished
    /// It was cancelled: by ``Dispatch/cancel()``, or because a replay began.
    case cancelled
    /// Some of its actions were dropped: the mailbox was full, they made room for later ones, or the store ended first.
    /// Actions that the store takes while it is being cancelled may be told so, too.
    case incomplete
    /// Nothing of it was accepted to begin with.
    case refused(DispatchResult)
    /// It was ended for going beyond a limit.
    case failed(StoreFault)
}

/// A dispatch that is under way. It can be let go of; the store works it off all the same, and keeps nothing of it.
public struct Dispatch: Sendable {
    /// Where to ask how it ended.
    @usableFromInline
    enum Progress: Sendable {
        /// Nothing to wait for.
        case none
        /// It is over when the mailbox has been read up to where it is now; its actions are at this place or before it.
        case queued(any PendingSource, UInt64)
        /// It has thunks, and a ticket that counts what is under way.
        case ticketed(any AnyDispatchTicket)
    }

    /// What became of the actions when they were dispatched. For several at once: the first answer that is not
    /// ``DispatchResult/accepted``, if there is one.
    public let result: DispatchResult
    @usableFromInline let progress: Progress

    @inlinable
    init(_ result: DispatchResult, _ progress: Progress = .none) {
        self.result = result
        self.progress = progress
    }

    /// How it ended; waits until it has.
    ///
    /// When this returns ``DispatchOutcome/finished``, the store's `state` includes what it led to. Do not await it
    /// in a thunk of the same dispatch: it would wait for itself. Cancelling the task that waits does not cancel the
    /// dispatch. It keeps the store's loop alive while it waits.
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

    /// Waits until it has ended: ``value`` for those who need not know how.
    @discardableResult
    public func ended() async -> DispatchOutcome { await value }

    /// Cancels it: the thunks it runs are cancelled, and what of it the store has not taken is dropped. A sync dispatch to
    /// a store without middleware leads to nothing more, and is not called back.
    public func cancel() {
        if case .ticketed(let ticket) = progress { ticket.cancel() }
    }
}

/// Something that knows what became of actions that have no ticket.
@usableFromInline
protocol PendingSource: AnyObject, Sendable {
    /// Returns, when everything sent before is over, how a dispatch ended whose actions are at this place or before it.
    func outcome(upTo place: UInt64) async -> DispatchOutcome
}

extension BaseStore: PendingSource {
    @usableFromInline
    func outcome(upTo place: UInt64) async -> DispatchOutcome {
        await loop.pendingTaken()
        switch loop.phase {
        case .notStarted, .running, .stopping:
            // The turn has come to where the mailbox ended when it was asked.
            return .finished
        case .cancelling, .stopped:
            return turn.hasTaken(upTo: place) ? .finished : .incomplete
        }
    }
}

extension Loop {
    /// Returns when everything sent before has been taken, or the loop has ended.
    @usableFromInline
    func pendingTaken() async {
        await withCheckedContinuation { continuation in
            afterPending { continuation.resume() }
        }
    }
}
