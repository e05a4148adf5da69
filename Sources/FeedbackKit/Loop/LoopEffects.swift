public import Synchronization

// How effects start. All of it happens on the loop's turn, so that only one effect is being started at a time.
extension LoopCore {
    /// What belongs to an effect that is being started: whose it is, what it is within, who is told.
    @usableFromInline
    struct Starting: Sendable {
        @usableFromInline let member: Machine.Member
        @usableFromInline let index: Int
        @usableFromInline let observer: Observer?
        /// The run it is within.
        @usableFromInline var outer: RunID?
        @usableFromInline var options = EffectOptions()

        @inlinable
        init(member: Machine.Member, index: Int, observer: Observer?) {
            self.member = member
            self.index = index
            self.observer = observer
        }

        /// For a part of the effect, of which nothing is said yet.
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
            // Under a name, nothing takes the place of what runs.
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
        case .timer(let delay, let event):
            startTask(
                { send in
                    guard (try? await send.clock.sleep(for: delay)) != nil else { return }
                    await send.offer(event())
                }, context, endsAtStop: true)
        case .cancel(let id):
            replacePrevious(context)
            if let name = context.options.id, context.options.replaces { cancel(name, context) }
            cancel(id, context)
        case .all(let parts): startAll(parts, context)
        case .delayed(let delay, let inner): startDelayed(inner, by: delay, context)
        case .throttled(let interval, let inner): startThrottled(inner, interval, context)
        case .limited(let limit, let event, let inner): startLimited(inner, limit, event, context)
        }
    }

    // MARK: Of one piece

    /// Emits events at once: under a name they count as an effect that is over, but can still be withdrawn.
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
        let task = Task.detached(executorPreference: taskExecutor(context)) {
            do {
                try await body(send)
            } catch {
                self.fail(LoopFault(feedback: member.name, error: error), of: run)
            }
            self.finish(run)
        }
        attach(.task(task), to: run)
    }

    /// Where the async functions of a feedback run.
    @inlinable
    func taskExecutor(_ context: Starting) -> (any TaskExecutor)? {
        guard let executor = context.member.executor else {
            return guarded.withLock { $0.surroundings.executor?.taskExecutor }
        }
        return executor.base.taskExecutor
    }

    /// A quick function, where the feedback's executor says.
    @inlinable
    func startCall(_ body: @escaping @Sendable () -> Event?, on executor: any LoopExecutor, _ context: Starting) {
        guard let opened = open(context) else { return }
        let (run, send) = (opened.run, send(from: opened.origin))
        executor.enqueue {
            let isCancelled = self.guarded.withLock { $0.machine.isCancelled(run) }
            if !isCancelled, let event = body() { send(event) }
            self.finish(run)
        }
    }

    /// Something that goes on by itself, begun on this turn.
    @inlinable
    func startSubscription(_ subscribe: @escaping Effect<Event>.Subscribe, _ context: Starting) {
        guard let opened = open(context) else { return }
        let (run, send) = (opened.run, send(from: opened.origin))
        let finish: @Sendable () -> Void = { self.finish(run) }
        let inner: Subscription
        if let executor = context.member.executor {
            let late = LateSubscription()
            executor.base.enqueue { late.begin { subscribe(send, finish) } }
            inner = Subscription { late.cancel() }
        } else {
            inner = subscribe(send, finish)
        }
        // Ending it is all there is to it: once cancelled, the run is over.
        let subscription = Subscription {
            inner.cancel()
            finish()
        }
        attach(.source(subscription), to: run)
    }

    // MARK: Of several pieces

    /// An effect made of others: a run that is over when those are that `fill` starts within it.
    @usableFromInline
    func startWhole(_ context: Starting, _ fill: (Machine.Opened, Starting) -> Void) {
        guard let opened = open(context) else { return }
        fill(opened, context.within(opened.run))
        finish(opened.run)
    }

    @usableFromInline
    func startAll(_ parts: [Effect<Event>], _ context: Starting) {
        guard context.options.id == nil else {
            return startWhole(context) { _, inner in
                for part in parts { start(part, inner) }
            }
        }
        replacePrevious(context)
        for part in parts { start(context.options.endsAtStop ? part.untilStop() : part, context) }
    }

    /// An effect that waits first. A gentle stop ends the wait.
    @usableFromInline
    func startDelayed(_ inner: @escaping @Sendable () -> Effect<Event>, by delay: Duration, _ context: Starting) {
        startWhole(context) { _, part in
            guard let opened = open(part, endsAtStop: true) else { return }
            let (wait, clock) = (opened.run, clock)
            let task = Task.detached(executorPreference: taskExecutor(part)) {
                if (try? await clock.sleep(for: delay)) != nil {
                    await withCheckedContinuation { continuation in
                        // Effects start on the turn, behind the events that have been sent before.
                        self.afterPending {
                            self.startDue(inner, part, after: wait)
                            continuation.resume()
                        }
                    }
                }
                self.finish(wait)
            }
            attach(.task(task), to: wait)
        }
    }

    /// The wait is over, unless it has been cancelled.
    @usableFromInline
    func startDue(_ inner: @Sendable () -> Effect<Event>, _ context: Starting, after wait: RunID) {
        guard !guarded.withLock({ $0.machine.isCancelled(wait) }) else { return }
        start(inner(), context)
    }

    /// An effect that does not start too often.
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

    /// An effect that may not take longer than a while.
    @usableFromInline
    func startLimited(
        _ inner: Effect<Event>, _ limit: Duration, _ event: @escaping @Sendable () -> Event, _ context: Starting
    ) {
        startWhole(context) { whole, part in
            // First: no effect is to run without its limit.
            guard let opened = open(part, isGuard: true) else { return }
            start(inner, part)
            // What is over already needs none.
            guard guarded.withLock({ $0.machine.hasInner(whole.run) }) else { return self.finish(opened.run) }
            let (watch, clock) = (opened.run, clock)
            let task = Task.detached(executorPreference: taskExecutor(part)) {
                if (try? await clock.sleep(for: limit)) != nil, !Task.isCancelled {
                    self.expire(whole.run, whole.origin, event())
                }
                self.finish(watch)
            }
            attach(.task(task), to: watch)
        }
    }

    @usableFromInline
    func expire(_ run: RunID, _ origin: Machine.Origin, _ event: Event) {
        let (expired, observer) = withMailbox {
            ($0.machine.expire(run, origin: origin, event: event), $0.surroundings.observer)
        }
        guard let expired else { return }
        if expired.sent.needsTurn { schedule() }
        if expired.sent.result != .accepted || !expired.sent.evicted.isEmpty { report(expired.sent, of: event) }
        end(expired.endings, observer)
    }

    // MARK: Of any kind

    /// Opens a run for an effect, where its name lets it, and ends what it takes the place of.
    @inlinable
    func open(_ context: Starting, endsAtStop: Bool = false, isGuard: Bool = false) -> Machine.Opened? {
        var id = context.options.id
        var replaced: RunID?
        if let name = id, let known = run(named: name) {
            if isOuter(known, context) {
                id = nil  // What it is within bears the name for it.
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

    /// Tells the observer of a new effect, and, if it has been cancelled meanwhile, of that, too.
    @usableFromInline
    func announce(_ run: RunID, _ context: Starting, _ observer: Observer) {
        observer.base.loopDidStartEffect(run, of: context.member.name)
        guard guarded.withLock({ $0.machine.announce(run) }) else { return }
        observer.base.loopDidCancelEffect(run, of: context.member.name)
        carryOut(guarded.withLock { $0.machine.noteTold(run) }, observer)
    }

    /// Keeps what can end the run, or ends it now if it has been cancelled meanwhile.
    @inlinable
    func attach(_ handle: Handle, to run: RunID) {
        if guarded.withLock({ $0.machine.attach(handle, to: run) }) { handle.end() }
    }

    /// Cancels what the same feedback still runs, if the effect is to take its place.
    @inlinable
    func replacePrevious(_ context: Starting) {
        guard context.options.endsPrevious else { return }
        end(guarded.withLock { $0.machine.replaceRuns(of: context.index, within: context.outer) }, context.observer)
    }

    /// Cancels the effect of a name, unless that is what the cancellation is within.
    @usableFromInline
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
