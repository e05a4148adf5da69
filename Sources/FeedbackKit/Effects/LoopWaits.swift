public import Synchronization

// Effects that wait and then go on.
extension LoopCore {
    /// Starts an effect that waits and then goes on.
    ///
    /// The wait is a run within the run of the effect. So the effect is over when it does not go on.
    ///
    /// - Parameter isPlain: A Boolean value that indicates whether the effect has no options of its own. Its
    ///   continuation then belongs to the same run, so the depth of runs does not grow.
    @inlinable
    func startWaiting(
        _ pause: EffectPause<Event>, _ then: @escaping @Sendable () -> Effect<Event>.Continuation, _ context: Starting,
        isPlain: Bool
    ) {
        if isPlain, context.outer != nil { return startPause(pause, then, context) }
        startWhole(context) { _, part in startPause(pause, then, part) }
    }

    @inlinable
    func startPause(
        _ pause: EffectPause<Event>, _ then: @escaping @Sendable () -> Effect<Event>.Continuation, _ context: Starting
    ) {
        switch pause {
        case .none:
            guard let opened = open(context, endsAtStop: true) else { return }
            // A marker first, so that the decision is behind the events that later feedbacks send for the same state.
            afterPending {
                self.goOn(then, context, after: opened.run) { self.finish(opened.run) }
            }
        case .delay(let delay, let end, let interruption):
            guard let opened = open(context, endsAtStop: true) else { return }
            wait(delay, until: end, for: opened.run, context, unless: interruption) { done in
                self.goOn(then, context, after: opened.run, done)
            }
        case .task(let endsAtStop, let interruption, let body):
            guard let opened = open(context, endsAtStop: endsAtStop) else { return }
            let (run, send, baggage) = (opened.run, send(from: opened.origin), Baggage.present)
            let task = Task.detached(executorPreference: taskExecutor(context)) {
                await OwnEffect.run(of: self, with: baggage) { await body(send) }
                guard interruption?.end() ?? true, !Task.isCancelled else { return self.finish(run) }
                Baggage.bind(baggage) { self.goOn(then, context, after: run) { self.finish(run) } }
            }
            attach(.task(task), to: run)
            interruption?.arm { task.cancel() }
        }
    }

    /// Goes on after a wait, on the turn, when all earlier events have been taken. Calls `done` then.
    @inlinable
    func goOn(
        _ then: @escaping @Sendable () -> Effect<Event>.Continuation, _ context: Starting, after wait: RunID,
        _ done: @escaping @Sendable () -> Void
    ) {
        whenDue(
            { [self] in
                // The wait ends only after the begin of the continuation. Otherwise the effect would be over.
                defer { done() }
                guard guarded.withLock({ $0.machine.goesOn(after: wait) }) else { return nil }
                let next = then()
                start(next.effect, context)
                return next.event
            }, ended: done)
    }
}
