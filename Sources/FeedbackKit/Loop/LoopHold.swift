public import DequeModule
public import Synchronization

// A transition that the loop holds: the reducer has decided it, and the loop applies it later. For example, a state can
// be on the disk before anybody sees it.

extension Loop {
    /// Holds the transition that the reducer has decided, until ``complete(_:on:isUpdate:)``.
    ///
    /// Only the reducer calls this function, for an event that leads to a new state. It keeps the new state and returns
    /// ``Reduction/stay``, so the old state stays visible. Until the completion, the loop takes no events, due waits and
    /// exchanges. They wait in the mailbox, whose limit and overflow policy still apply. New watchers, new feedbacks and
    /// ``afterPending(_:)`` do not wait.
    ///
    /// A gentle stop waits for the completion, then takes what waited for it. If the loop is also paused, the stop drops
    /// the waiting events, as for any paused loop. A cancelled loop does not wait.
    ///
    /// - Precondition: The loop holds no other transition.
    /// - Returns: `false` if the loop has been cancelled. The transition is then lost.
    @inlinable
    @discardableResult
    package func hold() -> Bool {
        core.hold()
    }

    /// Applies the transition that the loop holds: the loop enters the state and shows it on its turn, then takes its next
    /// event. A paused loop applies it at once, and takes the next event when it is resumed.
    ///
    /// Any thread may call this function, and so may the reducer itself after ``hold()``.
    ///
    /// - Precondition: The loop holds a transition, or has been cancelled.
    /// - Parameters:
    ///   - state: The new state.
    ///   - event: The event that led to it.
    ///   - isUpdate: A Boolean value that indicates whether the event only updated the data of the state. See
    ///     ``Reduction/updated``.
    /// - Returns: `false` if the loop has been cancelled. The transition is then lost.
    @inlinable
    @discardableResult
    package func complete(_ state: State, on event: Event, isUpdate: Bool = false) -> Bool {
        core.complete(state, on: event, isUpdate: isUpdate)
    }

    /// A Boolean value that indicates whether the loop holds a transition.
    package var holdsTransition: Bool { core.holdsTransition }
}

extension LoopCore {
    /// A Boolean value that indicates whether the loop holds a transition.
    var holdsTransition: Bool { guarded.withLock { $0.machine.commit != nil } }

    /// Holds a transition.
    @inlinable
    func hold() -> Bool {
        let baggage = Baggage.present
        return guarded.withLock { $0.machine.holdTransition(baggage: baggage) }
    }

    /// Applies the transition that the loop holds.
    @inlinable
    func complete(_ state: State, on event: Event, isUpdate: Bool) -> Bool {
        let completion = Machine.Completion(state: state, event: event, isUpdate: isUpdate)
        guard let needsTurn = withMailbox({ $0.machine.addCompletion(completion) }) else { return false }
        if needsTurn { schedule() }
        return true
    }

    /// Tells the observer of a transition that was held, and shows the state. Answers the next step.
    @inlinable
    func carryOut(_ completed: Machine.Completed, _ observer: Observer?, nests: Bool) -> Machine.Step {
        let (old, new, event) = (completed.old, completed.new, completed.event)
        var step = Machine.Step.notTaken
        Baggage.bind(completed.baggage) {
            if completed.isUpdate {
                observer?.base.loopDidUpdate(from: old, to: new, on: event)
            } else {
                observer?.base.loopDidTransition(from: old, to: new, on: event)
            }
            step = show(new, event, completed.entered, observer, nests: nests)
        }
        return step
    }
}

extension LoopMachine {
    /// A transition that the loop holds.
    @usableFromInline
    struct Commit: Sendable {
        /// The task-local values with which the event was reduced.
        @usableFromInline let baggage: Baggage?

        @inlinable
        init(baggage: Baggage?) {
            self.baggage = baggage
        }
    }

    /// The outcome of a transition that the loop holds.
    @usableFromInline
    package struct Completion: Sendable {
        @usableFromInline let state: State
        @usableFromInline let event: Event
        @usableFromInline let isUpdate: Bool

        @inlinable
        package init(state: State, event: Event, isUpdate: Bool) {
            self.state = state
            self.event = event
            self.isUpdate = isUpdate
        }
    }

    /// A transition that was held and has been applied. The turn must tell the observer and show the new state.
    @usableFromInline
    package struct Completed: Sendable {
        /// The state before. It is released outside the lock, because its release may run other code.
        @usableFromInline let old: State
        @usableFromInline let new: State
        @usableFromInline let event: Event
        @usableFromInline let isUpdate: Bool
        @usableFromInline let entered: Entered
        @usableFromInline let baggage: Baggage?

        @inlinable
        init(_ completion: Completion, from old: State, entered: Entered, baggage: Baggage?) {
            self.old = old
            new = completion.state
            event = completion.event
            isUpdate = completion.isUpdate
            self.entered = entered
            self.baggage = baggage
        }
    }

    /// Holds a transition: the loop takes no events until its completion. Returns `false` if the loop has been cancelled.
    @inlinable
    package mutating func holdTransition(baggage: Baggage? = nil) -> Bool {
        guard phase == .running || phase == .stopping else { return false }
        precondition(commit == nil, "a loop holds one transition at a time")
        commit = Commit(baggage: baggage)
        guard held == nil else { return true }
        if mailbox.count == waitingEvents {
            // Only events wait. The turn would move them one by one, for each transition again.
            held = mailbox
            mailbox = []
        } else {
            held = []
        }
        return true
    }

    /// Queues the completion of the transition that the loop holds. Returns whether a turn must be scheduled, or `nil` if
    /// the loop has been cancelled or has stopped.
    @inlinable
    package mutating func addCompletion(_ completion: Completion) -> Bool? {
        switch phase {
        case .cancelling, .stopped: return nil
        case .notStarted, .running, .stopping:
            precondition(commit != nil, "a loop completes only a transition that it holds")
            mailbox.append(.control(.complete(completion)))
            return wake()
        }
    }

    /// Applies the transition that the loop holds, and ends the hold. The turn shows the state before it takes another
    /// item.
    @inlinable
    mutating func complete(_ completion: Completion) -> Completed {
        guard let commit else { preconditionFailure("a loop completes a transition once") }
        self.commit = nil
        let old = state
        let entered = enter(completion.state, isUpdate: completion.isUpdate)
        if var items = held {
            // All items keep their order, because the mailbox has only later ones. If there is another reason to hold
            // events, the turn holds them again, and takes the exchanges among them.
            held = nil
            items.append(contentsOf: mailbox)
            mailbox = items
            if isPaused || awaitedExchanges > 0 { held = [] }
        }
        return Completed(completion, from: old, entered: entered, baggage: commit.baggage)
    }
}
