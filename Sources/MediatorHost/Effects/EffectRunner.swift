import CommonExpression
import FeedbackKit
import Logging
import MediatorConfiguration
import Synchronization

/// Runs the side effect of one feedback of a configured system by its schedule, and turns outcomes into events.
///
/// A runner outlives a reload that does not change its feedback.
final class EffectRunner: Sendable {
    /// The feedback at the creation of the runner.
    private let first: FeedbackProgram
    /// The feedback in terms of the current definition of the system.
    let present: Latest<FeedbackProgram>
    let implementation: (any EffectImplementation)?
    let system: String
    let room: HostRoom
    let time: HostTime
    private let hostLogger: Logger
    /// Receives the results of the feedback.
    let report: @Sendable (FeedbackReport, Standing.Stretch) -> Void
    let standing = Standing()
    /// The runs at work. A lasting side effect has none, because it may go on for ever.
    let book = Mutex(RunBook())
    /// The results so far of the runs with a key, and of those beside which no other one may begin.
    let verdicts = Mutex<[(key: Value?, verdict: RunVerdict)]>([])
    /// A Boolean value that indicates whether no rule made an event of the last change of a probe's level.
    let isLevelUnheard = Atomic(false)
    /// The log of warnings, which may recur for hours.
    let repeats: RecurringLog
    /// The last result, in a few words, with its time, and with the outcome if that is a failure.
    let last = Mutex<(text: String, time: Timestamp, failure: String?)?>(nil)
    /// Receives each run of the side effect that has ended, and each that was skipped because another one is active.
    let happened: @Sendable (Happening) -> Void
    /// The sources of its events, one for each outcome that has rules. `emit` and `publish` have no outcomes.
    let sources: [FeedbackSource]
    let ownSource: FeedbackSource
    /// Calls the first function in the activation of the system, after the events sent before. The system takes the event
    /// that it returns. Calls the second function if the system ends before.
    typealias WhenDue = @Sendable (@escaping @Sendable () -> SystemEvent?, @escaping @Sendable () -> Void) -> Void
    let whenDue: WhenDue
    /// Publishes the message that a feedback with `publish` has for a state.
    let publish: @Sendable (SystemState) -> Void
    /// The present state of the system; `nil` after the end.
    let presentState: @Sendable () -> SystemState?
    let figures: RunFigures
    /// The gate that holds back new runs while the system is paused.
    let pause: PauseGate
    /// The ticks of `every` and `at`; `nil` for another schedule.
    let ticker: Ticker?
    /// The waits of `after`, `debounce` and `throttle`; `nil` without them.
    let pacer: Pacer?
    let waits: Waits
    /// The lock of runs that end with their state; `nil` without them. The next run waits for the end of a cancelled one.
    let mutex: AsyncMutex?
    let gate: RunGate
    let schema: EffectSchema?
    /// A Boolean value that indicates whether the side effect acts in the activation of the system, without a run.
    let isImmediate: Bool
    /// The memory of the side effect between its runs; `nil` if it has none.
    let memory: EffectMemory?
    let lasting = Mutex(Lasting())
    /// The stay in a compound state that has asked for the side effect. It is `nil` if no compound state asks for it now.
    private let stay = Mutex<Nest.Stay?>(nil)
    let probe: ProbeWatch?
    /// The runs of the feedback before a reload. A run begins only when all of them have ended.
    let predecessors: [RunGate]
    /// The number of active runs.
    let active = Atomic(0)
    /// A Boolean value that indicates whether a reload has removed or replaced the feedback, so that no run begins.
    let isRetired = Atomic(false)

    /// The progress of a lasting side effect.
    struct Lasting {
        var isUnderWay = false
        var lastBegin: Duration?
    }

    /// The minimum time between two begins of a lasting side effect that ends with each new state. Otherwise a side effect
    /// that leads to a new state at once would begin again as fast as it can.
    static let shortestCycle = Duration.milliseconds(100)
    /// The limit on the text of a key in a fault, in characters.
    private static let longestKey = 60

    /// - Parameter predecessors: The runs of the runner that this one replaces.
    init(
        _ program: FeedbackProgram, after predecessors: [RunGate] = [],
        implementation: (any EffectImplementation)?, room: HostRoom, time: HostTime, logger: Logger,
        figures: RunFigures, repeats: RecurringLog,
        pause: PauseGate, whenDue: @escaping WhenDue,
        publish: @escaping @Sendable (SystemState) -> Void, presentState: @escaping @Sendable () -> SystemState?,
        report: @escaping @Sendable (FeedbackReport, Standing.Stretch) -> Void,
        happened: @escaping @Sendable (Happening) -> Void
    ) {
        self.happened = happened
        self.predecessors = predecessors
        let definition = program.feedback
        first = program
        present = Latest(program)
        let isTick = definition.schedule.hasTicks
        let isLasting = implementation?.schema.isLasting ?? false
        ownSource = FeedbackSource(definition.name, outcome: nil, isTick: isTick)
        let outcomes = Set(definition.outcomes.values.flatMap(\.keys)).subtracting([EffectSchema.emit.name])
        sources = outcomes.map { FeedbackSource(definition.name, outcome: $0, isTick: isTick, isLasting: isLasting) }
        self.publish = publish
        self.presentState = presentState
        self.figures = figures
        self.repeats = repeats
        self.pause = pause
        self.whenDue = whenDue
        self.implementation = implementation
        schema = implementation?.schema
        isImmediate = implementation == nil || implementation is any ImmediateEffect
        mutex = !isImmediate && definition.strategy == .cancelOnNewState ? AsyncMutex() : nil
        memory = implementation == nil ? nil : EffectMemory()
        probe = schema?.isProbe == true ? ProbeWatch() : nil
        system = program.system.name
        self.room = room
        self.time = time
        hostLogger = logger
        self.report = report
        gate = RunGate(mode: definition.mode, limit: definition.limit, executor: time.taskExecutor)
        waits = Waits(time: time)
        let hasDelay = if case .after = definition.schedule { true } else { definition.pace != nil }
        pacer = hasDelay ? Pacer(time: time, waits: waits) : nil
        guard isTick else {
            ticker = nil
            return
        }
        let isCalendar = if case .at = definition.schedule { true } else { false }
        let (system, name) = (system, definition.name)
        ticker = Ticker(time: time, waits: waits, missed: definition.missed, isCalendar: isCalendar) { count in
            Self.log(count, to: Self.logger(logger, of: name, of: system))
        }
    }

    /// The feedback, of which the runner uses only the parts without indices of states or events.
    var definition: FeedbackDefinition {
        @inline(__always)
        _read { yield first.feedback }
    }

    /// The logger, which names the system and the feedback. It is made for each use, because most feedbacks log little.
    var logger: Logger { Self.logger(hostLogger, of: definition.name, of: system) }

    private static func logger(_ logger: Logger, of feedback: String, of system: String) -> Logger {
        logger.with(["system": "\(system)", "feedback": "\(feedback)"])
    }

    /// Ends all waits, because the system stops.
    func endWaiting() {
        waits.close()
    }

    /// Ends the waits of the schedule, because a reload removes or replaces the feedback. No state asks for a further run.
    ///
    /// - Parameter finishes: A Boolean value that indicates whether active runs may finish.
    func retire(finishes: Bool) {
        isRetired.store(true, ordering: .releasing)
        // The outcomes of an active run still count for the thresholds of a probe.
        _ = ticker?.enter(isAsked: false)
        pacer?.leave()
        endStretch()
        if !finishes { waits.close() }
    }

    /// A Boolean value that indicates whether a run is active.
    var isAtWork: Bool { active.load(ordering: .acquiring) > 0 }

    /// Returns the effect that a state asks for. The system calls it in its activation for every state that it enters.
    func effect(for state: SystemState, by program: FeedbackProgram) -> Effect<SystemEvent> {
        do throws(EvaluationError) {
            var variables = state.variables(at: time.now())
            let isAsked: Bool
            do throws(EvaluationError) {
                isAsked = try program.feedback.selector.matches(state.index, state.data, &variables)
            } catch {
                leave()
                throw error
            }
            // Between states inside a compound state, what runs or waits goes on.
            if program.isOverCompound, goesOn(in: isAsked ? state : nil, program) { return .nothing }
            guard isAsked else {
                if !leaveKey(in: state, program, &variables) { leave() }
                return program.endsByItself ? .cancelPrevious : .nothing
            }
            let effect = try ask(in: state, program, &variables)
            return program.endsByItself ? effect.replacingPrevious() : effect
        } catch {
            // A wait of the previous state does not carry over.
            pacer?.leave()
            stay.withLock { $0 = nil }
            note(fault(error.message))
            return program.endsByItself ? .cancelPrevious : .nothing
        }
    }

    /// Ends the waits for the side effect, because the system has entered a state that does not ask for it. The strategy does
    /// not matter.
    private func leave() {
        _ = ticker?.enter(isAsked: false)
        pacer?.leave()
        endStretch()
        isLevelUnheard.store(false, ordering: .relaxed)
        probe?.enter(isAsked: false, stretch: standing.present.number)
    }

    /// Asks for the side effect on behalf of a state that the system has just entered.
    private func ask(
        in state: SystemState, _ program: FeedbackProgram, _ variables: inout Variables
    ) throws(EvaluationError) -> Effect<SystemEvent> {
        let feedback = program.feedback
        let generation = ticker?.enter(isAsked: true) ?? 0
        if definition.strategy == .cancelOnNewState { standing.advance() }
        let stretch = standing.present
        probe?.enter(isAsked: true, stretch: stretch.number, repeats: repeatsLevel(in: state))
        let asked = Asked(state: state, record: state.record, program: program, stretch: stretch)
        switch feedback.schedule {
        case .atOnce where isImmediate && feedback.pace == nil:
            // A call cannot be cancelled before it begins, unlike a task.
            return .call { self.act(asked) }
        case .atOnce:
            let key = try feedback.key?[state.index]?.evaluate(&variables)
            guard let pace = feedback.pace else { return counted(key, asked) }
            return try paced(pace, key, asked, &variables)
        case .after(let delays):
            let key = try feedback.key?[state.index]?.evaluate(&variables)
            let delay = try duration(delays, state, &variables) + jitter(asked, &variables) * time.random()
            return putOff(pacer?.delay(key, by: delay), key, asked)
        case .every(let intervals):
            let plan = Ticker.Plan.every(try duration(intervals, state, &variables))
            return ticking(generation, plan, try jitter(asked, &variables), asked.following(plan))
        case .at(let times):
            let plan = Ticker.Plan.at(try expressions(times[state.index] ?? [], &variables))
            return ticking(generation, plan, try jitter(asked, &variables), asked.following(plan))
        }
    }

    /// A request of a state for the side effect.
    struct Asked: Sendable {
        let state: SystemState
        /// The record of the state that asked, before any update.
        let record: StateRecord
        /// The feedback in terms of the definition that the indices of the state refer to.
        let program: FeedbackProgram
        /// The stretch of the system's life to which the results belong.
        let stretch: Standing.Stretch
        /// The ticks of the schedule, if it has some.
        var plan: Ticker.Plan?

        /// Returns the request with the ticks of its schedule.
        func following(_ plan: Ticker.Plan) -> Asked {
            var asked = self
            asked.plan = plan
            return asked
        }
    }

    /// Returns a request with the present data of its state, if events have updated the state in place since.
    func updated(_ asked: Asked) -> Asked {
        guard let now = presentState(), now.record !== asked.state.record,
            now.isSameVisit(as: asked.state) || isSameStay(now, asked)
        else { return asked }
        let program = now.definition === asked.program.system ? asked.program : present.now
        // Between two steps of a reload, the state may have another definition than the feedback.
        guard program.system === now.definition else { return asked }
        return Asked(
            state: now, record: asked.record, program: program, stretch: asked.stretch, plan: asked.plan)
    }

    /// Notes the stay in a compound state by which a state asks for the side effect. Returns whether it is the stay of the state before.
    private func goesOn(in state: SystemState?, _ program: FeedbackProgram) -> Bool {
        let stay = state?.stay(by: program.feedback.selector, of: program.system)
        let before = self.stay.withLock { known in
            defer { known = stay }
            return known
        }
        return stay != nil && stay === before
    }

    /// Returns whether a state lies in the same stay in a compound state as one that asked for the side effect.
    private func isSameStay(_ state: SystemState, _ asked: Asked) -> Bool {
        let (selector, words) = (asked.program.feedback.selector, asked.program.system)
        guard let stay = asked.state.stay(by: selector, of: words) else { return false }
        return stay === state.stay(by: selector, of: words)
    }

    /// The time of the next run, while a run or a tick is due later.
    var next: Timestamp? { pacer?.next ?? ticker?.next }

    /// Returns the calendar times for a state. Notes a fault for each text that is not a calendar time.
    private func expressions(
        _ programs: [CalendarProgram], _ variables: inout Variables
    ) throws(EvaluationError) -> [CalendarExpression] {
        var expressions: [CalendarExpression] = []
        for program in programs {
            switch program {
            case .fixed(let expression): expressions.append(expression)
            case .computed(let program, let written, let isOpen):
                guard case .string(let text) = try program.evaluate(&variables) else { continue }
                do throws(CalendarProblem) {
                    expressions.append(try CalendarExpression(text))
                } catch {
                    let reason = isOpen ? error.description : error.reason
                    note(fault("the calendar time '\(written)' cannot be read: \(reason)"))
                }
            }
        }
        return expressions
    }

    /// Logs the ticks that were left out.
    private static func log(_ count: MissedCount, to logger: Logger) {
        switch count {
        case .left(let count, let isLate):
            let metadata: Logger.Metadata = count.map { ["ticks": "\($0)"] } ?? [:]
            logger.log(
                level: isLate ? .notice : .debug, "missed, and not made up for", metadata: metadata.about(.ticksMissed))
        case .beyond(let count):
            logger.warning(
                "more was missed than is made up for",
                metadata: .about(.ticksMissed, ["ticks": "\(count)", "limit": "\(MissedTicks.most)"]))
        }
    }

    /// Returns a fault of the feedback, or of one of its outcomes.
    ///
    /// - Parameter key: The key of the run with the fault.
    func fault(of outcome: String? = nil, in part: WrittenPart? = nil, key: Value? = nil, _ message: String) -> Fault {
        Fault(
            (outcome.map { "\($0) of " } ?? "") + "feedback \(definition.name)",
            in: part ?? .feedback(definition.name),
            message: message + (key.map { " (key \($0.description(longest: Self.longestKey)))" } ?? ""),
            condition: outcome == nil ? condition(of: key) : .result(feedback: definition.name, key: key))
    }

    func duration(
        _ programs: [Int: DataProgram], _ state: SystemState, _ variables: inout Variables
    ) throws(EvaluationError) -> Duration {
        guard case .duration(let span)? = try programs[state.index]?.evaluate(&variables) else {
            preconditionFailure("a schedule has a duration for every state it applies to")
        }
        // An expression may give zero or less. The lower bound keeps that from becoming a tight loop.
        return max(span.swiftDuration, .milliseconds(1))
    }

    private func jitter(_ asked: Asked, _ variables: inout Variables) throws(EvaluationError) -> Duration {
        try asked.program.feedback.jitter.map { programs throws(EvaluationError) in
            try duration(programs, asked.state, &variables)
        }
            ?? .zero
    }

    /// Returns an effect that runs the side effect when its turn comes, or no effect if its mode or limit refuses the run.
    private func counted(_ key: Value?, _ asked: Asked) -> Effect<SystemEvent> {
        guard let turn = turn(key, for: asked) else { return .nothing }
        return .run { send in await turn.perform { await self.run(asked, turn, send) } }
    }

    /// Returns a place among the runs of the feedback, or `nil` if its mode or limit refuses the run.
    func turn(_ key: Value?, for asked: Asked) -> RunTurn? {
        do throws(RunGate.Refusal) {
            return try gate.enter(key)
        } catch {
            switch error {
            case .busy:
                figures.skip()
                adopt(key, for: asked)
                happened(Happening(.skipped(definition.name), asked.state.record, nil, at: time.now()))
                logger.debug("not begun, since it runs still")
            case .full:
                let limit = definition.limit
                note(fault("\(limit) of its side effects run or wait already; no other was started"))
            }
            return nil
        }
    }

    /// Returns an effect that keeps its distance from other runs. The run counts for mode and limit from its due time.
    private func paced(
        _ pace: Pace, _ key: Value?, _ asked: Asked, _ variables: inout Variables
    ) throws(EvaluationError) -> Effect<SystemEvent> {
        let state = asked.state
        let request =
            switch pace {
            case .debounce(let quiet, let maxWait):
                pacer?.delay(
                    key, by: try duration(quiet, state, &variables),
                    maxWait: try maxWait.map { programs throws(EvaluationError) in
                        try duration(programs, state, &variables)
                    })
            case .throttle(let interval): pacer?.throttle(key, try duration(interval, state, &variables))
            }
        if let request, request.pause == nil {
            return isImmediate ? .call { self.act(asked) } : counted(key, asked)
        }
        return putOff(request, key, asked)
    }
}
