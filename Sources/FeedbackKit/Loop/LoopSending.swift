public import Synchronization

// Sending events to a loop.
extension LoopCore {
    /// Queues an event.
    ///
    /// - Parameter holdBeforeStart: A Boolean value that indicates whether an event waits for the start of the loop (the
    ///   default) or is dropped.
    /// - Parameter event: The event.
    @inlinable
    func send(_ event: Event, holdBeforeStart: Bool = true) -> SendResult {
        deliver(event, origin: nil, hold: holdBeforeStart)
    }

    /// Queues an event. At the limit of the mailbox, it returns when the event is taken, withdrawn, dropped for a later one
    /// or discarded with the loop. It waits under every overflow policy.
    ///
    /// Events of waiting senders keep their place: first come, first served. The mailbox then holds its limit, and one more
    /// event for each waiting sender. A cancellation of the calling task does not shorten the wait. On a loop that is never
    /// started or cancelled it has no end. Do not await it on the loop's own turn.
    @usableFromInline
    func sendWhenRoom(_ event: Event) async -> SendResult {
        await withCheckedContinuation { deliver(event, origin: nil, waiting: .always, $0) }
    }

    /// Puts an event before all that waits, whatever the limit.
    @usableFromInline
    func sendFirst(_ event: Event) -> SendResult {
        let baggage = Baggage.present
        let sent = withMailbox { $0.machine.sendFirst(event, baggage: baggage) }
        if sent.needsTurn { schedule() }
        if sent.result != .accepted { report(sent, of: event) }
        return sent.result
    }

    @usableFromInline
    func deliver(
        _ event: Event, origin: Machine.Origin?, waiting policy: Send<Event>.WaitPolicy,
        _ continuation: CheckedContinuation<SendResult, Never>
    ) {
        let baggage = Baggage.present
        let (sent, waits) = withMailbox {
            $0.machine.sendWaiting(event, origin: origin, always: policy == .always, baggage: baggage) { result in
                continuation.resume(returning: result)
            }
        }
        if sent.needsTurn { schedule() }
        if sent.result != .accepted || !sent.evicted.isEmpty { report(sent, of: event) }
        if !waits { continuation.resume(returning: sent.result) }
    }

    /// The sender for a side effect of this loop.
    @inlinable
    func send(from origin: Machine.Origin?) -> Send<Event> {
        Send<Event>(
            clock: clock,
            body: { event in self.deliver(event, origin: origin, hold: true) },
            waiting: { event, policy in
                await withCheckedContinuation { self.deliver(event, origin: origin, waiting: policy, $0) }
            },
            refuse: { event, reason in self.refuse(event, reason) },
            stop: { self.beginStop(by: origin) })
    }

    /// Counts and tells an event that was not even offered.
    @usableFromInline
    func refuse(_ event: Event, _ reason: DropReason) {
        let observer = guarded.withLock { guarded in
            guarded.machine.noteRefused()
            return guarded.surroundings.observer
        }
        observer?.base.loopDidDrop(event, because: reason)
    }

    /// Queues an event, and turns the loop if nobody else does.
    ///
    /// On the sender's thread the event is taken in the same critical section.
    ///
    /// - Parameter isOffer: whether an event that comes after the end counts for nothing, since it goes elsewhere.
    @inlinable
    func deliver(_ event: Event, origin: Machine.Origin?, hold: Bool, isOffer: Bool = false) -> SendResult {
        let baggage = Baggage.present
        if origin == nil, !isOffer, inbox.isOpen, baggage == nil, let result = deliverUnlocked(event) { return result }
        var sent = Machine.Sent(.accepted)
        var executor: Executor?
        var observer: Observer?
        let begun: State? = guarded.withLock { guarded in
            executor = guarded.surroundings.executor
            if executor == nil, guarded.machine.takeAtOnce(origin: origin) {
                observer = guarded.surroundings.observer
                return guarded.machine.state
            }
            if inbox.hasLetters { guarded.machine.receive(inbox.takeAll()) }
            sent = guarded.machine.send(
                event, origin: origin, holdBeforeStart: hold, isOffer: isOffer, baggage: baggage)
            return nil
        }
        if isOffer, sent.result == .dropped(.stopped) { return sent.result }
        if var state = consume begun {
            var following: Event?
            var other: Machine.Other?
            var step = take(event, &state, observer, mayGoOn: true, nests: true, &following, &other)
            if step == .notTaken { step = guarded.withLock { $0.machine.next(&following, &other) } }
            if step != .idle, step != .putOff {
                turn(taking: following, in: state, step, other, executor: nil, observer)
            }
            return .accepted
        }
        if sent.result != .accepted || !sent.evicted.isEmpty { report(sent, of: event) }
        if sent.needsTurn { schedule(on: executor) }
        return sent.result
    }

    /// Queues an event without waiting for the lock. `nil`: it must be waited for.
    @inlinable
    func deliverUnlocked(_ event: Event) -> SendResult? {
        // A running turn takes the event from the inbox, without the lock.
        if isActive.load(ordering: .relaxed), inbox.push(event) {
            wakeIfInactive()
            return .accepted
        }
        let taken: (Machine.Sent, Executor?)? = guarded.withLockIfAvailable { guarded in
            if inbox.hasLetters { guarded.machine.receive(inbox.takeAll()) }
            return (guarded.machine.send(event, origin: nil, holdBeforeStart: true), guarded.surroundings.executor)
        }
        if let (sent, executor) = taken {
            if sent.result != .accepted || !sent.evicted.isEmpty { report(sent, of: event) }
            if sent.needsTurn { schedule(on: executor) }
            return sent.result
        }
        guard inbox.push(event) else { return nil }
        wakeIfInactive()
        return .accepted
    }

    /// Wakes the loop after an event for the inbox. Either the running turn sees the event before it ends, or this function
    /// sees that no turn runs, because all threads see both accesses in one order.
    @inlinable
    func wakeIfInactive() {
        if isActive.load(ordering: .sequentiallyConsistent) { return }
        let (needsTurn, executor) = withMailbox { ($0.machine.wakeIfWaiting(), $0.surroundings.executor) }
        if needsTurn { schedule(on: executor) }
    }

    /// Reports dropped events to the observer, and fails the loop if that is the policy.
    @usableFromInline
    func report(_ sent: Machine.Sent, of event: Event) {
        if let observer = guarded.withLock({ $0.surroundings.observer }) {
            if case .dropped(let reason) = sent.result { observer.base.loopDidDrop(event, because: reason) }
            for event in sent.evicted { observer.base.loopDidDrop(event, because: .mailboxFull) }
        }
        for letter in sent.letters { letter.tell?(.dropped(.mailboxFull)) }
        if sent.mustFail {
            let full = guarded.withLock {
                MailboxFull(limit: $0.machine.limit, bytes: sent.isOfBytes ? $0.machine.size?.limit : nil)
            }
            fail(LoopFault(feedback: "", error: full))
        }
    }

    /// Notes why the loop has failed, and cancels it.
    @usableFromInline
    func fail(_ fault: LoopFault, of run: RunID? = nil) {
        let (isNews, observer) = guarded.withLock { guarded in
            let isNews = guarded.machine.note(fault, of: run)
            if isNews == true, guarded.surroundings.observer != nil { guarded.machine.hold() }
            return (isNews, guarded.surroundings.observer)
        }
        guard let isNews else { return }
        if isNews { observer?.base.loopDidFault(fault) }
        cancel()
        if isNews, observer != nil { release() }
    }

    /// Ends a delay of the end, after a call of the observer.
    @inlinable
    func release() {
        if guarded.withLock({ $0.machine.release() }) { didStop() }
    }

    /// Calls `body` on the loop's turn when every event sent before has been taken. A loop that has stopped or is
    /// being cancelled calls it at once, on the caller's thread.
    @inlinable
    func afterPending(_ body: @escaping @Sendable () -> Void) {
        let carried = Baggage.carried(body)
        guard let needsTurn = withMailbox({ $0.machine.addMarker(carried) }) else { return body() }
        if needsTurn { schedule() }
    }

    /// Calls `body` on the loop's turn when every event sent before has been taken, and takes the event that it returns at
    /// once. A loop that ends before calls `ended` instead.
    @inlinable
    func whenDue(_ body: @escaping @Sendable () -> Event?, ended: @escaping @Sendable () -> Void) {
        let due = Machine.Due(body: body, ended: ended, baggage: Baggage.present)
        guard let needsTurn = withMailbox({ $0.machine.addDue(due) }) else {
            return ended()
        }
        if needsTurn { schedule() }
    }

    /// Cancels the running side effect of a name, and withdraws its waiting events.
    @usableFromInline
    func cancelEffect(_ id: EffectID) {
        guard let run = run(named: id) else { return }
        let (endings, observer) = guarded.withLock { ($0.machine.cancelRun(run), $0.surroundings.observer) }
        end(endings, observer)
    }

    /// The latest run of a name. Names are compared outside the lock: how is the caller's code.
    @inlinable
    func run(named id: EffectID) -> RunID? {
        let candidates = guarded.withLock { $0.machine.candidates(id.hash) }
        return candidates.last { $0.id == id }?.run
    }
}
