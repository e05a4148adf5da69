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

    /// Shows a state to all links but some, under the same condition.
    func show(_ state: SystemState, unless known: Set<ObjectIdentifier>) {
        if !isClosed.load(ordering: .acquiring) { table.show(state, unless: known) }
    }

    /// Shows a state to the link that a feedback triggers, under the same condition.
    func show(_ state: SystemState, by feedback: String) {
        if !isClosed.load(ordering: .acquiring) { table.show(state, by: feedback) }
    }

    func close() { isClosed.store(true, ordering: .releasing) }
}

/// One life of a hosted system, from a start to its end: the loop, and the runners of the side effects. Each restart
/// makes a new incarnation.
final class Incarnation: Sendable {
    /// The runners of side effects, with the slots of their feedbacks in the loop.
    struct Runners {
        /// The runners of the present feedbacks, in their order.
        var present: [(runner: EffectRunner, slot: Int)] = []
        /// The runners of feedbacks that a reload has removed or replaced, and whose runs have not all ended.
        var leaving: [(runner: EffectRunner, slot: Int)] = []

        var all: [(runner: EffectRunner, slot: Int)] { present + leaving }
    }

    /// The number of the incarnation, from 1.
    let number: UInt64
    let behaviour: SystemBehaviour
    let loop: Loop<SystemState, SystemEvent>
    /// A Boolean value that indicates whether the loop runs on the shared pool.
    let isOnPool: Bool
    /// The cause of the start.
    private let cause: Cause
    /// The runners of the side effects, in the order of the feedbacks, and the slots of the feedbacks in the loop.
    let runners: Mutex<Runners>
    /// The slot of the feedback that shows states to the links.
    let slotOfLinks: Int
    let makeRunner: @Sendable (FeedbackProgram, RunFigures, [RunGate]) -> EffectRunner
    /// The call at the end of the time limit for readiness, until the incarnation ends.
    private let limit = Mutex<(call: PendingCall?, isClosed: Bool)>((nil, false))
    /// The gate at which side effects wait during a pause.
    private let gate = PauseGate()
    /// The waits on behalf of rules of `always`.
    let holds: RuleHolds
    let time: HostTime

    /// The size of the state, counted in the room of the host.
    let held: HeldState
    /// The links that begin at the system.
    private let outlets: Outlets
    /// The gate for the commits of a persisted system; `nil` for any other system.
    let commits: CommitGate?
    /// Receives the faults of its rules.
    let report: @Sendable (Fault) -> Void

    /// Makes an incarnation without starting it.
    ///
    /// - Parameters:
    ///   - outlets: The links that begin at the system.
    ///   - figures: The metrics of the runs of each feedback.
    ///   - cause: The cause of the start.
    ///   - commits: The gate for the commits, if the system is persisted.
    init(
        _ number: UInt64, of definition: SystemDefinition, _ behaviour: SystemBehaviour,
        _ outlets: JointTable<SystemState>, because cause: Cause, in room: HostRoom,
        effects: EffectCatalogue, figures: [RunFigures], time: HostTime, logger: Logger, repeats: RepeatLog,
        recurring: RepeatLog, reports: Reports, commits: CommitGate?
    ) {
        self.number = number
        self.behaviour = behaviour
        self.cause = cause
        self.time = time
        let first = behaviour.initial
        isOnPool = behaviour.executor is SharedPool
        let held = HeldState(in: room)
        self.held = held
        let outlets = Outlets(outlets)
        self.outlets = outlets
        let (reduce, now) = (behaviour.reduce, time.now)
        self.report = { reports.fault($0) }
        self.commits = commits
        // A gate keeps the reports of the reducer until the new state is there.
        let told = commits?.reports ?? reports
        let report: @Sendable (Fault) -> Void = { told.fault($0) }
        loop = Loop(
            initial: SystemState(first: first, of: definition, since: now(), cause: cause),
            feedbacks: behaviour.makeFeedbacks(self.report),
            executor: behaviour.executor,
            clock: time.clock,
            mailboxLimit: definition.mailbox.limit,
            overflow: Overflow(definition.mailbox.overflow),
            size: room.mailbox
        ) { state, event in
            commits?.hear(event)
            event.cause?.origin.announcement?.make()
            if event.isReset {
                told.wasReset()
                let reduction = Self.reset(&state, event, to: first, now(), report)
                held.become(state.record.roughSize)
                return commits?.pass(state, on: event, reduction) ?? reduction
            }
            let before = state
            var taken: Timestamp?
            // At most one fault. The emptiness of an array is cheaper to check than an optional of this size.
            var faults: [Fault] = []
            var reduction = reduce(
                &state, event,
                {
                    let time = now()
                    taken = time
                    return time
                }, { faults = [$0] })
            let definition = before.definition
            if let excess = room.excess(ofSize: event.size, "the event '\(definition.eventName(event))'") {
                // Large events of links, clients and feedbacks are refused earlier. This one comes from the Swift code
                // of a kind.
                (state, reduction) = (before, .stay)
                let name = definition.eventName(event)
                faults = [Fault("the event '\(name)'", in: .whole, message: excess, condition: .rule(name))]
            } else if reduction == .handled || reduction == .updated,
                let excess = held.change(to: state, definition.states[state.index].name)
            {
                (state, reduction) = (before, .stay)
                let (part, words) = WrittenPart.ofGrowth(of: before, on: event, at: taken ?? now())
                let condition = Conditions.Source.rule(definition.eventName(event))
                faults = [Fault(words, in: part, message: excess, condition: condition)]
            }
            // An input that has its value already is no news.
            let isLevel =
                event.index == SystemEvent.dueIndex
                || (event.worded(by: definition)?.index ?? -1) >= definition.ownEvents
            if reduction == .stay, !isLevel || !faults.isEmpty {
                told.stayed(state, event, taken ?? now(), faults.first)
            }
            if told.hasConditionOfState {
                let hasChanged = reduction == .handled || reduction == .updated
                told.end(
                    hasChanged && !state.isSameVisit(as: before)
                        ? .entered
                        : .took(definition.eventName(event), settled: hasChanged || event.isRecheck),
                    unless: faults.isEmpty ? [] : Set(faults.map(\.condition)))
            }
            if !faults.isEmpty { faults.forEach(report) }
            return commits?.pass(state, on: event, reduction) ?? reduction
        }
        commits?.attach(loop)
        holds = RuleHolds(time: time)
        makeRunner = { [gate, outlets, weak loop] program, figures, predecessors in
            let name = program.feedback.name
            return EffectRunner(
                program, after: predecessors,
                implementation: effects[program.feedback.effect],
                room: room,
                time: time,
                logger: logger,
                figures: figures,
                repeats: RecurringLog(repeats, recurring),
                pause: gate,
                whenDue: { [weak loop] body, ended in
                    if let loop { loop.whenDue(body, ended: ended) } else { ended() }
                },
                publish: { outlets.show($0, by: name) },
                presentState: { [weak loop] in loop?.state },
                report: reports.feedback, happened: reports.happened)
        }
        let own = behaviour.outlines.count
        var runners: [(runner: EffectRunner, slot: Int)] = []
        for (index, figures) in zip(definition.feedbacks.indices, figures) {
            let program = FeedbackProgram(index, of: definition)
            let runner = makeRunner(program, figures, [])
            runners.append((runner, own + runners.count))
            loop.add(Self.feedback(program, runner))
        }
        slotOfLinks = own + runners.count
        self.runners = Mutex(Runners(present: runners))
        loop.add(links)
        if definition.hasHolds { loop.add(holds.feedback) }
        let observer = SystemObserver(
            definition: definition, repeats: repeats, recurring: recurring, logger: logger, reports: reports)
        if let commits {
            loop.setObserver(GateObserver(gate: commits, base: observer))
        } else {
            loop.setObserver(observer)
        }
    }

    /// The feedback that shows states to all links.
    var links: Feedback<SystemState, SystemEvent> {
        if let commits {
            return .sink(name: "links") { [outlets] state, _ in
                outlets.show(state, unless: commits.takeSkips(at: state))
            }.seeingUpdates()
        }
        return .sink(name: "links") { [outlets] state, _ in outlets.show(state) }.seeingUpdates()
    }

    static func feedback(
        _ program: FeedbackProgram, _ runner: EffectRunner
    ) -> Feedback<SystemState, SystemEvent> {
        Feedback(
            name: program.feedback.name,
            cancellation: program.feedback.strategy == .cancelOnNewState && !program.endsByItself
                ? .boundToState : .never
        ) { state, _ in
            runner.effect(for: state, by: program)
        }
    }

    /// Resets a state to the initial one. The data of a configured system is computed again. If that fails, the failure
    /// is a fault, and the state stays.
    private static func reset(
        _ state: inout SystemState, _ event: SystemEvent, to first: SystemBehaviour.Snapshot,
        _ now: Timestamp, _ report: (Fault) -> Void
    ) -> Reduction {
        do {
            if state.definition.kind == nil {
                try RuleMachine.reset(&state, event, now: now)
                AlwaysMachine.settle(&state, now: { now }, report: report)
            } else {
                state = state.entering(
                    first.index, first.data, ofSize: SystemEvent.size(of: first.data), at: now, on: event,
                    original: first.original)
            }
            return .handled
        } catch {
            report(Fault("the initial state", in: .whole, message: error.message))
            return .stay
        }
    }

    /// Computes the first state of the loop before its start. A configured system that has waited begins with newly computed
    /// data.
    ///
    /// - Parameter inputs: The events that set its inputs to their present values. Its rules of `always` see these values
    ///   before anybody sees the first state.
    func prepare(_ inputs: [SystemEvent], afterWaiting hasWaited: Bool) {
        let definition = loop.state.definition
        if hasWaited, definition.kind == nil, let data = try? definition.initialData(now: time.now()) {
            let first = SystemBehaviour.Snapshot(index: behaviour.initial.index, data: .structure(data))
            _ = loop.setInitial(SystemState(first: first, of: definition, since: time.now(), cause: cause))
        }
        if definition.hasLevels {
            _ = loop.setInitial(AlwaysMachine.begin(loop.state, inputs, now: time.now, report: report))
        }
        held.become(loop.state.record.roughSize)
    }

    /// Starts the loop, perhaps with a pause. Returns `false` if it has been started or stopped before.
    func begin(isPaused: Bool) -> Bool {
        guard isPaused else { return loop.start() }
        gate.pause()
        return loop.startPaused()
    }

    /// Calls `body` at the end of the time limit for readiness, unless the incarnation ends or the call is cancelled before.
    /// Returns `nil` if the incarnation has ended.
    func afterLimit(_ limit: Duration, _ body: @escaping @Sendable () -> Void) -> PendingCall? {
        let call = time.call(at: time.elapsed() + limit, body)
        let isKept = self.limit.withLock { limit in
            if !limit.isClosed { limit.call = call }
            return !limit.isClosed
        }
        if !isKept { call.cancel() }
        return isKept ? call : nil
    }

    /// The outcomes that reported the present levels of probes, by the names of their feedbacks.
    var reportedLevels: [String: String] {
        var levels: [String: String] = [:]
        for (runner, _) in runners.withLock({ $0.present }) { levels[runner.definition.name] = runner.probe?.reported }
        return levels
    }

    /// The times of the next scheduled runs, by the names of the feedbacks.
    var nextRuns: [String: Timestamp] {
        var runs: [String: Timestamp] = [:]
        for (runner, _) in runners.withLock({ $0.present }) {
            if let next = runner.next { runs[runner.definition.name] = next }
        }
        return runs
    }

    /// The side effects of feedbacks that a reload has removed or replaced, and that have not ended.
    var runsOfRemoved: [FeedbackRuns] {
        runners.withLock { $0.leaving }.filter { $0.runner.isAtWork }.map { runner, _ in
            FeedbackRuns(
                feedback: runner.definition.name, running: runner.active.load(ordering: .acquiring), waiting: 0)
        }
    }

    /// Begins a graceful stop. The incarnation takes no new events from outside and ends its timers. Running side
    /// effects may finish.
    ///
    /// - Returns: The number of waiting events that were dropped.
    func beginStop() -> Int {
        let dropped = loop.beginStopTakingOutcomes()
        endWaiting()
        return dropped
    }

    /// Begins an immediate stop, which drops waiting events and cancels running side effects.
    ///
    /// - Returns: The number of waiting events that were dropped.
    @discardableResult
    func cancel() -> Int {
        let dropped = loop.cancelCounting()
        endWaiting()
        return dropped
    }

    /// Shows no further states to the links, because another incarnation takes over.
    func leaveLinks() { outlets.close() }

    /// Pauses the incarnation, which takes no events and begins no side effects. Returns `false` if it does not run or
    /// is paused already.
    func pause() -> Bool {
        guard loop.pause() else { return false }
        gate.pause()
        return true
    }

    /// Resumes the incarnation. Returns `false` if it was not paused.
    func resume() -> Bool {
        guard loop.resume() else { return false }
        gate.resume()
        return true
    }

    private func endWaiting() {
        let call = limit.withLock { limit in
            limit.isClosed = true
            return limit.call.take()
        }
        call?.cancel()
        gate.close()
        for (runner, _) in runners.withLock({ $0.all }) { runner.endWaiting() }
    }
}

extension Overflow {
    /// The overflow policy of the loop for that of the configuration.
    init(_ overflow: BufferPolicy.Overflow) {
        switch overflow {
        case .dropOldest: self = .dropOldest
        case .dropNewest: self = .dropNewest
        case .fail: self = .fail
        }
    }
}
