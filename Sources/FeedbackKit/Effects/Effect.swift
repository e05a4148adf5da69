/// Sends events of a side effect to its loop.
///
/// It does not keep the loop alive. After the cancellation of the side effect, the loop refuses its events with
/// ``DropReason/cancelled``. The loop also withdraws the events that still wait, except at a gentle stop.
///
/// Use it while the side effect runs. If a task outlives the effect and still sends, the result depends on the effect:
///
/// - If the effect has a name or is part of another effect, the loop refuses the events as if it had been cancelled.
///   The refusal begins when the loop has taken all earlier events of the effect.
/// - Otherwise the loop accepts the events until the feedback cancels its running side effects.
public struct Send<Event: Sendable>: Sendable {
    /// The clock of the loop, for side effects that wait.
    public let clock: any Clock<Duration>
    @usableFromInline let body: @Sendable (Event) -> SendResult
    @usableFromInline let waiting: @Sendable (Event, WaitPolicy) async -> SendResult
    /// Counts and reports an event that is not offered to the loop.
    @usableFromInline let refuse: @Sendable (Event, DropReason) -> Void
    /// Begins a gentle stop of the loop.
    @usableFromInline let stop: @Sendable () -> Void

    /// A rule for a sender that finds the mailbox full.
    @usableFromInline
    package enum WaitPolicy: Sendable {
        case always
        /// The sender waits only under the overflow policy ``Overflow/block``.
        case ifBlocking
    }

    @inlinable
    package init(
        clock: any Clock<Duration>, body: @escaping @Sendable (Event) -> SendResult,
        waiting: (@Sendable (Event, WaitPolicy) async -> SendResult)? = nil,
        refuse: @escaping @Sendable (Event, DropReason) -> Void = { _, _ in },
        stop: @escaping @Sendable () -> Void = {}
    ) {
        self.clock = clock
        self.body = body
        self.waiting = waiting ?? { event, _ in body(event) }
        self.refuse = refuse
        self.stop = stop
    }

    /// Begins a gentle stop of the loop and returns at once, as ``Loop/beginStop()`` does.
    ///
    /// The loop still takes events that were sent before, and refuses later ones. Running side effects, such as this
    /// one, may finish. A cancelled side effect stops nothing, and neither does a disabled source.
    ///
    /// In a daemon the call is a fault of the system, because only the daemon stops its systems. The system continues.
    public func beginStop() {
        stop()
    }

    /// Returns the same sender, but it calls `stop` in place of a stop of the loop.
    func stopping(by stop: @escaping @Sendable () -> Void) -> Send {
        Send(clock: clock, body: body, waiting: waiting, refuse: refuse, stop: stop)
    }

    /// Returns the same sender, but it drops events and stops nothing while `isDisabled` returns `true`.
    package func disabled(while isDisabled: @escaping @Sendable () -> Bool) -> Send {
        let refuse: @Sendable (Event) -> SendResult = { event in
            self.refuse(event, .disabled)
            return .dropped(.disabled)
        }
        return Send(
            clock: clock,
            body: { isDisabled() ? refuse($0) : self.body($0) },
            waiting: { isDisabled() ? refuse($0) : await self.waiting($0, $1) },
            refuse: self.refuse, stop: { if !isDisabled() { self.stop() } })
    }

    /// Queues an event without waiting for room in the mailbox.
    ///
    /// - Returns: The result: the event was accepted, or dropped for a reason.
    @inlinable
    @discardableResult
    public func callAsFunction(_ event: Event) -> SendResult {
        body(event)
    }

    /// Queues an event. If the mailbox is at its limit, it returns when the event has been taken or dropped. See
    /// ``Loop/sendWhenRoom(_:)``.
    @discardableResult
    public func whenRoom(_ event: Event) async -> SendResult {
        await waiting(event, .always)
    }

    /// Queues an event by the loop's overflow policy. Under ``Overflow/block`` it waits for room.
    @inlinable
    @discardableResult
    package func offer(_ event: Event) async -> SendResult {
        await waiting(event, .ifBlocking)
    }

    /// Returns a sender of another kind of events, which sends the transformed events.
    package func contramap<Other: Sendable>(_ transform: @escaping @Sendable (Other) -> Event) -> Send<Other> {
        Send<Other>(
            clock: clock,
            body: { self.body(transform($0)) },
            waiting: { await self.waiting(transform($0), $1 == .always ? .always : .ifBlocking) },
            refuse: { self.refuse(transform($0), $1) }, stop: stop)
    }
}

/// The name and the rules of an effect. Most effects have none.
@usableFromInline
package struct EffectOptions: Sendable {
    /// The name of the effect, if it has one.
    @usableFromInline package var id: EffectID?
    /// A Boolean value that indicates whether the effect replaces a running effect of its name. If `false`, the effect
    /// does not start while such an effect runs.
    @usableFromInline package var replaces = true
    /// A Boolean value that indicates whether the effect first cancels the running effects of its feedback.
    @usableFromInline package var endsPrevious = false
    /// A Boolean value that indicates whether a gentle stop ends the effect instead of waiting for it.
    @usableFromInline package var endsAtStop = false

    @inlinable
    init() {}
}

/// A side effect: work outside the loop that sends events to the loop.
public struct Effect<Event: Sendable>: Sendable {
    /// A function that starts an activity. The activity goes on by itself after the function returns.
    @usableFromInline
    package typealias Subscribe = @Sendable (Send<Event>, _ finish: @escaping @Sendable () -> Void) -> Subscription

    /// The kind of work.
    @usableFromInline
    package enum Kind: Sendable {
        case nothing
        case event(Event)
        case events([Event])
        /// Calls a function. It must be quick enough for the loop's turn, unless the feedback has its own executor.
        case call(@Sendable () -> Event?)
        case task(@Sendable (Send<Event>) async throws -> Void)
        case subscribe(Subscribe)
        /// Emits an event after a delay. A stop of the loop ends the delay.
        indirect case timer(Duration, @Sendable () -> Event)
        case cancel(EffectID)
        case all([Effect])
        /// Waits, and then goes on with an event or another effect.
        case waiting(EffectPause<Event>, then: @Sendable () -> Continuation)
        /// Starts another effect, unless one was started within this interval before.
        indirect case throttled(Duration, @Sendable () -> Effect)
        /// Ends another effect after a time limit, and emits an event in its place.
        indirect case limited(Duration, @Sendable () -> Event, Effect)
    }
    /// The continuation of an effect after a wait.
    @usableFromInline
    package struct Continuation: Sendable {
        /// An event that the loop takes before any other, or `nil`.
        @usableFromInline let event: Event?
        /// An effect that starts before the event is taken.
        @usableFromInline let effect: Effect

        package init(event: Event? = nil, effect: Effect = .nothing) {
            self.event = event
            self.effect = effect
        }
    }

    @usableFromInline package let kind: Kind
    /// The options in a box, so that the many effects without options stay small.
    @usableFromInline package var box: Box?

    /// A box for options.
    @usableFromInline
    package final class Box: Sendable {
        @usableFromInline let options: EffectOptions
        init(_ options: EffectOptions) { self.options = options }
    }

    @inlinable
    package init(kind: Kind) {
        self.kind = kind
    }

    /// The name and the rules of the effect.
    @inlinable
    package var options: EffectOptions { box?.options ?? EffectOptions() }

    /// Returns the same effect with changed options.
    package func with(_ change: (inout EffectOptions) -> Void) -> Effect {
        var options = options
        change(&options)
        var copy = self
        copy.box = Box(options)
        return copy
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

    /// Calls a function and emits the event that it returns, if any. The call happens on the loop's turn, or on the
    /// feedback's own executor (``Feedback/execute(on:)``).
    @inlinable
    public static func call(_ body: @escaping @Sendable () -> Event?) -> Effect { Effect(kind: .call(body)) }

    /// Runs an async function that sends any number of events.
    ///
    /// A cancellation of the effect cancels the task of the function. A function that ignores the cancellation delays
    /// the end of the loop. The loop refuses its later events.
    @inlinable
    public static func run(_ body: @escaping @Sendable (Send<Event>) async -> Void) -> Effect {
        Effect(kind: .task(body))
    }

    /// Runs an async function and emits the event that it returns, if any.
    public static func task(_ body: @escaping @Sendable () async -> Event?) -> Effect {
        run { send in
            if let event = await body() { await send.offer(event) }
        }
    }

    /// Emits each element of a sequence as it arrives.
    public static func sequence<S: AsyncSequence & Sendable>(_ sequence: S) -> Effect
    where S.Element == Event, S.Failure == Never {
        run { send in
            for await event in sequence { await send.offer(event) }
        }
    }

    /// Starts an activity that goes on by itself. The effect is over when the activity calls `finish`, or when the
    /// effect is cancelled.
    ///
    /// - Parameter start: A function that starts the activity. It is called on the loop's turn, or on the feedback's
    ///   own executor (``Feedback/execute(on:)``). Events that it sends on the turn before it returns are queued in
    ///   order, before the events of later feedbacks. It may call `finish` at any time and on any thread, even before
    ///   it returns. The loop cancels the returned subscription when the effect is over or is cancelled.
    public static func subscribe(
        _ start: @escaping @Sendable (Send<Event>, _ finish: @escaping @Sendable () -> Void) -> Subscription
    ) -> Effect {
        Effect(kind: .subscribe(start))
    }

    /// Emits an event once, when the loop's clock has advanced by `delay`. A gentle stop ends the delay without the
    /// event.
    public static func after(_ delay: Duration, _ event: Event) -> Effect {
        Effect(kind: .timer(delay, { event }))
    }

    // MARK: Names

    /// Gives the effect a name. An effect that already has a name gets a second one. Either name cancels or replaces
    /// it.
    ///
    /// In a loop, at most one effect of a name runs. A new effect cancels the running effect of its name, and withdraws
    /// the waiting events of that effect. If `replacing` is `false`, the new effect does not start instead.
    public func id(_ id: some Hashable & Sendable, replacing: Bool = true) -> Effect {
        let unnamed = options.id == nil ? self : wrapped { .all([$0]) }
        return unnamed.with {
            $0.id = EffectID(id)
            $0.replaces = replacing
        }
    }

    /// Cancels the running effect of a name, and withdraws its waiting events.
    public static func cancel(id: some Hashable & Sendable) -> Effect { Effect(kind: .cancel(EffectID(id))) }

    /// Starts several effects in order. Each is an effect of its own. If the whole gets a name or a time limit, they
    /// are parts of one effect, which is over when all parts are over.
    public static func all(_ effects: [Effect]) -> Effect { Effect(kind: .all(effects)) }

    /// Starts the effect after a quiet time without another effect of the name. Each new effect restarts the wait, and
    /// cancels the effect that the wait before has started. A gentle stop ends the wait, and the effect does not start.
    public func debounce(id: some Hashable & Sendable, for quiet: Duration) -> Effect {
        wrapped { inner in .waiting(.delay(quiet), then: { Continuation(effect: inner) }) }.id(id)
    }

    /// Starts the effect, unless another effect of the name still runs or was started less than `interval` ago by the
    /// loop's clock. The interval goes on even if that other effect has ended or has been cancelled.
    public func throttle(id: some Hashable & Sendable, for interval: Duration) -> Effect {
        wrapped { inner in .throttled(interval, { inner }) }.id(id, replacing: false)
    }

    /// Cancels the effect when it has run for `limit` by the loop's clock. Then the loop withdraws the waiting events
    /// of the effect, and `event` takes their place.
    public func timeout(after limit: Duration, _ event: Event) -> Effect {
        wrapped { inner in .limited(limit, { event }, inner) }
    }

    /// Returns an effect around this one. It replaces other effects and ends at a stop, as this one would.
    private func wrapped(_ kind: (Effect) -> Kind) -> Effect {
        guard options.endsPrevious || options.endsAtStop else { return Effect(kind: kind(self)) }
        let (endsPrevious, endsAtStop) = (options.endsPrevious, options.endsAtStop)
        return Effect(kind: kind(with { $0.endsPrevious = false })).with {
            $0.endsPrevious = endsPrevious
            $0.endsAtStop = endsAtStop
        }
    }

    // MARK: Beside others

    /// Returns an effect that first cancels all running effects of its feedback, and withdraws their waiting events.
    /// With it a feedback controls the end of effects that outlive a state.
    public func replacingPrevious() -> Effect { with { $0.endsPrevious = true } }

    /// An effect that cancels all running effects of its feedback and starts nothing.
    public static var cancelPrevious: Effect { nothing.replacingPrevious() }

    /// Returns an effect that a gentle stop of the loop ends, instead of waiting for it.
    public func untilStop() -> Effect { with { $0.endsAtStop = true } }

    // MARK: Other events

    /// Returns the same effect with transformed events.
    public func map<Other: Sendable>(_ transform: @escaping @Sendable (Event) -> Other) -> Effect<Other> {
        var result = Effect<Other>(kind: mapped(transform))
        if box != nil {
            let options = options
            result = result.with { $0 = options }
        }
        return result
    }

    private func mapped<Other: Sendable>(_ transform: @escaping @Sendable (Event) -> Other) -> Effect<Other>.Kind {
        switch kind {
        case .nothing: .nothing
        case .event(let event): .event(transform(event))
        case .events(let events): .events(events.map(transform))
        case .call(let body): .call { body().map(transform) }
        case .task(let body): .task { send in try await body(send.contramap(transform)) }
        case .subscribe(let start): .subscribe { send, finish in start(send.contramap(transform), finish) }
        // A later event is transformed when it is emitted.
        case .timer(let delay, let event): .timer(delay, { transform(event()) })
        case .cancel(let id): .cancel(id)
        case .all(let effects): .all(effects.map { $0.map(transform) })
        case .waiting(let pause, let then):
            .waiting(pause.map(transform)) {
                let next = then()
                return Effect<Other>.Continuation(event: next.event.map(transform), effect: next.effect.map(transform))
            }
        case .throttled(let interval, let inner): .throttled(interval, { inner().map(transform) })
        case .limited(let limit, let event, let inner):
            .limited(limit, { transform(event()) }, inner.map(transform))
        }
    }
}
