public import Synchronization

// The beginning and the end of a loop.
extension LoopCore {
    /// Starts the loop. Every feedback and watcher is in place before the initial state is shown.
    ///
    /// - Parameter isPaused: A Boolean value that indicates whether it takes no event until it is resumed.
    /// - Returns: `false` if it had been started before.
    @inlinable
    func start(isPaused: Bool = false) -> Bool {
        beTraced()
        let started: Bool? = guarded.withLock { guarded in
            let needsTurn = guarded.machine.start(isPaused: isPaused)
            let takesLetters =
                guarded.surroundings.executor != nil && guarded.machine.limit == .max && guarded.machine.size == nil
            if needsTurn != nil, takesLetters { inbox.open() }
            return needsTurn
        }
        guard let needsTurn = started else { return false }
        if needsTurn { schedule() }
        return true
    }

    /// Starts the loop and returns when it has stopped. Cancelling the task cancels the loop.
    @usableFromInline
    func run() async {
        _ = start()
        await withTaskCancellationHandler {
            await stopped()
        } onCancel: {
            cancel()
        }
    }

    /// Returns when the loop has stopped and nothing of it runs.
    @usableFromInline
    func stopped() async {
        await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
            add(EndWaiter { continuation.resume() })
        }
    }

    /// A Boolean value that indicates whether the loop has stopped and has called all who wait for it.
    var isOver: Bool { guarded.withLock { $0.hasToldEnd } }

    /// Calls `body` when the loop has stopped and nothing of it runs, unless the subscription has ended by then.
    func whenStopped(_ body: @escaping @Sendable () -> Void) -> Subscription {
        let waiter = EndWaiter(body)
        add(waiter)
        return Subscription { [weak self] in
            // Released after the lock, because the release may run other code.
            let left = self?.guarded.withLock { guarded in
                let index = guarded.waiters.firstIndex { $0 === waiter }
                return index.map { guarded.waiters.remove(at: $0) }
            }
            withExtendedLifetime(left) {}
        }
    }

    /// Calls a waiter at the end of the loop.
    private func add(_ waiter: EndWaiter) {
        let isOver = guarded.withLock { guarded in
            if guarded.hasToldEnd { return true }
            guarded.waiters.append(waiter)
            return false
        }
        if isOver { waiter.tell() }
    }

    /// Stops gently. The loop accepts no more events and starts no more side effects. It takes the waiting events, and shows
    /// their states to feedbacks that only look or answer at once. Sources and timers end; running side effects may finish.
    /// Past the limit, or if the calling task is cancelled, the loop is cancelled. A loop that is not started ends at once,
    /// and drops and counts the waiting events.
    ///
    /// In a side effect of the same loop it begins the stop and returns at once, since it would wait for its own end.
    ///
    /// - Parameter limit: how long side effects may take, by the loop's clock.
    @usableFromInline
    func stop(within limit: Duration = .seconds(5)) async {
        beginStop()
        if OwnEffect.isCurrent(of: self) { return }
        let (isOver, mayTakeTime) = guarded.withLock { guarded in
            (guarded.hasToldEnd, guarded.machine.isBusy)
        }
        if isOver { return }
        await withTaskCancellationHandler {
            // A cancellation cannot shorten the running turn, so without effects and events no limit is needed.
            guard mayTakeTime else { return await stopped() }
            await withTaskGroup(of: Void.self) { group in
                group.addTask { [clock] in
                    guard (try? await clock.sleep(for: limit)) != nil else { return }
                    self.cancel()
                }
                await stopped()
                group.cancelAll()
            }
        } onCancel: {
            cancel()
        }
    }

    /// Begins a gentle stop and returns at once. ``stopped()`` waits for its end.
    ///
    /// - Parameter takingOutcomes: A Boolean value that indicates whether the loop still takes events of running side
    ///   effects.
    /// - Returns: The number of discarded events.
    @usableFromInline @discardableResult
    func beginStop(takingOutcomes: Bool = false) -> Int {
        close { $0.beginStop(takingOutcomes: takingOutcomes) }
    }

    /// Begins a gentle stop for a side effect, unless the side effect has been cancelled.
    @usableFromInline
    func beginStop(by origin: Machine.Origin?) {
        close(by: origin) { $0.beginStop() }
    }

    /// Stops hard and returns at once. The loop drops and counts the waiting events and cancels side effects.
    /// ``stopped()`` waits for their end.
    ///
    /// - Returns: The number of discarded events.
    @usableFromInline @discardableResult
    func cancel() -> Int {
        close { $0.cancel() }
    }

    /// Carries out the end of the loop, and returns the number of discarded events. For a side effect that has been
    /// cancelled, it does nothing.
    @discardableResult
    private func close(by origin: Machine.Origin? = nil, _ change: (inout Machine) -> Machine.Closing) -> Int {
        let (closing, observer) = guarded.withLock { guarded in
            if let origin, guarded.machine.isRefused(origin) {
                return (Machine.Closing(), guarded.surroundings.observer)
            }
            // A closed inbox refuses further events at once.
            if inbox.isOpen { guarded.machine.receive(inbox.close()) }
            return (change(&guarded.machine), guarded.surroundings.observer)
        }
        end(closing.endings, observer)
        if let observer {
            for event in closing.discarded { observer.base.loopDidDrop(event, because: .stopped) }
        }
        for marker in closing.markers { marker() }
        for letter in closing.letters { letter.tell?(.dropped(.stopped)) }
        if closing.needsTurn { schedule() }
        if closing.isHeld { release() }
        if closing.stopped { didStop() }
        return closing.discarded.count
    }

    /// Calls the observer, the watchers and the waiters at the end of the loop; called once.
    @usableFromInline
    func didStop() {
        let (watchers, observer, state) = guarded.withLock { guarded in
            (
                guarded.machine.takeWatchers(),
                // An observer sees the end only of a loop of which it has seen the beginning.
                guarded.machine.hasBegun ? guarded.surroundings.observer : nil, guarded.machine.state
            )
        }
        observer?.base.loopDidStop(with: state)
        for watcher in watchers { watcher.finish() }
        // Last: code that waits for the end can rely on the observer and the watchers knowing it.
        let waiters = guarded.withLock { guarded in
            defer { guarded.waiters = [] }
            guarded.hasToldEnd = true
            return guarded.waiters
        }
        for waiter in waiters { waiter.tell() }
    }

    /// Takes no event any more until it is resumed.
    @usableFromInline
    func pause() -> Bool {
        withMailbox { $0.machine.pause() }
    }

    /// Takes events again.
    @usableFromInline
    func resume() -> Bool {
        guard let needsTurn = withMailbox({ $0.machine.resume() }) else { return false }
        if needsTurn { schedule() }
        return true
    }
}
