public import Synchronization

// The turns of a loop. A loop has at most one at a time.
extension LoopCore {
    /// Has the loop turned, now or soon.
    @inlinable
    func schedule() {
        schedule(on: guarded.withLock { $0.surroundings.executor })
    }

    @inlinable
    func schedule(on executor: Executor?) {
        guard let executor else { return turn() }
        if let pool = executor.pool { return pool.enqueue(Activation(self, turnLoop)) }
        executor.base.enqueue { self.turn() }
    }

    /// Takes the waiting items.
    @inlinable
    func turn() {
        turns.wrappingAdd(1, ordering: .relaxed)
        defer { turns.wrappingAdd(1, ordering: .relaxed) }
        var event: Event?
        var other: Machine.Other?
        let (step, state, surroundings) = guarded.withLock { guarded in
            if inbox.isOpen { isActive.store(true, ordering: .relaxed) }
            return (next(&guarded.machine, &event, &other), guarded.machine.state, guarded.surroundings)
        }
        turn(taking: event, in: state, step, other, executor: surroundings.executor, surroundings.observer)
    }

    /// Takes the waiting items one after the other, beginning with the given step. Only the turn changes the state, so it
    /// keeps a copy and need not read it under the lock.
    @inlinable
    func turn(
        taking event: Event?, in state: State, _ step: Machine.Step, _ other: Machine.Other?, executor: Executor?,
        _ observer: Observer?
    ) {
        var left = executor?.eventsPerTurn ?? .max
        var (event, state, step, other) = (event, state, step, other)
        while true {
            switch step {
            case .idle, .putOff: return
            case .stopped: return didStop()
            case .reduce:
                // Taken out: the next one is put there under the lock, where nothing may be released.
                guard let taken = event.take() else { return }
                step = take(taken, &state, observer, mayGoOn: left > 1, nests: executor == nil, &event, &other)
                left -= 1
            case .other:
                if case .letter(let content, isWithdrawn: false, let letter) = other {
                    other = nil
                    letter.tell?(.accepted)
                    if let baggage = letter.baggage {
                        step = take(
                            content, with: baggage, &state, observer, mayGoOn: left > 1, nests: executor == nil,
                            &event, &other)
                        left -= 1
                    } else {
                        event = content
                        step = .reduce
                    }
                    continue
                }
                let rare = other.take()
                step = .notTaken
                left -= 1
                if case .due(let due) = rare {
                    guard let emitted = due.decide() else { continue }
                    guarded.withLock { $0.machine.noteDueEvent() }
                    if let baggage = due.baggage {
                        step = take(
                            emitted, with: baggage, &state, observer, mayGoOn: left > 1, nests: executor == nil, &event,
                            &other)
                        left -= 1
                    } else {
                        event = emitted
                        step = .reduce
                    }
                } else if case .exchange(let exchanging) = rare {
                    state = exchange(exchanging, in: state, observer)
                } else if case .completed(let completed) = rare {
                    state = completed.new
                    step = carryOut(completed, observer, nests: executor == nil)
                } else if let rare {
                    carryOut(rare, observer)
                }
            case .notTaken:
                if left <= 0, let executor { return goOnLater(executor) }
                step = guarded.withLock { next(&$0.machine, &event, &other) }
            }
        }
    }

    /// Gives the place to others before it goes on.
    @inlinable
    func goOnLater(_ executor: Executor) {
        if let pool = executor.pool { return pool.enqueueBehind(Activation(self, turnLoop)) }
        executor.base.enqueue { self.turn() }
    }

    /// Takes the next item, from the inbox if there is no other. Under the lock.
    @inlinable
    func next(_ machine: inout Machine, _ event: inout Event?, _ other: inout Machine.Other?) -> Machine.Step {
        lookAgain(machine.next(&event, &other), &machine, &event, &other)
    }

    /// Before a turn ends, looks into the inbox: who puts something there relies on that. Under the lock.
    @inlinable
    func lookAgain(
        _ step: Machine.Step, _ machine: inout Machine, _ event: inout Event?, _ other: inout Machine.Other?
    ) -> Machine.Step {
        var step = step
        // A loop that is paused takes nothing of it, and has to look once more.
        while step == .idle, inbox.isOpen {
            isActive.store(false, ordering: .sequentiallyConsistent)
            guard inbox.hasLetters else { return step }
            machine.receive(inbox.takeAll())
            guard machine.wake() else { return step }
            isActive.store(true, ordering: .relaxed)
            step = machine.next(&event, &other)
        }
        return step
    }

    /// The steps that are not part of the everyday.
    @inlinable
    func carryOut(_ other: Machine.Other, _ observer: Observer?) {
        switch other {
        case .withdrawn(let event):
            observer?.base.loopDidWithdraw(event)
        case .begin(let state, let feedbacks, let watchers):
            observer?.base.loopDidStart(with: state)
            for member in feedbacks { connect(member, observer) }
            for watcher in watchers where !watcher.hasLeft.load(ordering: .acquiring) { watcher.see(state) }
            for member in feedbacks { show(state, nil, to: member, observer) }
        case .introduce(let feedback, let state):
            connect(feedback, observer)
            show(state, nil, to: feedback, observer)
        case .watch(let watcher, let state):
            if !watcher.hasLeft.load(ordering: .acquiring) { watcher.see(state) }
        case .marker(let body):
            body()
        case .letter(let event, _, let letter):
            observer?.base.loopDidWithdraw(event)
            letter.tell?(.dropped(.cancelled))
        case .due, .exchange, .completed, .release: break  // The turn itself takes these.
        }
    }

    /// Reduces an event. Answers the next step if it has taken that already.
    ///
    /// - Parameter nests: whether the turn is on the sender's thread, where it may be within the turns of other loops.
    @inlinable
    func take(
        _ taken: Event, _ state: inout State, _ observer: Observer?, mayGoOn: Bool, nests: Bool, _ event: inout Event?,
        _ other: inout Machine.Other?
    ) -> Machine.Step {
        if let observer { return takeObserved(taken, &state, observer, nests: nests) }
        let reduction = reduce(&state, taken)
        switch reduction {
        case .handled, .updated: break
        case .stay:
            state = guarded.withLock { $0.machine.state }
            return .notTaken
        case .unhandled:
            state = guarded.withLock { guarded in
                guarded.machine.noteUnhandled()
                return guarded.machine.state
            }
            return .notTaken
        }
        var entered: Machine.Entered?
        // First the new state, then the old one, whose release may run other code.
        var exchanged = state
        let step = guarded.withLock { guarded in
            let step = guarded.machine.enter(
                &exchanged, isUpdate: reduction == .updated, mayGoOn: mayGoOn, &entered, &event, &other)
            return lookAgain(step, &guarded.machine, &event, &other)
        }
        if let entered { return show(state, taken, entered, nil, nests: nests) }
        return step
    }

    /// The same with the task-local values of the sender.
    @usableFromInline
    func take(
        _ taken: Event, with baggage: Baggage, _ state: inout State, _ observer: Observer?, mayGoOn: Bool, nests: Bool,
        _ event: inout Event?, _ other: inout Machine.Other?
    ) -> Machine.Step {
        var step = Machine.Step.notTaken
        baggage.bind {
            step = take(taken, &state, observer, mayGoOn: mayGoOn, nests: nests, &event, &other)
        }
        return step
    }

    /// The same with an observer.
    @inlinable
    func takeObserved(_ event: Event, _ state: inout State, _ observer: Observer, nests: Bool) -> Machine.Step {
        let old = state
        observer.base.loopWillReduce(event, in: old)
        let reduction = reduce(&state, event)
        switch reduction {
        case .handled, .updated: break
        case .stay:
            state = old
            return .notTaken
        case .unhandled:
            state = old
            guarded.withLock { $0.machine.noteUnhandled() }
            observer.base.loopDidNotHandle(event, in: old)
            return .notTaken
        }
        let isUpdate = reduction == .updated
        let entered = guarded.withLock { $0.machine.enter(state, isUpdate: isUpdate) }
        if isUpdate {
            observer.base.loopDidUpdate(from: old, to: state, on: event)
        } else {
            observer.base.loopDidTransition(from: old, to: state, on: event)
        }
        return show(state, event, entered, observer, nests: nests)
    }

    /// Shows a state to everybody, now or later on this thread. Answers the next step.
    @inlinable
    func show(
        _ state: State, _ event: Event, _ entered: Machine.Entered, _ observer: Observer?, nests: Bool
    ) -> Machine.Step {
        guard nests else {
            show(state, event, entered, observer)
            return .notTaken
        }
        guard SendersStack.enter() else {
            let showing = Baggage.carried { [self] in show(state, event, entered, observer) }
            SendersStack.putOff { [self] in
                showing()
                turn(taking: nil, in: state, .notTaken, nil, executor: nil, observer)
            }
            return .putOff
        }
        show(state, event, entered, observer)
        SendersStack.leave()
        return .notTaken
    }

    /// Ends what the new state ends, and shows it to everybody.
    @inlinable
    func show(_ state: State, _ event: Event, _ entered: Machine.Entered, _ observer: Observer?) {
        if !entered.endings.isEmpty { end(entered.endings, observer) }
        for watcher in entered.watchers where !watcher.hasLeft.load(ordering: .acquiring) { watcher.see(state) }
        let cause: Event? = event
        var index = 0
        while index < entered.feedbacks.count {
            show(state, cause, to: entered.feedbacks[index], observer)
            index += 1
        }
    }

    /// Starts a source.
    @usableFromInline
    func connect(_ member: Machine.Member, _ observer: Observer?) {
        guard case .source(let subscribe) = member.kind,
            let opened = open(Starting(member: member, observer: observer), endsAtStop: true)
        else { return }
        let run = opened.run
        let inner = subscribe(send(from: nil))
        // Ending the source is all there is to it: once cancelled, the run is over.
        let subscription = Subscription {
            inner.cancel()
            self.finish(run)
        }
        if guarded.withLock({ $0.machine.attach(.source(subscription), to: run) }) { subscription.cancel() }
    }

    /// Shows a state to a feedback and starts its side effect.
    @inlinable
    func show(_ state: State, _ event: Event?, to member: Machine.Member, _ observer: Observer?) {
        if let condition = member.condition, event != nil, condition(state) {
            end(guarded.withLock { $0.machine.cancelRuns(of: member.slot) }, observer)
        }
        switch member.kind {
        case .answer(let answer):
            if member.executor == nil {
                if let event = answer(state, event) { emit(event, from: member.slot) }
            } else {
                start(.call { answer(state, event) }, Starting(member: member, observer: observer))
            }
        case .receive(let receive):
            let effect = receive(state, event)
            guard effect.box == nil else {
                return start(effect, Starting(member: member, observer: observer))
            }
            switch effect.kind {
            case .nothing: break
            case .event(let event): emit(event, from: member.slot)
            case .call(let body) where member.executor == nil:
                if let event = body() { emit(event, from: member.slot) }
            default: start(effect, Starting(member: member, observer: observer))
            }
        case .source: break
        }
    }

    /// Queues what a feedback emits at once, within a run or within none.
    @inlinable
    func emit(_ event: Event, from feedback: Int, within run: RunID? = nil) {
        // Only this turn changes the serial.
        let baggage = Baggage.present
        let sent = withMailbox { $0.machine.emit(event, from: feedback, within: run, baggage: baggage) }
        if sent.result != .accepted || !sent.evicted.isEmpty { report(sent, of: event) }
    }

    /// A side effect has ended, or its own part.
    @inlinable
    func finish(_ run: RunID) {
        guard
            let (closed, observer) = withMailbox({ guarded in
                guarded.machine.closeRun(run).map { ($0, guarded.surroundings.observer) }
            })
        else { return }
        carryOut(closed, observer)
    }

    /// Carries out the consequences of the end of a side effect.
    @inlinable
    func carryOut(_ closed: Machine.Closed, _ observer: Observer?) {
        if !closed.endings.isEmpty { end(closed.endings, observer) }
        if closed.stopped { didStop() }
        guard let observer, let over = closed.over else { return }
        observer.base.loopDidEndEffect(over.run, of: name(ofSlot: over.feedback))
        release()
    }

    /// Cancels side effects.
    @inlinable
    func end(_ endings: [Machine.Ending], _ observer: Observer?) {
        for ending in endings {
            if ending.mustTell, let observer { tellCancelled(ending.run, of: ending.feedback, observer) }
            ending.handle?.end()
            if ending.mustTell { carryOut(guarded.withLock { $0.machine.noteTold(ending.run) }, observer) }
        }
    }

    /// The name of a feedback, for observers.
    @inlinable
    func name(ofSlot slot: Int) -> String {
        guarded.withLock { $0.machine.member(ofSlot: slot) }?.name ?? ""
    }

    @inlinable
    func tellCancelled(_ run: RunID, of feedback: Int, _ observer: Observer) {
        observer.base.loopDidCancelEffect(run, of: name(ofSlot: feedback))
    }
}
