/// Puts events into the loop that handed it out.
///
/// It does not keep the loop alive. Once the side effect it was given to has been cancelled, what it sends is refused
/// with ``DropReason/cancelled``, and what the loop has not taken by then is withdrawn.
///
/// It is meant to be used while that side effect runs. What outlives the effect and still sends (a task that it left
/// behind) is not answered alike everywhere: an effect with a name or within another is refused as if it had been
/// cancelled; another's events are accepted until its feedback cancels what it runs.
public struct Send<Event: Sendable>: Sendable {
    /// The loop's clock, for side effects that wait.
    public let clock: any Clock<Duration>
    @usableFromInline let body: @Sendable (Event) -> SendResult
    @usableFromInline let waiting: @Sendable (Event, WaitPolicy) async -> SendResult
    /// Counts and tells an event that is not even offered to the loop.
    @usableFromInline let refuse: @Sendable (Event, DropReason) -> Void

    /// When a sender waits for room in the mailbox.
    @usableFromInline
    package enum WaitPolicy: Sendable {
        case always
        /// Only where the loop's overflow policy says so.
        case ifBlocking
    }

    @inlinable
    package init(
        clock: any Clock<Duration>, body: @escaping @Sendable (Event) -> SendResult,
        waiting: (@Sendable (Event, WaitPolicy) async -> SendResult)? = nil,
        refuse: @escaping @Sendable (Event, DropReason) -> Void = { _, _ in }
    ) {
        self.clock = clock
        self.body = body
        self.waiting = waiting ?? { event, _ in body(event) }
        self.refuse = refuse
    }

    /// The same, but while `isDisabled` holds, events are dropped.
    package func disabled(while isDisabled: @escaping @Sendable () -> Bool) -> Send {
        let refuse: @Sendable (Event) -> SendResult = { event in
            self.refuse(event, .disabled)
            return .dropped(.disabled)
        }
        return Send(
            clock: clock,
            body: { isDisabled() ? refuse($0) : self.body($0) },
            waiting: { isDisabled() ? refuse($0) : await self.waiting($0, $1) },
            refuse: self.refuse)
    }

    /// Queues an event and says whether it was accepted.
    @inlinable
    @discardableResult
    public func callAsFunction(_ event: Event) -> SendResult {
        body(event)
    }

    /// Queues an event; if the mailbox is at its limit, returns only when the event has been taken.
    /// See ``Loop/sendWhenRoom(_:)``.
    @discardableResult
    public func whenRoom(_ event: Event) async -> SendResult {
        await waiting(event, .always)
    }

    /// Queues an event as the loop's overflow policy says: under ``Overflow/block`` it waits for room.
    @inlinable
    @discardableResult
    package func offer(_ event: Event) async -> SendResult {
        await waiting(event, .ifBlocking)
    }

    /// Sends what the events of another kind become.
    package func contramap<Other: Sendable>(_ transform: @escaping @Sendable (Other) -> Event) -> Send<Other> {
        Send<Other>(
            clock: clock,
            body: { self.body(transform($0)) },
            waiting: { await self.waiting(transform($0), $1 == .always ? .always : .ifBlocking) },
            refuse: { self.refuse(transform($0), $1) })
    }
}

/// What is said of an effect beside what it does; most effects have nothing of it.
@usableFromInline
package struct EffectOptions: Sendable {
    /// Its name; `nil`: none.
    @usableFromInline package var id: EffectID?
    /// Whether it takes the place of an effect of its name that runs, or is itself not started.
    @usableFromInline package var replaces = true
    /// Whether what its feedback still runs is cancelled first.
    @usableFromInline package var endsPrevious = false
    /// Whether a gentle stop ends it instead of waiting for it.
    @usableFromInline package var endsAtStop = false

    @inlinable
    init() {}
}

/// A side effect: work outside the loop whose events come back into it.
public struct Effect<Event: Sendable>: Sendable {
    /// Starts something on the loop's turn that goes on by itself.
    @usableFromInline
    package typealias Subscribe = @Sendable (Send<Event>, _ finish: @escaping @Sendable () -> Void) -> Subscription

    /// What there is to do.
    @usableFromInline
    package enum Kind: Sendable {
        case nothing
        case event(Event)
        case events([Event])
        /// Quick enough for the loop's turn, unless the feedback has an executor of its own.
        case call(@Sendable () -> Event?)
        case task(@Sendable (Send<Event>) async throws -> Void)
        case subscribe(Subscribe)
        /// Ends without waiting when the loop stops.
        indirect case timer(Duration, @Sendable () -> Event)
        case cancel(EffectID)
        case all([Effect])
        /// Starts the other after a while.
        indirect case delayed(Duration, @Sendable () -> Effect)
        /// Starts the other unless one was started less than this ago.
        indirect case throttled(Duration, @Sendable () -> Effect)
        /// Ends the other after a while, and emits an event in its stead.
        indirect case limited(Duration, @Sendable () -> Event, Effect)
    }
    @usableFromInline package let kind: Kind
    /// A box, so that the many effects without options stay small.
    @usableFromInline package var box: Box?

    /// Holds options.
    @usableFromInline
    package final class Box: Sendable {
        @usableFromInline let options: EffectOptions
        init(_ options: EffectOptions) { self.options = options }
    }

    @inlinable
    package init(kind: Kind) {
        self.kind = kind
    }

    /// What is said of it.
    @inlinable
    package var options: EffectOptions { box?.options ?? EffectOptions() }

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

    /// Calls a function and emits what it returns: on the loop's turn, or, if the feedback has an executor of its own
    /// (``Feedback/execute(on:)``), in a task there.
    @inlinable
    public static func call(_ body: @escaping @Sendable () -> Event?) -> Effect { Effect(kind: .call(body)) }

    /// Runs an async function that sends as many events as it likes.
    ///
    /// Cancelling the effect cancels the task the function runs in; a function that ignores this delays the end of
    /// the loop, and what it still sends is withdrawn.
    @inlinable
    public static func run(_ body: @escaping @Sendable (Send<Event>) async -> Void) -> Effect {
        Effect(kind: .task(body))
    }

    /// Runs an async function and emits what it returns.
    public static func task(_ body: @escaping @Sendable () async -> Event?) -> Effect {
        run { send in
            if let event = await body() { await send.offer(event) }
        }
    }

    /// Emits the elements of a sequence as they come.
    public static func sequence<S: AsyncSequence & Sendable>(_ sequence: S) -> Effect
    where S.Element == Event, S.Failure == Never {
        run { send in
            for await event in sequence { await send.offer(event) }
        }
    }

    /// Starts something that goes on by itself, and ends when it says so or is cancelled.
    ///
    /// - Parameter start: called on the loop's turn, without leaving it, or, if the feedback has an executor of its own
    ///   (``Feedback/execute(on:)``), there. What it sends on the turn before it returns is queued in order, ahead of what
    ///   later feedbacks emit. It may call `finish` at any time, from any thread, also before it
    ///   returns; the effect is then over. The subscription it returns is cancelled when the effect is to end before.
    public static func subscribe(
        _ start: @escaping @Sendable (Send<Event>, _ finish: @escaping @Sendable () -> Void) -> Subscription
    ) -> Effect {
        Effect(kind: .subscribe(start))
    }

    /// Emits an event once, when the loop's clock has advanced by `delay`.
    public static func after(_ delay: Duration, _ event: Event) -> Effect {
        Effect(kind: .timer(delay, { event }))
    }

    // MARK: Names

    /// Gives the effect a name. One that has a name already gets a second: it is cancelled or replaced under either.
    ///
    /// Of one name at most one effect runs in a loop. If one runs already, it is cancelled, and what it has emitted and
    /// the loop has not taken is withdrawn; or, with `replacing` false, the new one is not started.
    public func id(_ id: some Hashable & Sendable, replacing: Bool = true) -> Effect {
        let unnamed = options.id == nil ? self : wrapped { .all([$0]) }
        return unnamed.with {
            $0.id = EffectID(id)
            $0.replaces = replacing
        }
    }

    /// Cancels the effect of this name, if one runs, and withdraws what it has emitted and the loop has not taken.
    public static func cancel(id: some Hashable & Sendable) -> Effect { Effect(kind: .cancel(EffectID(id))) }

    /// Starts several effects, in order. Each is an effect of its own, unless the whole is given a name or a limit of time:
    /// then they are parts of one, which is over when they all are.
    public static func all(_ effects: [Effect]) -> Effect { Effect(kind: .all(effects)) }

    /// Starts after a while in which no other effect of the name was started: each new one begins the wait anew, and
    /// cancels what the one before has started. A gentle stop ends the wait, and the effect does not start.
    public func debounce(id: some Hashable & Sendable, for quiet: Duration) -> Effect {
        wrapped { inner in .delayed(quiet, { inner }) }.id(id)
    }

    /// Starts unless one of the name was started less than `interval` ago, by the loop's clock, or still runs. That one
    /// may have ended or been cancelled meanwhile; the interval goes on.
    public func throttle(id: some Hashable & Sendable, for interval: Duration) -> Effect {
        wrapped { inner in .throttled(interval, { inner }) }.id(id, replacing: false)
    }

    /// Cancels the effect when it has run so long by the loop's clock, and emits `event` instead of what it might still
    /// have emitted and what the loop has not taken.
    public func timeout(after limit: Duration, _ event: Event) -> Effect {
        wrapped { inner in .limited(limit, { event }, inner) }
    }

    /// An effect around this one: that takes the place of others, and ends at a stop, as this one would have.
    private func wrapped(_ kind: (Effect) -> Kind) -> Effect {
        guard options.endsPrevious || options.endsAtStop else { return Effect(kind: kind(self)) }
        let (endsPrevious, endsAtStop) = (options.endsPrevious, options.endsAtStop)
        return Effect(kind: kind(with { $0.endsPrevious = false })).with {
            $0.endsPrevious = endsPrevious
            $0.endsAtStop = endsAtStop
        }
    }

    // MARK: Beside others

    /// Cancels, before it starts, everything the same feedback still runs, and withdraws what that has emitted and the
    /// loop has not taken. So a feedback whose effects outlive a state decides by itself when they end.
    public func replacingPrevious() -> Effect { with { $0.endsPrevious = true } }

    /// Cancels everything the same feedback still runs, and starts nothing.
    public static var cancelPrevious: Effect { nothing.replacingPrevious() }

    /// A gentle stop of the loop ends the effect instead of waiting for it.
    public func untilStop() -> Effect { with { $0.endsAtStop = true } }

    // MARK: Other events

    /// The same effect with what its events become.
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
        // What comes later is transformed when it comes.
        case .timer(let delay, let event): .timer(delay, { transform(event()) })
        case .cancel(let id): .cancel(id)
        case .all(let effects): .all(effects.map { $0.map(transform) })
        case .delayed(let delay, let inner): .delayed(delay, { inner().map(transform) })
        case .throttled(let interval, let inner): .throttled(interval, { inner().map(transform) })
        case .limited(let limit, let event, let inner):
            .limited(limit, { transform(event()) }, inner.map(transform))
        }
    }
}
