public import DequeModule
public import Synchronization

// The mailbox: the arrival of events, feedbacks and watchers.
extension LoopMachine {
    /// The result of sending.
    @usableFromInline
    package struct Sent: Sendable {
        @usableFromInline package var result: SendResult
        /// A turn must be scheduled.
        @usableFromInline package var needsTurn = false
        /// Older events that made room.
        @usableFromInline package var evicted: [Event] = []
        /// The letters of these events. Their senders may wait, and their values are not released under the lock.
        @usableFromInline package var letters: [Letter] = []
        /// The loop must be cancelled: its mailbox has overflowed, and that is a failure.
        @usableFromInline package var mustFail = false
        /// A Boolean value that indicates whether the limit in bytes was exceeded, and not the number of events.
        @usableFromInline package var isOfBytes = false

        @inlinable
        init(_ result: SendResult) {
            self.result = result
        }
    }

    /// An event arrives, from outside (`origin` nil) or from a side effect.
    ///
    /// - Parameter isOffer: whether an event that comes after the end counts for nothing, since it goes elsewhere.
    @inlinable
    package mutating func send(
        _ event: Event, origin: Origin?, holdBeforeStart: Bool, isOffer: Bool = false, baggage: Baggage? = nil
    ) -> Sent {
        switch phase {
        case .stopping where origin == nil || !takesOutcomes, .cancelling, .stopped:
            if !isOffer { counters.refused += 1 }
            return Sent(.dropped(.stopped))
        case .notStarted where !holdBeforeStart:
            counters.refused += 1
            return Sent(.dropped(.notStarted))
        case .notStarted, .running, .stopping:
            if let origin, isRefused(origin) {
                counters.withdrawn += 1
                return Sent(.dropped(.cancelled))
            }
            var sent = Sent(.accepted)
            if isFull(for: event) {
                makeRoom(for: event, &sent)
                if sent.result != .accepted { return sent }
            }
            append(event, origin, baggage)
            sent.needsTurn = wake()
            return sent
        }
    }

    /// A feedback emits an event at once. What a state asks for that is entered while the loop stops does not begin.
    @inlinable
    package mutating func emit(
        _ event: Event, from feedback: Int, within run: RunID?, baggage: Baggage? = nil
    ) -> Sent {
        let mayBegin = phase == .running
        return send(
            event, origin: mayBegin ? origin(of: feedback, within: run) : nil, holdBeforeStart: true, baggage: baggage)
    }

    @inlinable
    mutating func append(_ event: Event, _ origin: Origin?, _ baggage: Baggage? = nil) {
        if let origin, origin.run != 0 { runs[RunID(rawValue: origin.run)]?.waiting += 1 }
        mailbox.append(
            baggage == nil ? .event(event, origin) : .control(.letter(event, origin, Letter(baggage: baggage))))
        noteWaiting(event)
    }

    /// Counts an event that waits.
    @inlinable
    mutating func noteWaiting(_ event: Event) {
        waitingEvents += 1
        if let size { waitingBytes += size.enter(event) }
    }

    /// Counts an event that no longer waits.
    @inlinable
    mutating func noteLeft(_ event: Event) {
        waitingEvents -= 1
        if let size { waitingBytes -= size.leave(event) }
    }

    /// Returns a Boolean value that indicates whether the mailbox has no room for an event.
    @inlinable
    func isFull(for event: Event) -> Bool {
        // A mailbox without waiting bytes has room for any event.
        waitingEvents >= limit || ((waitingBytes > 0 || size?.isInUse == true) && isTooLarge(event))
    }

    /// Returns a Boolean value that indicates whether an event has too many bytes beside the waiting ones, here and in
    /// mailboxes that share a limit. An event without counted bytes always has room.
    @inlinable
    func isTooLarge(_ event: Event) -> Bool {
        guard let size else { return false }
        let more = size.of(event)
        return more > 0 && !size.hasRoom(for: more, beside: waitingBytes)
    }

    /// An event arrives that goes before all that waits, and has a place beyond the limit.
    @usableFromInline
    package mutating func sendFirst(_ event: Event, baggage: Baggage? = nil) -> Sent {
        guard phase == .notStarted || phase == .running else { return send(event, origin: nil, holdBeforeStart: true) }
        mailbox.prepend(.control(.first(event, baggage)))
        var sent = Sent(.accepted)
        sent.needsTurn = wake()
        return sent
    }

    /// Queues an event of a sender that can wait. Without room the event waits beyond the limit, and `tell` is called with
    /// the result when it is taken or dropped. So the mailbox holds at most one more event for each waiting sender.
    ///
    /// - Parameter always: A Boolean value that indicates whether the sender waits under every overflow policy.
    /// - Returns: The result, and a Boolean value that indicates whether `tell` will be called.
    @inlinable
    package mutating func sendWaiting(
        _ event: Event, origin: Origin?, always: Bool, baggage: Baggage? = nil,
        tell: @escaping @Sendable (SendResult) -> Void
    ) -> (sent: Sent, waits: Bool) {
        let mayWait = always || overflow == .block
        let isTaken =
            phase == .notStarted || phase == .running || (phase == .stopping && origin != nil && takesOutcomes)
        guard mayWait, isTaken, isFull(for: event) else {
            return (send(event, origin: origin, holdBeforeStart: true, baggage: baggage), false)
        }
        if let origin, isRefused(origin) { return (send(event, origin: origin, holdBeforeStart: true), false) }
        if let origin, origin.run != 0 { runs[RunID(rawValue: origin.run)]?.waiting += 1 }
        mailbox.append(.control(.letter(event, origin, Letter(baggage: baggage, tell: tell))))
        noteWaiting(event)
        waitingSenders += 1
        var sent = Sent(.accepted)
        sent.needsTurn = wake()
        return (sent, true)
    }

    /// Moves events from the inbox into the mailbox. The caller must wake the loop for them.
    @inlinable
    mutating func receive(_ letters: [Event]) {
        for event in letters { append(event, nil) }
    }

    /// Notes that there is something to do, if there is; `true` if a turn must be scheduled for it.
    @inlinable
    mutating func wakeIfWaiting() -> Bool {
        !mailbox.isEmpty && wake()
    }

    /// The mailbox is full: what becomes of the new event, and of those that wait.
    @usableFromInline
    mutating func makeRoom(for event: Event, _ sent: inout Sent) {
        switch overflow {
        case .dropNewest, .block:
            counters.droppedByLimit += 1
            sent.result = .dropped(.mailboxFull)
        case .dropOldest where size?.mayFit(event, inPlaceOf: waitingBytes) == false,
            .keepLatest where size?.mayFit(event, inPlaceOf: waitingBytes) == false:
            // Other mailboxes hold the shared room: dropping events of this one would not make enough.
            refuse(&sent)
        case .dropOldest:
            // Events of waiting senders keep their places beyond the limit.
            if waitingEvents - waitingSenders >= limit { removeOldestEvent(sparingSenders: true, into: &sent) }
            // Those that hold nothing make no room for bytes.
            while isTooLarge(event), removeOldestEvent(sparingSenders: true, ofSize: true, into: &sent) {}
            refuseIfTooLarge(event, &sent)
        case .keepLatest:
            while waitingEvents > 0 { removeOldestEvent(sparingSenders: false, into: &sent) }
            refuseIfTooLarge(event, &sent)
        case .fail:
            counters.droppedByLimit += 1
            sent.result = .dropped(.mailboxFull)
            sent.isOfBytes = waitingEvents < limit
            // If other mailboxes hold the shared room, this one has not overflowed, and only drops the event.
            sent.mustFail = !sent.isOfBytes || size?.isFull(for: size?.of(event) ?? 0, beside: waitingBytes) ?? false
        }
    }

    /// Drops an event that still has no room: another mailbox has taken it, or senders who wait hold it.
    private mutating func refuseIfTooLarge(_ event: Event, _ sent: inout Sent) {
        if isTooLarge(event) { refuse(&sent) }
    }

    /// Drops an event that has too many bytes.
    private mutating func refuse(_ sent: inout Sent) {
        counters.droppedByLimit += 1
        sent.result = .dropped(.mailboxFull)
        sent.isOfBytes = true
    }

    /// Removes the oldest event from the mailbox; control items before it stay. Returns `false` without such an event.
    ///
    /// - Parameter ofSize: whether only one that holds bytes will do.
    /// - Complexity: O(number of items before it).
    @usableFromInline @discardableResult
    mutating func removeOldestEvent(sparingSenders: Bool, ofSize: Bool = false, into sent: inout Sent) -> Bool {
        func isOldest(_ item: Item) -> Bool {
            switch item {
            case .event(let event, _): !ofSize || (size?.of(event) ?? 0) > 0
            case .control(.letter(let event, _, let letter)):
                letter.tell == nil ? !ofSize || (size?.of(event) ?? 0) > 0 : !sparingSenders
            case .control: false
            }
        }
        let item: Item
        if let index = held?.firstIndex(where: isOldest), let known = held?.remove(at: index) {
            item = known
        } else if let index = mailbox.firstIndex(where: isOldest) {
            item = mailbox.remove(at: index)
        } else {
            return false
        }
        switch item {
        case .event(let event, let origin):
            sent.evicted.append(event)
            noteLeft(event)
            noteTaken(origin)
        case .control(.letter(let event, let origin, let letter)):
            sent.evicted.append(event)
            sent.letters.append(letter)
            if letter.tell != nil { waitingSenders -= 1 }
            noteLeft(event)
            noteTaken(origin)
        case .control: return false
        }
        counters.droppedByLimit += 1
        return true
    }

    /// Notes that there is something to do; `true` if a turn must be scheduled for it.
    @inlinable
    mutating func wake() -> Bool {
        guard phase != .notStarted, !isTurning else { return false }
        isTurning = true
        return true
    }

    /// Adds a feedback: at once before the start, later behind the waiting items. Returns `true` if a turn must be scheduled.
    @inlinable
    package mutating func add(_ feedback: Feedback<State, Event>) -> Bool {
        switch phase {
        case .notStarted:
            append(feedback)
            return false
        case .running:
            mailbox.append(.control(.introduce(feedback)))
            return wake()
        case .stopping, .cancelling, .stopped:
            return false
        }
    }

    @inlinable
    mutating func append(_ feedback: Feedback<State, Event>) {
        if let member = makeMember(feedback, slot: statuses.count) { feedbacks.append(member) }
    }

    /// Makes a feedback with a status of its own.
    @inlinable
    mutating func makeMember(_ feedback: Feedback<State, Event>, slot: Int) -> Member? {
        guard let member = Member(feedback, slot: slot) else { return nil }
        let status = FeedbackStatus(endsOnNewState: feedback.endsOnNewState, isBoundToState: feedback.isBoundToState)
        if slot < statuses.count { statuses[slot] = status } else { statuses.append(status) }
        return member
    }

    /// Adds a watcher, who sees the state that is current when the mailbox has been read up to here, then every later
    /// one. Answers its id, and whether a turn must be scheduled; `nil` when there will be no state to see.
    @inlinable
    package mutating func addWatcher(
        see: @escaping @Sendable (State) -> Void, finish: @escaping @Sendable () -> Void
    ) -> (id: UInt64, needsTurn: Bool)? {
        let watcher = Watcher(id: nextWatcher, see: see, finish: finish)
        switch phase {
        case .notStarted:
            watchers.append(watcher)
        case .running, .stopping:
            mailbox.append(.control(.watch(watcher)))
        case .cancelling, .stopped:
            return nil
        }
        nextWatcher += 1
        return (watcher.id, wake())
    }

    /// The names that nobody needs any more.
    @inlinable
    mutating func takeForgottenNames() -> [EffectID] {
        guard !forgottenNames.isEmpty else { return [] }
        defer { forgottenNames = [] }
        return forgottenNames
    }

    /// Removes a watcher; one that still waits in the mailbox, too.
    @inlinable
    package mutating func removeWatcher(_ id: UInt64) -> [Watcher] {
        // The watchers are handed out, so that what their closures hold is not released under the lock.
        var removed = watchers.filter { $0.id == id }
        watchers.removeAll { $0.id == id }
        mailbox.removeAll { item in
            guard case .control(.watch(let watcher)) = item, watcher.id == id else { return false }
            removed.append(watcher)
            return true
        }
        for watcher in removed { watcher.hasLeft.store(true, ordering: .releasing) }
        return removed
    }

    /// Queues something to be called when the mailbox has been read up to here. Answers whether a turn must be
    /// scheduled; `nil` if the loop has been cancelled or has stopped.
    @inlinable
    package mutating func addMarker(_ body: @escaping @Sendable () -> Void) -> Bool? {
        switch phase {
        case .cancelling, .stopped: return nil
        case .notStarted, .running, .stopping:
            mailbox.append(.control(.marker(body)))
            return wake()
        }
    }

    /// Queues something that may be due. Answers whether a turn must be scheduled; `nil` if the loop has been cancelled or
    /// has stopped.
    @inlinable
    package mutating func addDue(_ due: Due) -> Bool? {
        switch phase {
        case .cancelling, .stopped: return nil
        case .notStarted, .running, .stopping:
            mailbox.append(.control(.due(due)))
            return wake()
        }
    }
}
