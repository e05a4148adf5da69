public import Synchronization

// The start of effects. It happens on the loop's turn, so only one effect starts at a time.
extension LoopCore {
    /// The context of an effect that starts: its feedback, the observer, the enclosing run and the options.
    @usableFromInline
    struct Starting: Sendable {
        @usableFromInline let member: Machine.Member
        @usableFromInline let observer: Observer?
        /// The enclosing run, if the effect is part of another one.
        @usableFromInline var outer: RunID?
        @usableFromInline var options = EffectOptions()

        @inlinable
        init(member: Machine.Member, observer: Observer?) {
            self.member = member
            self.observer = observer
        }

        /// The slot of the feedback.
        @inlinable var index: Int { member.slot }

        /// Returns the context of a part of the effect, without options.
        @inlinable
        func within(_ run: RunID) -> Starting {
            var part = self
            part.outer = run
            part.options = EffectOptions()
            return part
        }
    }

    /// Starts an effect.
    @inlinable
    func start(_ effect: Effect<Event>, _ starting: Starting) {
        var context = starting
        context.options = effect.options
        switch effect.kind {
        case .nothing:
            replacePrevious(context)
            // An empty effect with a name cancels the running effect of that name.
            if let id = context.options.id, context.options.replaces { cancel(id, context) }
        case .event(let event):
            startAtOnce(context) { emit(event, from: context.index, within: $0) }
        case .events(let events):
            startAtOnce(context) { run in
                for event in events { emit(event, from: context.index, within: run) }
            }
        case .call(let body):
            if let executor = context.member.executor { return startCall(body, on: executor.base, context) }
            startAtOnce(context) { run in
                if let event = body() { emit(event, from: context.index, within: run) }
            }
        case .task(let body): startTask(body, context)
        case .subscribe(let subscribe): startSubscription(subscribe, context)
        case .timer(let delay, let event): startTimer(delay, event, context)
        case .cancel(let id):
            replacePrevious(context)
            if let name = context.options.id, context.options.replaces { cancel(name, context) }
            cancel(id, context)
        case .all(let parts): startAll(parts, context)
        case .waiting(let pause, let then): startWaiting(pause, then, context, isPlain: effect.box == nil)
        case .throttled(let interval, let inner): startThrottled(inner, interval, context)
        case .limited(let limit, let event, let inner): startLimited(inner, limit, event, context)
        }
    }

    // MARK: Of one piece

    /// Emits events at once. With a name, they belong to an effect that has ended, and can still be withdrawn.
    @inlinable
    func startAtOnce(_ context: Starting, _ emit: (_ run: RunID?) -> Void) {
        guard context.options.id != nil else {
            replacePrevious(context)
            return emit(context.outer)
        }
        guard let opened = open(context) else { return }
        emit(opened.run)
        finish(opened.run)
    }

    @inlinable
    func startTask(
        _ body: @escaping @Sendable (Send<Event>) async throws -> Void, _ context: Starting, endsAtStop: Bool = false
    ) {
        guard let opened = open(context, endsAtStop: endsAtStop) else { return }
        let (run, send, member) = (opened.run, send(from: opened.origin), context.member)
        let baggage = Baggage.present
        let task = Task.detached(executorPreference: taskExecutor(context)) {
            await OwnEffect.run(of: self, with: baggage) {
                do {
                    try await body(send)
                } catch {
                    self.fail(LoopFault(feedback: member.name, error: error), of: run)
                }
            }
            self.finish(run)
        }
        attach(.task(task), to: run)
    }

    /// Returns the task executor of a feedback's async functions, or `nil` for Swift's global concurrent executor.
    @inlinable
    func taskExecutor(_ context: Starting) -> (any TaskExecutor)? {
        guard let executor = context.member.executor else {
            return guarded.withLock { $0.surroundings.executor?.taskExecutor }
        }
        return executor.base.taskExecutor
    }

    /// Calls a quick function on the executor of the feedback.
    @inlinable
    func startCall(_ body: @escaping @Sendable () -> Event?, on executor: any LoopExecutor, _ context: Starting) {
        guard let opened = open(context) else { return }
        let (run, send) = (opened.run, send(from: opened.origin))
        executor.enqueue(
            Baggage.carried {
                let isCancelled = self.guarded.withLock { $0.machine.isCancelled(run) }
                if !isCancelled, let event = body() { send(event) }
                self.finish(run)
            })
    }

    /// Starts an activity that goes on by itself, on this turn or on the executor of the feedback.
    @inlinable
    func startSubscription(_ subscribe: @escaping Effect<Event>.Subscribe, _ context: Starting) {
        guard let opened = open(context) else { return }
        let (run, send) = (opened.run, send(from: opened.origin))
        let finish: @Sendable () -> Void = { self.finish(run) }
        let inner: Subscription
        if let executor = context.member.executor {
            let late = LateSubscription()
            executor.base.enqueue(Baggage.carried { late.begin { subscribe(send, finish) } })
            inner = Subscription { late.cancel() }
        } else {
            inner = subscribe(send, finish)
        }
        // The run has no other part, so it is over after the cancellation.
        let subscription = Subscription {
            inner.cancel()
            finish()
        }
        attach(.source(subscription), to: run)
    }

    // MARK: Waits

    /// Emits an event after a delay. A gentle stop ends the wait.
    @inlinable
    func startTimer(_ delay: Duration, _ event: @escaping @Sendable () -> Event, _ context: Starting) {
        guard let opened = open(context, endsAtStop: true) else { return }
        let origin = opened.origin
        wait(delay, for: opened.run, context) { done in self.offer(event(), from: origin, done) }
    }

    /// Calls a function after a delay, unless the run is cancelled before. The run is over when the function calls
    /// `done`.
    ///
    /// On the continuous clock no task waits, unless the feedback, or else its loop, has a task executor. A test of
    /// such a wait uses a clock of its own, so it takes the second path.
    @inlinable
    func wait(
        _ delay: Duration, until end: EffectPause<Event>.End? = nil, for run: RunID, _ context: Starting,
        unless interruption: Interruption? = nil,
        then body: @escaping @Sendable (_ done: @escaping @Sendable () -> Void) -> Void
    ) {
        let executor = taskExecutor(context)
        let finish: @Sendable () -> Void = { self.finish(run) }
        if clock is ContinuousClock, executor == nil {
            let call = Baggage.carried { (interruption?.end() ?? true) ? body(finish) : finish() }
            let alarm = end?.instant.map { Alarms.shared.set(at: $0, call) } ?? Alarms.shared.set(after: delay, call)
            let subscription = Subscription {
                alarm.cancel()
                interruption?.end()
                finish()
            }
            attach(.source(subscription), to: run)
            interruption?.arm { subscription.cancel() }
            return
        }
        let baggage = Baggage.present
        let sleep = end?.sleep ?? Self.sleep(for: delay, on: clock)
        let task = Task.detached(executorPreference: executor) {
            let isDue = (try? await sleep()) != nil
            if interruption?.end() ?? true, isDue {
                await withCheckedContinuation { continuation in
                    let resume: @Sendable () -> Void = { continuation.resume() }
                    if let baggage { baggage.bind { body(resume) } } else { body(resume) }
                }
            }
            finish()
        }
        attach(.task(task), to: run)
        interruption?.arm { task.cancel() }
    }

    /// Returns a function that waits until a delay from now has passed.
    @usableFromInline
    static func sleep<C: Clock<Duration>>(for delay: Duration, on clock: C) -> @Sendable () async throws -> Void {
        let end = clock.now.advanced(by: delay)
        return { try await clock.sleep(until: end, tolerance: nil) }
    }

    /// Queues an event of a side effect by the overflow policy, and calls `done` when the event is taken or dropped.
    @inlinable
    func offer(_ event: Event, from origin: Machine.Origin, _ done: @escaping @Sendable () -> Void) {
        let baggage = Baggage.present
        let (sent, waits) = withMailbox {
            $0.machine.sendWaiting(event, origin: origin, always: false, baggage: baggage) { _ in done() }
        }
        if sent.needsTurn { schedule() }
        if sent.result != .accepted || !sent.evicted.isEmpty { report(sent, of: event) }
        if !waits { done() }
    }

    // MARK: Of several pieces

    /// Starts an effect of several parts. Its run is over when all runs that `fill` starts within it are over.
    @inlinable
    func startWhole(_ context: Starting, _ fill: (Machine.Opened, Starting) -> Void) {
        guard let opened = open(context) else { return }
        fill(opened, context.within(opened.run))
        finish(opened.run)
    }

    @inlinable
    func startAll(_ parts: [Effect<Event>], _ context: Starting) {
        guard context.options.id == nil else {
            return startWhole(context) { _, inner in
                for part in parts { start(part, inner) }
            }
        }
        replacePrevious(context)
        for part in parts { start(context.options.endsAtStop ? part.untilStop() : part, context) }
    }

    /// Starts an effect, unless another effect of its name was started within the interval before.
    @usableFromInline
    func startThrottled(
        _ inner: @Sendable () -> Effect<Event>, _ interval: Duration, _ context: Starting
    ) {
        guard let id = context.options.id else { return start(inner(), context) }
        let throttles = throttles()
        guard throttles.mayStart(id, after: interval) else { return }
        startWhole(context) { _, part in
            throttles.noteStart(id, interval, by: clock)
            start(inner(), part)
        }
    }

    private func throttles() -> Throttles {
        if let known = guarded.withLock({ $0.throttles }) { return known }
        let new = Throttles()
        guarded.withLock { $0.throttles = new }
        return new
    }

    /// Starts an effect with a time limit.
    @usableFromInline
    func startLimited(
        _ inner: Effect<Event>, _ limit: Duration, _ event: @escaping @Sendable () -> Event, _ context: Starting
    ) {
        startWhole(context) { whole, part in
            // The limit is opened first, because the effect must not run without it.
            guard let opened = open(part, isGuard: true) else { return }
            start(inner, part)
            // An effect that is already over needs no limit.
            guard guarded.withLock({ $0.machine.hasInner(whole.run) }) else { return self.finish(opened.run) }
            wait(limit, for: opened.run, part) { done in
                self.expire(whole.run, whole.origin, event())
                done()
            }
        }
    }

    @usableFromInline
    func expire(_ run: RunID, _ origin: Machine.Origin, _ event: Event) {
        let baggage = Baggage.present
        let (expired, observer) = withMailbox {
            ($0.machine.expire(run, origin: origin, event: event, baggage: baggage), $0.surroundings.observer)
        }
        guard let expired else { return }
        if expired.sent.needsTurn { schedule() }
        if expired.sent.result != .accepted || !expired.sent.evicted.isEmpty { report(expired.sent, of: event) }
        end(expired.endings, observer)
    }

    // MARK: Of any kind

    /// Opens a run for an effect, and ends the effects that it replaces. Returns `nil` if the effect must not start:
    /// because of a running effect of its name, a stop of the loop, or a cancellation of the enclosing run.
    @inlinable
    func open(_ context: Starting, endsAtStop: Bool = false, isGuard: Bool = false) -> Machine.Opened? {
        var id = context.options.id
        var replaced: RunID?
        if let name = id, let known = run(named: name) {
            if isOuter(known, context) {
                // The outer effect has the name for it.
                id = nil
            } else {
                guard context.options.replaces || !guarded.withLock({ $0.machine.holdsName(known) }) else { return nil }
                replaced = known
            }
        }
        let opened = guarded.withLock {
            $0.machine.openRun(
                of: context.index, endsAtStop: endsAtStop || context.options.endsAtStop, id: id, replacing: replaced,
                endsPrevious: context.options.endsPrevious, within: context.outer, isGuard: isGuard)
        }
        guard let opened else { return nil }
        if !opened.endings.isEmpty { end(opened.endings, context.observer) }
        if context.outer == nil, let observer = context.observer { announce(opened.run, context, observer) }
        return opened
    }

    /// Reports a new effect to the observer, and also its cancellation if that happened in the meantime.
    @inlinable
    func announce(_ run: RunID, _ context: Starting, _ observer: Observer) {
        observer.base.loopDidStartEffect(run, of: context.member.name)
        guard guarded.withLock({ $0.machine.announce(run) }) else { return }
        observer.base.loopDidCancelEffect(run, of: context.member.name)
        carryOut(guarded.withLock { $0.machine.noteTold(run) }, observer)
    }

    /// Keeps the handle of a run. If the run has been cancelled in the meantime, this ends it now.
    @inlinable
    func attach(_ handle: Handle, to run: RunID) {
        if guarded.withLock({ $0.machine.attach(handle, to: run) }) { handle.end() }
    }

    /// Cancels the running effects of the feedback, if the new effect replaces them.
    @inlinable
    func replacePrevious(_ context: Starting) {
        guard context.options.endsPrevious else { return }
        end(guarded.withLock { $0.machine.replaceRuns(of: context.index, within: context.outer) }, context.observer)
    }

    /// Cancels the effect of a name, unless it encloses the cancelling effect.
    @inlinable
    func cancel(_ id: EffectID, _ context: Starting) {
        guard let known = run(named: id), !isOuter(known, context) else { return }
        end(guarded.withLock { $0.machine.cancelRun(known) }, context.observer)
    }

    @inlinable
    func isOuter(_ run: RunID, _ context: Starting) -> Bool {
        guard let outer = context.outer else { return false }
        return guarded.withLock { $0.machine.isWithin(outer, run) }
    }
}
