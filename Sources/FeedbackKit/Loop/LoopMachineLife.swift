public import DequeModule

// The beginning, the pauses and the end of a loop.
extension LoopMachine {
    /// Starts. A paused loop takes no event. Returns whether a turn must be scheduled, or `nil` if it had been started before.
    @inlinable
    package mutating func start(isPaused: Bool = false) -> Bool? {
        guard phase == .notStarted else { return nil }
        phase = .running
        mustBegin = true
        if isPaused { _ = pause() }
        return wake()
    }

    /// Takes no event any more until it is resumed. `false`: it does not run, or is paused already.
    @usableFromInline
    package mutating func pause() -> Bool {
        guard phase == .running, !isPaused else { return false }
        isPaused = true
        held = held ?? []
        return true
    }

    /// Takes events again, those first that have waited. `nil`: it was not paused; else whether a turn must be scheduled.
    @usableFromInline
    package mutating func resume() -> Bool? {
        guard isPaused else { return nil }
        isPaused = false
        takeEvents()
        return wakeIfWaiting()
    }

    /// Takes events again, unless something else keeps the loop from that.
    @usableFromInline
    mutating func takeEvents() {
        guard held != nil, !isPaused, awaitedExchanges == 0, commit == nil else { return }
        var controls: Deque<Item> = []
        while let item = popControl() { controls.append(item) }
        mailbox = (held ?? []) + controls
        held = nil
    }

    /// The steps to carry out at the end of the loop.
    @usableFromInline
    package struct Closing: Sendable {
        @usableFromInline package var endings: [Ending] = []
        @usableFromInline package var stopped = false
        /// Events that waited and are discarded.
        @usableFromInline package var discarded: [Event] = []
        /// Markers that waited; they are called, since someone waits for them.
        @usableFromInline package var markers: [@Sendable () -> Void] = []
        /// Senders who waited.
        @usableFromInline package var letters: [Letter] = []
        /// Feedbacks that waited. They are released after the lock, because the release may run other code.
        @usableFromInline package var feedbacks: [Feedback<State, Event>] = []
        /// Names, for the same reason.
        @usableFromInline package var names: [EffectID] = []
        /// A Boolean value that indicates whether ``release()`` must follow the calls of the observer.
        @usableFromInline package var isHeld = false
        /// Whether a turn must be scheduled.
        @usableFromInline package var needsTurn = false

        @inlinable
        init() {}
    }

    /// Stops gently: no new events, no new side effects; what waits is taken, what runs may finish. Sources and
    /// timers end now: nothing that they could still bring would be accepted. A transition that the loop holds must be
    /// completed first.
    ///
    /// - Parameter takingOutcomes: A Boolean value that indicates whether the loop still takes events of running side
    ///   effects. A paused loop then takes such events that wait, because those side effects have ended anyway.
    @usableFromInline
    package mutating func beginStop(takingOutcomes: Bool = false) -> Closing {
        var closing = Closing()
        switch phase {
        case .notStarted:
            discardMailbox(into: &closing)
            phase = .stopping
        case .running:
            awaitedExchanges = 0
            takeEvents()
            // A paused loop does not take its waiting events at its end either.
            if isPaused { discardMailbox(sparingOutcomes: takingOutcomes, into: &closing) }
            phase = .stopping
            takesOutcomes = takingOutcomes
            for run in runs.keys where runs[run]?.endsAtStop == true {
                cancel(run, withdraws: false, into: &closing.endings)
            }
            closing.needsTurn = wakeIfWaiting()
        case .stopping, .cancelling, .stopped:
            return closing
        }
        settle(into: &closing)
        return closing
    }

    /// Stops hard: discards the waiting events and the transition that the loop holds, and cancels the running side
    /// effects.
    @usableFromInline
    package mutating func cancel() -> Closing {
        var closing = Closing()
        guard phase != .cancelling, phase != .stopped else { return closing }
        phase = .cancelling
        if let commit { closing.letters.append(Letter(baggage: commit.baggage)) }
        commit = nil
        discardMailbox(into: &closing)
        for run in runs.keys {
            cancel(run, into: &closing.endings)
        }
        settle(into: &closing)
        return closing
    }

    @usableFromInline
    mutating func settle(into closing: inout Closing) {
        closing.names = takeForgottenNames()
        if isObserved {
            hold()
            closing.isHeld = true
        } else {
            closing.stopped = settle()
        }
    }

    /// Empties the mailbox.
    ///
    /// - Parameter sparingOutcomes: whether events of side effects stay.
    @usableFromInline
    mutating func discardMailbox(sparingOutcomes: Bool = false, into closing: inout Closing) {
        if let held { mailbox.prepend(contentsOf: held) }
        // A transition that the loop still holds is completed.
        held = commit == nil ? nil : []
        (isPaused, awaitedExchanges) = (false, 0)
        let items = mailbox
        mailbox.removeAll()
        waitingEvents = 0
        size?.shared?.add(-waitingBytes)
        waitingBytes = 0
        waitingSenders = 0
        mustBegin = false
        for item in items {
            switch item {
            case .event(let event, .some) where sparingOutcomes:
                mailbox.append(item)
                noteWaiting(event)
            case .control(.letter(let event, .some, let letter)) where sparingOutcomes:
                mailbox.append(item)
                noteWaiting(event)
                if letter.tell != nil { waitingSenders += 1 }
            case .event(let event, let origin):
                counters.refused += 1
                closing.discarded.append(event)
                noteTaken(origin)
            case .control(.marker(let body)): closing.markers.append(body)
            case .control(.due(let due)):
                // The whole decision leaves the lock, because the release of its parts may run other code.
                closing.markers.append { withExtendedLifetime(due) { due.ended() } }
            case .control(.letter(let event, let origin, let letter)):
                counters.refused += 1
                closing.discarded.append(event)
                closing.letters.append(letter)
                noteTaken(origin)
            case .control(.first(let event, let baggage)):
                counters.refused += 1
                closing.discarded.append(event)
                closing.letters.append(Letter(baggage: baggage))
            case .control(.watch(let watcher)): watchers.append(watcher)
            case .control(.introduce(let feedback)): closing.feedbacks.append(feedback)
            case .control(.exchange(let exchanging)): closing.markers.append(exchanging.ended)
            case .control(.complete) where commit != nil: mailbox.append(item)
            case .control(.complete(let completion)): closing.markers.append { withExtendedLifetime(completion) {} }
            }
        }
    }

    /// A Boolean value that indicates whether something keeps a loop that does not turn from being quiet.
    @inlinable
    var isBusy: Bool { !mailbox.isEmpty || openRuns > 0 || commit != nil }

    /// Notes that the loop has stopped if it has become quiet; `true` if it just did.
    @inlinable
    mutating func settle() -> Bool {
        guard phase == .stopping || phase == .cancelling, !isTurning, !isBusy else { return false }
        phase = .stopped
        return true
    }

    /// Removes the watchers and returns them, for the call at the end of the loop.
    @usableFromInline
    package mutating func takeWatchers() -> [Watcher] {
        defer { watchers = [] }
        return watchers
    }

    /// Every handle known, for the end of an abandoned loop.
    @usableFromInline
    package var handles: [Handle] { runs.keys.compactMap { runs[$0]?.handle } }
}
