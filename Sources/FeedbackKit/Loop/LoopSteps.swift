public import DequeModule

// The steps of a turn: taking items and entering states.
extension LoopMachine {
    /// The next step of a turn. It has no payload: copying one of a generic type costs more than the step itself.
    @usableFromInline
    package enum Step: Sendable {
        /// Nothing: the turn is over.
        case idle
        /// Nothing: the turn is over, and with it the loop.
        case stopped
        /// Reduce the event that is handed out.
        case reduce
        /// Carry out the other step that is handed out.
        case other
        /// It has not been taken yet.
        case notTaken
        /// Nothing: the turn goes on later, on this thread.
        case putOff
    }

    /// The steps that are not the everyday. Boxed, so that a step is not larger than an event and a state.
    @usableFromInline
    package indirect enum Other: Sendable {
        /// Start the sources, then show the initial state.
        case begin(State, feedbacks: [Member], watchers: [Watcher])
        /// Tell the observer that this event was withdrawn.
        case withdrawn(Event)
        /// Show the current state to a feedback that has come late.
        case introduce(Member, State)
        /// Exchange the feedbacks and the state.
        case exchange(Exchanging)
        /// Show the state of a transition that was held.
        case completed(Completed)
        /// Show the current state to a watcher that has come late.
        case watch(Watcher, State)
        /// Call it.
        case marker(@Sendable () -> Void)
        /// Call it, and reduce the event that it returns.
        case due(Due)
        /// Tell the sender who waits, if any, and reduce the event, unless it was withdrawn.
        case letter(Event, isWithdrawn: Bool, Letter)
        /// Release it.
        case release([EffectID])
    }

    /// An event arrives at a loop that turns on the sender's thread. `true`: the loop did nothing, so the event has been
    /// taken at once, without a way through the mailbox, which is empty. `false`: it must be sent.
    @inlinable
    package mutating func takeAtOnce(origin: Origin?) -> Bool {
        guard phase == .running, !isTurning, held == nil else { return false }
        if let origin, isRefused(origin) { return false }
        isTurning = true
        counters.events += 1
        return true
    }

    /// Takes the next item; an event or something else is put where the caller wants it.
    @inlinable
    package mutating func next(_ event: inout Event?, _ other: inout Other?) -> Step {
        if mustBegin {
            mustBegin = false
            hasBegun = true
            other = .begin(state, feedbacks: feedbacks, watchers: watchers)
            return .other
        }
        guard let item = held == nil ? mailbox.popFirst() : popControl() else {
            if !forgottenNames.isEmpty {
                other = .release(takeForgottenNames())
                return .other
            }
            isTurning = false
            return settle() ? .stopped : .idle
        }
        switch item {
        case .event(let taken, let origin):
            noteLeft(taken)
            if let origin, isStale(origin) {
                counters.withdrawn += 1
                other = .withdrawn(taken)
                return .other
            }
            counters.events += 1
            event = taken
            return .reduce
        case .control(let control):
            other = take(control)
            return .other
        }
    }

    /// Of a loop that takes no events: the next item that need not wait. The events before it are held. An exchange waits
    /// only for the completion of a transition.
    @usableFromInline
    mutating func popControl() -> Item? {
        // Items that come before all others keep their order.
        var first: [Item] = []
        defer { for item in first.reversed() { held?.prepend(item) } }
        while let item = mailbox.popFirst() {
            switch item {
            case .control(.introduce), .control(.watch), .control(.marker), .control(.complete): return item
            case .control(.exchange) where commit == nil: return item
            case .control(.first): first.append(item)
            case .control(.letter), .control(.due), .control(.exchange), .event: held?.append(item)
            }
        }
        return nil
    }

    @inlinable
    mutating func take(_ control: Control) -> Other {
        switch control {
        case .introduce(let feedback):
            append(feedback)
            return .introduce(feedbacks[feedbacks.count - 1], state)
        case .exchange(let exchanging):
            return .exchange(exchanging)
        case .complete(let completion):
            return .completed(complete(completion))
        case .watch(let watcher):
            watchers.append(watcher)
            return .watch(watcher, state)
        case .marker(let body):
            return .marker(body)
        case .due(let due):
            return .due(due)
        case .first(let event, let baggage):
            counters.events += 1
            return .letter(event, isWithdrawn: false, Letter(baggage: baggage))
        case .letter(let event, let origin, let letter):
            noteLeft(event)
            if letter.tell != nil { waitingSenders -= 1 }
            let isWithdrawn = origin.map { isStale($0) } ?? false
            if isWithdrawn { counters.withdrawn += 1 } else { counters.events += 1 }
            return .letter(event, isWithdrawn: isWithdrawn, letter)
        }
    }

    /// Returns `true` if the loop accepts no events from a source any more. An effect that has ended, and that only its
    /// feedback can cancel, may send until its feedback cancels something.
    @inlinable
    func isRefused(_ origin: Origin) -> Bool {
        if origin.serial < statuses[origin.feedback].validFrom { return true }
        guard origin.run != 0 else { return false }
        return runs[RunID(rawValue: origin.run)]?.isCancelled ?? origin.isApart
    }

    /// Returns `true` if the loop must withdraw an event that it takes: its effect was cancelled, or belongs to a state that
    /// is over.
    @inlinable
    mutating func isStale(_ origin: Origin) -> Bool {
        defer { noteTaken(origin) }
        let status = statuses[origin.feedback]
        if status.isBoundToState, origin.serial < status.validFrom { return true }
        return origin.run != 0 && runs[RunID(rawValue: origin.run)]?.isWithdrawn == true
    }

    /// An event of a run no longer waits.
    @inlinable
    mutating func noteTaken(_ origin: Origin?) {
        guard let origin, origin.run != 0 else { return }
        let run = RunID(rawValue: origin.run)
        runs[run]?.waiting -= 1
        forget(run)
    }

    /// A side effect to be cancelled.
    @usableFromInline
    package struct Ending: Sendable {
        @usableFromInline package let run: RunID
        @usableFromInline package let feedback: Int
        /// `nil` before ``attach(_:to:)``, whose caller then cancels it.
        @usableFromInline package let handle: Handle?
        /// A Boolean value that indicates whether the observer must be called, and ``noteTold(_:)`` after it.
        @usableFromInline package let mustTell: Bool

        @inlinable
        init(run: RunID, feedback: Int, handle: Handle?, mustTell: Bool) {
            self.run = run
            self.feedback = feedback
            self.handle = handle
            self.mustTell = mustTell
        }
    }

    /// The consequences of a new state, or of an update.
    @usableFromInline
    package struct Entered: Sendable {
        @usableFromInline package let feedbacks: [Member]
        @usableFromInline package let watchers: [Watcher]
        @usableFromInline package let endings: [Ending]

        @inlinable
        init(feedbacks: [Member], watchers: [Watcher], endings: [Ending]) {
            self.feedbacks = feedbacks
            self.watchers = watchers
            self.endings = endings
        }
    }

    /// The event was handled: `new` is the state from now on. Unless it is an update, the effects that every new state ends,
    /// end.
    @inlinable
    package mutating func enter(_ new: State, isUpdate: Bool = false) -> Entered {
        state = new
        return isUpdate ? noteUpdated() : noteEntered()
    }

    /// The data of the state has changed in place.
    @inlinable
    mutating func noteUpdated() -> Entered {
        counters.updates += 1
        return Entered(feedbacks: feedbacks.filter(\.seesUpdates), watchers: watchers, endings: [])
    }

    /// There is a new state.
    @inlinable
    mutating func noteEntered() -> Entered {
        serial += 1
        counters.transitions += 1
        var endings: [Ending] = []
        for index in statuses.indices where statuses[index].endsOnNewState { cancelRuns(of: index, into: &endings) }
        return Entered(feedbacks: feedbacks, watchers: watchers, endings: endings)
    }

    /// Enters a state. Without feedbacks and watchers it also takes the next item, if `mayGoOn`; otherwise it puts them into
    /// `entered`. The old state takes the place of the new one, because its release may run other code.
    @inlinable
    package mutating func enter(
        _ new: inout State, isUpdate: Bool = false, mayGoOn: Bool, _ entered: inout Entered?, _ event: inout Event?,
        _ other: inout Other?
    ) -> Step {
        swap(&state, &new)
        if isUpdate {
            entered = noteUpdated()
            return .notTaken
        }
        if mayGoOn, feedbacks.isEmpty, watchers.isEmpty {
            serial += 1
            counters.transitions += 1
            return next(&event, &other)
        }
        entered = noteEntered()
        return .notTaken
    }

    /// The turn takes an event that something due has returned.
    @inlinable
    package mutating func noteDueEvent() {
        counters.events += 1
    }

    /// No rule handled the event.
    @inlinable
    package mutating func noteUnhandled() {
        counters.unhandled += 1
    }

    /// An event was not even offered.
    @usableFromInline
    package mutating func noteRefused() {
        counters.refused += 1
    }

    /// A feedback's own rule says that the new state ends its side effects.
    @inlinable
    package mutating func cancelRuns(of feedback: Int) -> [Ending] {
        var endings: [Ending] = []
        cancelRuns(of: feedback, into: &endings)
        return endings
    }

    @inlinable
    mutating func cancelRuns(of feedback: Int, into endings: inout [Ending]) {
        statuses[feedback].validFrom = serial
        guard !statuses[feedback].running.isEmpty else { return }
        for run in statuses[feedback].running {
            cancel(run, into: &endings)
            runs[run]?.isListed = false
        }
        statuses[feedback].ending += Int32(truncatingIfNeeded: statuses[feedback].running.count)
        statuses[feedback].running.removeAll(keepingCapacity: true)
    }

    /// An effect that takes the place of everything its feedback still runs is about to start within `outer`, which
    /// goes on, as does what that is within.
    @usableFromInline
    package mutating func replaceRuns(of feedback: Int, within outer: RunID?) -> [Ending] {
        var endings: [Ending] = []
        // Effects that the feedback has started for this very state end, too.
        serial += 1
        guard let outer else {
            cancelRuns(of: feedback, into: &endings)
            return endings
        }
        statuses[feedback].validFrom = serial
        var spared: Set<RunID> = []
        var next: RunID? = outer
        while let run = next {
            spared.insert(run)
            next = runs[run]?.outer
        }
        cancel(statuses[feedback].running, sparing: spared, into: &endings)
        return endings
    }

    @usableFromInline
    mutating func cancel(_ some: [RunID], sparing spared: Set<RunID>, into endings: inout [Ending]) {
        for run in some {
            if spared.contains(run) {
                cancel(runs[run]?.inner.filter { runs[$0]?.isGuard == false } ?? [], sparing: spared, into: &endings)
            } else {
                cancel(run, into: &endings)
            }
        }
    }

    /// Cancels a run and those within it.
    ///
    /// - Parameter withdraws: also withdraws the events that they have emitted.
    @inlinable
    mutating func cancel(_ run: RunID, withdraws: Bool = true, into endings: inout [Ending]) {
        guard let known = runs[run], !known.isCancelled else { return }
        runs[run]?.isCancelled = true
        runs[run]?.isWithdrawn = withdraws
        if !known.isOver {
            let isEffect = known.outer == nil
            if isEffect { counters.effectsCancelled += 1 }
            let mustTell = isObserved && isEffect && known.isAnnounced
            if mustTell { runs[run]?.pieces += 1 }
            endings.append(Ending(run: run, feedback: known.feedback, handle: known.handle, mustTell: mustTell))
        }
        for inner in known.inner { cancel(inner, withdraws: withdraws, into: &endings) }
    }
}
