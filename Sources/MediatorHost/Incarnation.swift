import CommonExpression
import FeedbackKit
import Logging
import MediatorConfiguration
import Synchronization

/// The links that begin at a system, as one incarnation uses them. All incarnations share the table.
private final class Outlets: Sendable {
    private let table: JointTable<SystemState>
    private let isClosed = Atomic<Bool>(false)

    init(_ table: JointTable<SystemState>) {
        self.table = table
    }

    /// Shows a state to the links, unless another incarnation has taken the place of this one.
    func show(_ state: SystemState) {
        if !isClosed.load(ordering: .acquiring) { table.show(state) }
    }

    /// Shows what a feedback publishes, likewise.
    func show(_ state: SystemState, by feedback: String) {
        if !isClosed.load(ordering: .acquiring) { table.show(state, by: feedback) }
    }

    func close() { isClosed.store(true, ordering: .releasing) }
}

/// A hosted system from one beginning to its end: its loop, and what runs its side effects. A system that is restarted
/// has one after the other.
final class Incarnation: Sendable {
    /// What it tells its system.
    struct Reports: Sendable {
        var fault: @Sendable (Fault) -> Void
        /// It has entered a state, from another, unless it has just begun.
        var entered: @Sendable (SystemState, _ old: SystemState?) -> Void
        /// It has taken an event, at a time, and nothing has changed; on account of a fault, if there was one.
        var stayed: @Sendable (SystemState, SystemEvent, Timestamp, Fault?) -> Void
        /// It has not handled an event.
        var unhandled: @Sendable (SystemState, SystemEvent) -> Void
        /// It has dropped an event.
        var dropped: @Sendable (SystemEvent, DropReason) -> Void
        /// A side effect has ended, or was not begun.
        var happened: @Sendable (Happening) -> Void
        /// It got an event that it must handle, and did not.
        var failed: @Sendable (Fault) -> Void
        /// Its loop has failed, and is being cancelled.
        var broke: @Sendable (LoopFault) -> Void
        /// It has taken the event that sends it to its initial state, whatever came of that.
        var wasReset: @Sendable () -> Void
        /// Nothing of it is left running.
        var ended: @Sendable () -> Void
    }

    /// Counts the incarnations of a system, from 1.
    let number: UInt64
    /// What is inside.
    let behaviour: SystemBehaviour
    let loop: Loop<SystemState, SystemEvent>
    /// The turns of the loop.
    let turns = TurnCount()
    /// Whether it turns on the shared pool.
    let isOnPool: Bool
    /// Why it begins.
    private let cause: Cause
    private let definition: SystemDefinition
    private let runners: [EffectRunner]
    /// What waits as long as it runs.
    private let waits: Waits
    /// Holds up its schedules while it is paused.
    private let gate = PauseGate()
    private let time: HostTime

    /// What its state holds.
    private let held: HeldState
    /// The links that begin at the system.
    private let outlets: Outlets

    /// Makes one; nothing is started.
    ///
    /// - Parameters:
    ///   - outlets: the links that begin at the system.
    ///   - figures: where is counted what each feedback does.
    ///   - cause: why it begins.
    init(
        _ number: UInt64, of definition: SystemDefinition, _ behaviour: SystemBehaviour,
        _ outlets: JointTable<SystemState>, because cause: Cause, in room: HostRoom,
        effects: EffectCatalogue, figures: [RunFigures], time: HostTime, logger: Logger, repeats: RepeatLog,
        transitions: RepeatLog, reports: Reports
    ) {
        self.number = number
        self.definition = definition
        self.behaviour = behaviour
        self.cause = cause
        self.time = time
        waits = Waits(time: time)
        let first = behaviour.initial
        isOnPool = behaviour.executor is HostPool || behaviour.executor is SharedPool
        let held = HeldState(in: room)
        self.held = held
        let outlets = Outlets(outlets)
        self.outlets = outlets
        let (reduce, now, report, wasReset) = (behaviour.reduce, time.now, reports.fault, reports.wasReset)
        let stayed = reports.stayed
        loop = Loop(
            initial: SystemState(first: first, of: definition, since: now(), cause: cause),
            feedbacks: behaviour.makeFeedbacks(report),
            executor: CountingExecutor(base: behaviour.executor, turns: turns),
            clock: time.clock,
            mailboxLimit: definition.mailbox.limit,
            overflow: Overflow(definition.mailbox.overflow),
            size: room.mailbox
        ) { state, event in
            if event.isReset {
                wasReset()
                let reduction = Self.reset(&state, event, to: first, definition, now(), report)
                held.become(state.record.roughSize)
                return reduction
            }
            let before = state
            var taken: Timestamp?
            // None, or the one. That there is none is seen without looking at all that a fault is.
            var faults: [Fault] = []
            var reduction = reduce(
                &state, event,
                {
                    let time = now()
                    taken = time
                    return time
                }, { faults = [$0] })
            if let excess = room.excess(ofSize: event.size, "the event '\(definition.eventName(event))'") {
                // What a link, a client or a feedback has made is refused before. This is from inside a kind.
                (state, reduction) = (before, .stay)
                faults = [Fault("the event '\(definition.eventName(event))'", in: .whole, message: excess)]
            } else if reduction == .handled,
                let excess = held.change(to: state, definition.states[state.index].name)
            {
                (state, reduction) = (before, .stay)
                let name = definition.states[state.index].name
                let place = "transition from \(name) on \(definition.eventName(event))"
                faults = [Fault(place, in: .whole, message: excess)]
            }
            if reduction == .stay { stayed(state, event, taken ?? now(), faults.first) }
            if !faults.isEmpty { faults.forEach(report) }
            return reduction
        }
        var runners: [EffectRunner] = []
        for (feedback, figures) in zip(definition.feedbacks, figures) {
            let runner = EffectRunner(
                definition: feedback,
                implementation: effects[feedback.effect],
                system: definition.name,
                events: definition.events,
                room: room,
                time: time,
                logger: logger.with(["feedback": "\(feedback.name)"]),
                figures: figures,
                pause: gate,
                whenDue: { [weak loop] body, ended in
                    if let loop { loop.whenDue(body, ended: ended) } else { ended() }
                },
                publish: { [outlets] in outlets.show($0, by: feedback.name) },
                note: report, happened: reports.happened)
            runners.append(runner)
            loop.add(
                Feedback(
                    name: feedback.name,
                    cancellation: feedback.strategy == .cancelOnNewState ? .boundToState : .never
                ) { state, _ in
                    runner.effect(for: state)
                })
        }
        self.runners = runners
        // One for all links, since a loop's feedbacks cannot be taken away.
        loop.add(.sink(name: "links") { [outlets] state, _ in outlets.show(state) })
        loop.setObserver(
            SystemObserver(
                definition: definition, repeats: repeats, transitions: transitions, logger: logger, reports: reports))
    }

    /// What a reset makes of a state: the initial one, with data computed anew where that is what it is made of.
    private static func reset(
        _ state: inout SystemState, _ event: SystemEvent, to first: SystemBehaviour.Snapshot,
        _ definition: SystemDefinition, _ now: Timestamp, _ report: (Fault) -> Void
    ) -> Reduction {
        do {
            let data = definition.kind == nil ? .structure(try definition.initialData(now: now)) : first.data
            state = state.entering(
                first.index, data, ofSize: SystemEvent.size(of: data), at: now, on: event, original: first.original)
            return .handled
        } catch {
            report(Fault("the initial state", in: .whole, message: error.message))
            return .stay
        }
    }

    /// Starts; `false` if it has ended before. One that has waited for its time begins in the initial state of now.
    func start(afterWaiting hasWaited: Bool) -> Bool {
        if hasWaited, definition.kind == nil, let data = try? definition.initialData(now: time.now()) {
            let first = SystemBehaviour.Snapshot(index: behaviour.initial.index, data: .structure(data))
            _ = loop.setInitial(SystemState(first: first, of: definition, since: time.now(), cause: cause))
        }
        held.become(loop.state.record.roughSize)
        return loop.start()
    }

    /// Calls `body` when a time has passed, unless it has ended by then, or the ticket has been interrupted.
    func after(_ delay: Duration, _ body: @escaping @Sendable () -> Void) -> Waits.Ticket? {
        guard let ticket = waits.begin(delay) else { return nil }
        Task { [waits] in
            if await waits.finish(ticket) { body() }
        }
        return ticket
    }

    /// By the name of a feedback that probes, the outcome with which it reported the present level.
    var reportedLevels: [String: String] {
        var levels: [String: String] = [:]
        for (feedback, runner) in zip(definition.feedbacks, runners) { levels[feedback.name] = runner.probe?.reported }
        return levels
    }

    /// By the name of a feedback, when its side effect runs next by its schedule.
    var nextRuns: [String: Timestamp] {
        var runs: [String: Timestamp] = [:]
        for (feedback, runner) in zip(definition.feedbacks, runners) {
            if let next = runner.next { runs[feedback.name] = next }
        }
        return runs
    }

    /// Ends a wait.
    func interrupt(_ ticket: Waits.Ticket) { waits.interrupt(ticket) }

    /// Begins to stop gently: no new events from outside, nothing that waits for its time; what is under way may finish.
    ///
    /// - Returns: how many events that waited are dropped.
    func beginStop() -> Int {
        let dropped = loop.beginStopTakingOutcomes()
        endWaiting()
        return dropped
    }

    /// Begins to stop at once: what waits is dropped, what runs is cancelled.
    ///
    /// - Returns: how many events that waited are dropped.
    @discardableResult
    func cancel() -> Int {
        let dropped = loop.cancelCounting()
        endWaiting()
        return dropped
    }

    /// Shows its states to no link from now on, because another incarnation takes its place.
    func leaveLinks() { outlets.close() }

    /// Takes no event from now on, and begins no side effect. `false`: it does not run, or is paused already.
    func pause() -> Bool {
        guard loop.pause() else { return false }
        gate.pause()
        return true
    }

    /// Goes on; `false`: it was not paused.
    func resume() -> Bool {
        guard loop.resume() else { return false }
        gate.resume()
        return true
    }

    private func endWaiting() {
        waits.close()
        gate.close()
        for runner in runners { runner.endWaiting() }
    }
}

extension Overflow {
    /// What a full mailbox does.
    fileprivate init(_ overflow: BufferPolicy.Overflow) {
        switch overflow {
        case .dropOldest: self = .dropOldest
        case .dropNewest: self = .dropNewest
        case .fail: self = .fail
        }
    }
}

/// Carries reports to a system, which is made after what reports to it.
final class ReportBox: Sendable {
    private let now: @Sendable () -> Timestamp

    /// - Parameter now: what the calendar says.
    init(now: @escaping @Sendable () -> Timestamp) { self.now = now }

    /// Whom it tells.
    private final class Receiver: Sendable {
        let receive: @Sendable (Report) -> Void
        let entered: Entered

        init(_ receive: @escaping @Sendable (Report) -> Void, _ entered: @escaping Entered) {
            self.receive = receive
            self.entered = entered
        }
    }

    private let receiver = Mutex<Receiver?>(nil)

    /// An incarnation, by its number, has entered a state, from another, unless it has just begun. What is told of each event has
    /// a function of its own, which takes no more than it needs.
    typealias Entered = @Sendable (SystemState, _ old: SystemState?, _ number: UInt64) -> Void

    /// What an incarnation reports, and its number.
    enum Report: Sendable {
        case fault(Fault, of: UInt64, isFailure: Bool)
        case traced(Happening, of: UInt64)
        case broke(LoopFault, of: UInt64)
        case wasReset(UInt64)
        case ended(UInt64)
    }

    /// Says whom to tell; once.
    func connect(_ receive: @escaping @Sendable (Report) -> Void, entered: @escaping Entered) {
        let new = Receiver(receive, entered)
        receiver.withLock { $0 = new }
    }

    /// What an incarnation is to report with.
    func reports(of number: UInt64) -> Incarnation.Reports {
        Incarnation.Reports(
            fault: { [self] in tell(.fault($0, of: number, isFailure: false)) },
            entered: { [self] in receiver.withLock { $0 }?.entered($0, $1, number) },
            stayed: { [self] state, event, time, fault in
                tell(.traced(Happening(.stayed, state.record, event, at: time, fault), of: number))
            },
            unhandled: { [self] state, event in
                tell(.traced(Happening(.unhandled, state.record, event, at: now()), of: number))
            },
            dropped: { [self] event, reason in
                tell(.traced(Happening(.dropped(reason), nil, event, at: now()), of: number))
            },
            happened: { [self] in tell(.traced($0, of: number)) },
            failed: { [self] in tell(.fault($0, of: number, isFailure: true)) },
            broke: { [self] in tell(.broke($0, of: number)) },
            wasReset: { [self] in tell(.wasReset(number)) },
            ended: { [self] in tell(.ended(number)) })
    }

    private func tell(_ report: Report) {
        receiver.withLock { $0 }?.receive(report)
    }
}
