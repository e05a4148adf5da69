/// Puts events into the loop that handed it out.
///
/// It does not keep the loop alive. Once the side effect it was given to has been cancelled, what it sends is withdrawn.
public struct Send<Event: Sendable>: Sendable {
    /// The loop's clock, for side effects that wait.
    public let clock: any Clock<Duration>
    private let body: @Sendable (Event) -> SendResult

    package init(clock: any Clock<Duration>, body: @escaping @Sendable (Event) -> SendResult) {
        self.clock = clock
        self.body = body
    }

    /// Queues an event and says whether it was accepted.
    @discardableResult
    public func callAsFunction(_ event: Event) -> SendResult {
        body(event)
    }
}

/// A side effect: work outside the loop whose events come back into it.
public struct Effect<Event: Sendable>: Sendable {
    /// What there is to do.
    @usableFromInline
    package indirect enum Kind: Sendable {
        case nothing
        case event(Event)
        case events([Event])
        /// Quick enough for the loop's turn, unless the feedback has an executor of its own.
        case call(@Sendable () -> Event?)
        case task(@Sendable (Send<Event>) async -> Void)
        /// Ends without waiting when the loop stops.
        case timer(Duration, Event)
        case cancel(EffectID)
        case all([Effect])
    }
    @usableFromInline package let kind: Kind
    /// Its name; `nil`: none.
    @usableFromInline package var id: EffectID?
    /// Whether it takes the place of an effect of its name that runs, or is itself not started.
    @usableFromInline package var replaces = true

    @inlinable
    package init(kind: Kind) {
        self.kind = kind
    }

    /// No side effect.
    @inlinable
    public static var nothing: Effect { Effect(kind: .nothing) }

    /// Emits one event at once, without leaving the loop's turn.
    @inlinable
    public static func just(_ event: Event) -> Effect { Effect(kind: .event(event)) }

    /// Emits events at once, in order, without leaving the loop's turn.
    @inlinable
    public static func just(_ events: [Event]) -> Effect { Effect(kind: .events(events)) }

    /// Calls a function and emits what it returns: on the loop's turn, or, if the feedback has an executor of its own
    /// (``Feedback/execute(on:)``), in a task there.
    @inlinable
    public static func call(_ body: @escaping @Sendable () -> Event?) -> Effect { Effect(kind: .call(body)) }

    /// Runs an async function that sends as many events as it likes.
    ///
    /// Cancelling the effect cancels the task the function runs in; a function that ignores this delays the end of
    /// the loop, and what it still sends is withdrawn.
    public static func run(_ body: @escaping @Sendable (Send<Event>) async -> Void) -> Effect {
        Effect(kind: .task(body))
    }

    /// Runs an async function and emits what it returns.
    public static func task(_ body: @escaping @Sendable () async -> Event?) -> Effect {
        run { send in
            if let event = await body() { send(event) }
        }
    }

    /// Emits the elements of a sequence as they come.
    public static func sequence<S: AsyncSequence & Sendable>(_ sequence: S) -> Effect
    where S.Element == Event, S.Failure == Never {
        run { send in
            for await event in sequence { send(event) }
        }
    }

    /// Emits an event once, when the loop's clock has advanced by `delay`.
    public static func after(_ delay: Duration, _ event: Event) -> Effect {
        Effect(kind: .timer(delay, event))
    }

    // MARK: Names

    /// Gives the effect a name.
    ///
    /// Of one name at most one effect runs in a loop. If one runs already, it is cancelled, and what it has emitted and
    /// the loop has not taken is withdrawn; or, with `replacing` false, the new one is not started.
    public func id(_ id: some Hashable & Sendable, replacing: Bool = true) -> Effect {
        var copy = self
        copy.id = EffectID(id)
        copy.replaces = replacing
        return copy
    }

    /// Cancels the effect of this name, if one runs, and withdraws what it has emitted and the loop has not taken.
    public static func cancel(id: some Hashable & Sendable) -> Effect { Effect(kind: .cancel(EffectID(id))) }

    /// Starts several effects, in order.
    public static func all(_ effects: [Effect]) -> Effect { Effect(kind: .all(effects)) }

    /// Starts after a while in which no other effect of the name was started: each new one begins the wait anew.
    public func debounce(id: some Hashable & Sendable, for quiet: Duration) -> Effect {
        let effect = self
        return Effect.run { send in
            guard (try? await send.clock.sleep(for: quiet)) != nil else { return }
            await effect.perform(send)
        }.id(id)
    }

    /// Starts unless one of the name was started less than `interval` ago; one that still runs counts too.
    public func throttle(id: some Hashable & Sendable, for interval: Duration) -> Effect {
        let effect = self
        return Effect.run { send in
            await withTaskGroup(of: Void.self) { group in
                group.addTask { try? await send.clock.sleep(for: interval) }
                await effect.perform(send)
            }
        }.id(id, replacing: false)
    }

    /// Cancels the effect when it has run so long, and emits `event` instead of what it might still have emitted.
    public func timeout(after limit: Duration, _ event: Event) -> Effect {
        let effect = self
        return Effect.run { send in
            let isOver = await withTaskGroup(of: Bool.self) { group in
                group.addTask {
                    await effect.perform(send)
                    return !Task.isCancelled
                }
                group.addTask { (try? await send.clock.sleep(for: limit)) == nil }
                let first = await group.next() ?? true
                group.cancelAll()
                return first
            }
            if !isOver { send(event) }
        }
    }

    /// Does what the effect does, within a task.
    private func perform(_ send: Send<Event>) async {
        switch kind {
        case .nothing, .cancel: break
        case .event(let event): send(event)
        case .events(let events): for event in events { send(event) }
        case .call(let body): if let event = body() { send(event) }
        case .task(let body): await body(send)
        case .timer(let delay, let event):
            guard (try? await send.clock.sleep(for: delay)) != nil else { return }
            send(event)
        case .all(let effects):
            await withTaskGroup(of: Void.self) { group in
                for effect in effects { group.addTask { await effect.perform(send) } }
            }
        }
    }
}
