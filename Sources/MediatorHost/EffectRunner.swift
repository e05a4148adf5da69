import CommonExpression
import FeedbackKit
import Logging
import MediatorConfiguration
import Synchronization

/// Runs the side effect of one feedback of a configured system, as its schedule says, and turns outcomes into events.
final class EffectRunner: Sendable {
    private let definition: FeedbackDefinition
    private let implementation: (any EffectImplementation)?
    private let system: String
    /// The system's events.
    private let room: HostRoom
    private let events: [EventDefinition]
    private let time: HostTime
    private let logger: Logger
    private let note: @Sendable (Fault) -> Void
    /// Told of each run of the side effect that has ended, and of each that was not begun.
    private let happened: @Sendable (Happening) -> Void
    /// What events of it come from, by outcome; `emit` and `publish` have none.
    private let sources: [String: FeedbackSource]
    private let ownSource: FeedbackSource
    /// Calls the first function on the system's turn, behind the events sent before, and has the system take the event that
    /// it returns. Calls the second function if the system ends before.
    typealias WhenDue = @Sendable (@escaping @Sendable () -> SystemEvent?, @escaping @Sendable () -> Void) -> Void
    private let whenDue: WhenDue
    /// Puts on a bus what a state makes of the feedback, if that is what it does.
    private let publish: @Sendable (SystemState) -> Void
    private let figures: RunFigures
    /// Holds up what is to begin.
    private let pause: PauseGate
    private let ticker: Ticker
    private let waits: Waits
    private let mutex = AsyncMutex()
    private let gate: RunGate
    private let pacer: Pacer
    private let schema: EffectSchema?
    /// Whether it acts at once, on the system's turn, instead of running.
    private let isImmediate: Bool
    private let memory = EffectMemory()
    private let lasting = Mutex(Lasting())
    let probe: ProbeWatch?

    /// What goes on until it is ended.
    private struct Lasting {
        var isUnderWay = false
        var lastBegin: Duration?
    }

    /// How much time lies at least between two beginnings of a side effect that lasts and ends with each new state: one
    /// that leads to a new state at once would otherwise begin again as fast as it can.
    static let shortestCycle = Duration.milliseconds(100)

    init(
        definition: FeedbackDefinition, implementation: (any EffectImplementation)?, system: String,
        events: [EventDefinition], room: HostRoom, time: HostTime, logger: Logger, figures: RunFigures,
        pause: PauseGate, whenDue: @escaping WhenDue,
        publish: @escaping @Sendable (SystemState) -> Void, note: @escaping @Sendable (Fault) -> Void,
        happened: @escaping @Sendable (Happening) -> Void
    ) {
        self.happened = happened
        let isTick = definition.schedule.hasTicks
        let isLasting = implementation?.schema.isLasting ?? false
        ownSource = FeedbackSource(definition.name, outcome: nil, isTick: isTick)
        let outcomes = Set(definition.outcomes.values.flatMap(\.keys)).subtracting([EffectSchema.emit.name])
        sources = Dictionary(
            uniqueKeysWithValues: outcomes.map {
                ($0, FeedbackSource(definition.name, outcome: $0, isTick: isTick, isLasting: isLasting))
            })
        self.publish = publish
        self.figures = figures
        self.pause = pause
        self.whenDue = whenDue
        self.definition = definition
        self.implementation = implementation
        schema = implementation?.schema
        isImmediate = implementation == nil || implementation is any ImmediateEffect
        probe = schema?.isProbe == true ? ProbeWatch() : nil
        self.system = system
        self.events = events
        self.room = room
        self.time = time
        self.logger = logger
        self.note = note
        gate = RunGate(mode: definition.mode, limit: definition.limit)
        waits = Waits(time: time)
        let isCalendar = if case .at = definition.schedule { true } else { false }
        ticker = Ticker(time: time, waits: waits, missed: definition.missed, isCalendar: isCalendar) { count in
            Self.log(count, to: logger)
        }
        pacer = Pacer(time: time, waits: waits)
    }

    /// The system stops: what waits for its time need not wait any longer.
    func endWaiting() {
        waits.close()
    }

    /// Returns what a state asks for. Called on the system's turn for every state that it enters.
    func effect(for state: SystemState) -> Effect<SystemEvent> {
        do throws(EvaluationError) {
            var variables = Variables(state.data, .timestamp(time.now()))
            let isAsked: Bool
            do throws(EvaluationError) {
                isAsked = try definition.selector.matches(state, &variables)
            } catch {
                leave()
                throw error
            }
            guard isAsked else {
                leave()
                return .nothing
            }
            return try ask(in: state, &variables)
        } catch {
            // The wait that the state before has asked for is not this one's.
            if hasWait { pacer.leave() }
            note(fault(error.message))
            return .nothing
        }
    }

    /// The system has entered a state that does not ask for the side effect: what waits for it ends, whatever the strategy.
    private func leave() {
        if hasTicks { _ = ticker.enter(isAsked: false) }
        if hasWait { pacer.leave() }
        _ = stretch(false)
    }

    /// Asks for the side effect on behalf of a state that has just been entered.
    private func ask(in state: SystemState, _ variables: inout Variables) throws(EvaluationError) -> Effect<SystemEvent>
    {
        let generation = hasTicks ? ticker.enter(isAsked: true) : 0
        let stretch = stretch(true)
        switch definition.schedule {
        case .atOnce where isImmediate && definition.pace == nil:
            // Without a task, which might be cancelled before it begins.
            return .call { self.act(in: state) }
        case .atOnce:
            let key = try definition.key?[state.index]?.evaluate(&variables)
            guard let pace = definition.pace else { return counted(key, state, stretch) }
            return try paced(pace, key, state, stretch, &variables)
        case .after(let delays):
            let key = try definition.key?[state.index]?.evaluate(&variables)
            let delay = try duration(delays, state, &variables) + jitter(state, &variables) * time.random()
            return putOff(pacer.delay(key, by: delay), key, state, stretch)
        case .every(let intervals):
            let interval = try duration(intervals, state, &variables)
            return ticking(generation, .every(interval), try jitter(state, &variables), state, stretch)
        case .at(let times):
            let expressions = try expressions(times[state.index] ?? [], &variables)
            return ticking(generation, .at(expressions), try jitter(state, &variables), state, stretch)
        }
    }

    /// Whether its schedule has ticks.
    private var hasTicks: Bool { definition.schedule.hasTicks }

    /// Whether it may wait for its time, other than for a tick.
    private var hasWait: Bool {
        if case .after = definition.schedule { true } else { definition.pace != nil }
    }

    /// When the side effect runs next, while that is waited for.
    var next: Timestamp? { hasWait ? pacer.next : ticker.next }

    // MARK: Waiting

    /// A side effect that runs at each tick. Each asks for a run of its own, so `key` does not matter.
    private func ticking(
        _ generation: UInt64, _ plan: Ticker.Plan, _ jitter: Duration, _ state: SystemState, _ stretch: UInt64
    ) -> Effect<SystemEvent> {
        waiting(nil, state, stretch, repeats: true) { [ticker, time] in
            // Looked up for calendar times only, and not on the turn: it may mean a look at a file.
            let zone = if case .at = plan { time.zone() } else { ZoneOffsets.utc }
            return { ticker.step(generation, plan, in: zone, jitter: jitter) }
        }
    }

    /// A side effect that waits for its time once.
    private func putOff(
        _ request: Pacer.Request?, _ key: Value?, _ state: SystemState, _ stretch: UInt64
    ) -> Effect<SystemEvent> {
        guard let request else {
            note(fault("there are more than \(Pacer.mostKeys) keys at a time; none was started"))
            return .nothing
        }
        return waiting(key, state, stretch, repeats: false) { [pacer] in { pacer.step(request) } }
    }

    /// A side effect that waits for its time on behalf of a state.
    ///
    /// Each step is taken on the system's turn, when every event sent before has been taken. So a wait whose state has been
    /// left by then has ended, even if its time had come.
    ///
    /// - Parameter prepare: returns a step, and is not called on the turn.
    private func waiting(
        _ key: Value?, _ state: SystemState, _ stretch: UInt64, repeats: Bool,
        prepare: @escaping @Sendable () -> @Sendable () -> WaitStep
    ) -> Effect<SystemEvent> {
        .run { [self] send in
            while !Task.isCancelled {
                switch await onTurn(prepare(), key, state) {
                case .ended: return
                case .waits(let ticket):
                    guard await waits.finish(ticket) else { return }
                    continue
                case .done: break
                case .begins(let turn): await turn.perform { await self.run(state, stretch, turn, send) }
                }
                guard repeats else { return }
            }
        }
    }

    /// A step of a wait, as it turned out.
    private enum Step: Sendable {
        case ended
        case waits(Waits.Ticket)
        /// It was due, and there is nothing more to do.
        case done
        /// It is due, and has its place among the runs.
        case begins(RunTurn)
    }

    private func onTurn(
        _ step: @escaping @Sendable () -> WaitStep, _ key: Value?, _ state: SystemState
    ) async -> Step {
        await withCheckedContinuation { continuation in
            whenDue(
                { [self] in
                    var event: SystemEvent?
                    switch waits.isClosed ? .ended : step() {
                    case .ended: continuation.resume(returning: .ended)
                    case .wait(let ticket): continuation.resume(returning: .waits(ticket))
                    case .due where isImmediate:
                        event = act(in: state)
                        continuation.resume(returning: .done)
                    case .due: continuation.resume(returning: turn(key, in: state).map { .begins($0) } ?? .done)
                    }
                    return event
                }, { continuation.resume(returning: .ended) })
        }
    }

    /// Calendar times as they are in a state.
    private func expressions(
        _ programs: [CalendarProgram], _ variables: inout Variables
    ) throws(EvaluationError) -> [CalendarExpression] {
        var expressions: [CalendarExpression] = []
        for program in programs {
            switch program {
            case .fixed(let expression): expressions.append(expression)
            case .computed(let program):
                guard case .string(let text) = try program.evaluate(&variables) else { continue }
                do throws(CalendarProblem) {
                    expressions.append(try CalendarExpression(text))
                } catch {
                    note(fault("its calendar time cannot be read: \(error)"))
                }
            }
        }
        return expressions
    }

    /// Tells of ticks that were left out.
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

    /// The stretch of the system's life, for what is counted, to which a run that a new state asks for belongs.
    private func stretch(_ isAsked: Bool) -> UInt64 {
        probe?.enter(isAsked: isAsked, endsRuns: definition.strategy == .cancelOnNewState) ?? 0
    }

    /// A fault of it, or of an outcome of it.
    private func fault(of outcome: String? = nil, in part: WrittenPart? = nil, _ message: String) -> Fault {
        Fault(
            (outcome.map { "\($0) of " } ?? "") + "feedback \(definition.name)",
            in: part ?? .feedback(definition.name), message: message)
    }

    private func duration(
        _ programs: [Int: DataProgram], _ state: SystemState, _ variables: inout Variables
    ) throws(EvaluationError) -> Duration {
        guard case .duration(let span)? = try programs[state.index]?.evaluate(&variables) else {
            preconditionFailure("a schedule has a duration for every state it applies to")
        }
        // An expression may come to nothing or less: then it is as soon as possible, but never a tight loop.
        return max(span.swiftDuration, .milliseconds(1))
    }

    private func jitter(_ state: SystemState, _ variables: inout Variables) throws(EvaluationError) -> Duration {
        try definition.jitter.map { programs throws(EvaluationError) in try duration(programs, state, &variables) }
            ?? .zero
    }

    /// A side effect that begins when it is its turn. Beyond the limit there is none.
    private func counted(_ key: Value?, _ state: SystemState, _ stretch: UInt64) -> Effect<SystemEvent> {
        guard let turn = turn(key, in: state) else { return .nothing }
        return .run { send in await turn.perform { await self.run(state, stretch, turn, send) } }
    }

    /// A side effect's place among those of its feedback; nil: there is to be none.
    private func turn(_ key: Value?, in state: SystemState) -> RunTurn? {
        do throws(RunGate.Refusal) {
            return try gate.enter(key)
        } catch {
            switch error {
            case .busy:
                figures.skip()
                happened(Happening(.skipped(definition.name), state.record, nil, at: time.now()))
                logger.debug("not begun, since it runs still")
            case .full:
                let limit = definition.limit
                note(fault("\(limit) of its side effects run or wait already; no other was started"))
            }
            return nil
        }
    }

    /// A side effect that keeps its distance from others. It counts from when it is due.
    private func paced(
        _ pace: Pace, _ key: Value?, _ state: SystemState, _ stretch: UInt64, _ variables: inout Variables
    ) throws(EvaluationError) -> Effect<SystemEvent> {
        let request =
            switch pace {
            case .debounce(let quiet, let maxWait):
                pacer.delay(
                    key, by: try duration(quiet, state, &variables),
                    maxWait: try maxWait.map { programs throws(EvaluationError) in
                        try duration(programs, state, &variables)
                    })
            case .throttle(let interval): pacer.throttle(key, try duration(interval, state, &variables))
            }
        if let request, !request.isPutOff {
            return isImmediate ? .call { self.act(in: state) } : counted(key, state, stretch)
        }
        return putOff(request, key, state, stretch)
    }

    /// Runs the side effect, once or as often as it is to be tried.
    ///
    /// With `cancelOnNewState` the one before has been told to end, but ending a command takes time: this one waits for
    /// it, so that never two of a feedback are at work.
    private func run(
        _ state: SystemState, _ stretch: UInt64, _ turn: RunTurn, _ send: Send<SystemEvent>
    ) async {
        guard let implementation else { return }
        await pause.pass()
        let isExclusive = definition.strategy == .cancelOnNewState
        if isExclusive { guard await mutex.enter() == .entered else { return } }
        defer { if isExclusive { mutex.leave() } }
        // Nothing begins once the system is stopping, or the state has been left.
        guard !waits.isClosed, !Task.isCancelled else { return }
        if schema?.isLasting == true {
            guard await beginLasting(isExclusive) else { return }
        }
        defer { if schema?.isLasting == true { lasting.withLock { $0.isUnderWay = false } } }
        guard let (arguments, limit) = given(in: state) else { return }
        let run = Run(
            state: state, stretch: stretch, thresholds: Thresholds(arguments), turn: turn, begun: time.now(), send: send
        )
        let begin = time.elapsed()
        figures.begin()
        defer {
            figures.end(after: time.elapsed() - begin)
            let (outcomes, others) = run.outcomes.all
            happened(
                Happening(
                    EffectRun(
                        feedback: definition.name, record: state.record, begun: run.begun, ended: time.now(),
                        outcomes: outcomes, others: others, isCancelled: Task.isCancelled)))
        }
        guard schema?.isLasting == true else {
            return await attempts(limit, run, arguments) { await implementation.run(arguments, in: $0) }
        }
        let context = context(of: state, arguments) { [self] in hear($0, $1, run) }
        // It has to end as soon as the system is to stop.
        guard let ticket = waits.begin({ await implementation.run(arguments, in: context) }) else { return }
        _ = await waits.finish(ticket)
    }

    /// The arguments of the side effect in a state, and how long it may take; nil if there is a fault in them.
    private func given(in state: SystemState) -> (arguments: [String: Value], limit: Duration?)? {
        var arguments: [String: Value] = [:]
        var limit: Duration?
        do {
            var variables = Variables(state.data, .timestamp(time.now()))
            for (name, program) in definition.arguments[state.index] ?? [:] {
                arguments[name] = try program.evaluate(&variables)
            }
            if let programs = definition.timeout { limit = try duration(programs, state, &variables) }
        } catch {
            note(fault(error.message))
            return nil
        }
        if let problem = schema?.problems(with: arguments).first {
            note(fault(problem.message))
            return nil
        }
        return (arguments, limit)
    }

    /// Does at once, on the system's turn, what needs no run. Returns the event that is emitted, if that is it.
    private func act(in state: SystemState) -> SystemEvent? {
        if let effect = implementation as? any ImmediateEffect {
            carryOut(effect, in: state)
            return nil
        }
        guard definition.effect == EffectSchema.publish.name else {
            return event(for: EffectSchema.emit.name, .null, in: state, begun: nil).event
        }
        publish(state)
        return nil
    }

    private func carryOut(_ effect: any ImmediateEffect, in state: SystemState) {
        guard let arguments = given(in: state)?.arguments else { return }
        let (begun, begin) = (time.now(), time.elapsed())
        figures.begin()
        effect.act(arguments, in: context(of: state, arguments) { _, _ in false })
        figures.end(after: time.elapsed() - begin)
        happened(
            Happening(
                EffectRun(
                    feedback: definition.name, record: state.record, begun: begun, ended: time.now(), outcomes: [],
                    others: 0, isCancelled: false)))
    }

    /// What a run is given that a state has asked for.
    private func context(
        of state: SystemState, _ arguments: [String: Value],
        _ outcome: @escaping @Sendable (String, Value) -> Bool
    ) -> EffectContext {
        // Made into text only where something is logged.
        let details: Logger.Metadata = [
            JournalDetails.key: [
                JournalDetails.cause: .stringConvertible(StateName(state.record)), "state": .string(state.record.name),
            ]
        ]
        return EffectContext(
            system: system, feedback: definition.name, clock: time.clock, logger: logger.with(details), memory: memory,
            isConfidential: !definition.secretArguments.isEmpty,
            outcome: outcome,
            fault: { [self] in note(self.fault(concealing(arguments)($0))) })
    }

    /// What takes the secrets out of a message that somebody else has written who was given them.
    private func concealing(_ arguments: [String: Value]) -> Concealment {
        Concealment(
            definition.secretArguments.reduce(into: []) { texts, name in
                texts.formUnion(definition.secretTexts[name] ?? arguments[name]?.texts ?? [])
            })
    }

    /// Takes an outcome that the side effect reports; whether there are rules for it. What it does not have is a fault, and
    /// dealt with.
    private func hear(_ outcome: String, _ result: Value, _ run: Run) -> Bool {
        guard let problem = schema?.problem(withOutcome: outcome, result) else { return deliver(outcome, result, run) }
        if !run.turn.isReplaced, !Task.isCancelled { note(fault(problem)) }
        return true
    }

    /// Turns an outcome into its event; whether there are rules for it.
    private func deliver(_ outcome: String, _ result: Value, _ run: Run) -> Bool {
        figures.report(outcome)
        run.outcomes.note(outcome, told(result), at: time.now())
        // Before the outcome itself: what that leads to may withdraw what comes behind it.
        if !run.turn.isReplaced, let report = probe?.count(outcome, of: run.stretch, run.thresholds) {
            tell(report, result, run)
        }
        let (hasRule, event) = event(for: outcome, result, in: run.state, begun: run.begun)
        if let event, !run.turn.isReplaced { run.send(event) }
        return hasRule || isCounted(outcome, in: run.state)
    }

    /// Tells what several outcomes in a row have come to, if there are rules for that.
    ///
    /// The event belongs to the feedback, not to this run, so that a new state does not withdraw it. The system takes it if
    /// it is by then in a state that asks for the side effect.
    private func tell(_ report: ProbeWatch.Report, _ result: Value, _ run: Run) {
        let (hasRule, event) = event(for: report.outcome, result, in: run.state, begun: run.begun)
        guard hasRule else { return }
        figures.report(report.outcome)
        run.outcomes.note(report.outcome, told(result), at: time.now())
        if let event { whenDue({ [probe] in probe?.holds(report) == true ? event : nil }, {}) }
    }

    /// One run: of what, and where its outcomes go.
    private struct Run: Sendable {
        let state: SystemState
        /// The stretch of the system's life to which it belongs, for what is counted.
        let stretch: UInt64
        let thresholds: Thresholds
        let turn: RunTurn
        /// When it began.
        let begun: Timestamp
        let send: Send<SystemEvent>
        let outcomes = OutcomeLog()
    }

    // MARK: Attempts

    /// Runs something within its time, and again if it fails, as often as the configuration says. What the last attempt
    /// comes to is told.
    private func attempts(
        _ limit: Duration?, _ run: Run, _ arguments: [String: Value],
        _ body: @escaping @Sendable (EffectContext) async -> Void
    ) async {
        var delay = definition.retry?.delay.swiftDuration ?? .zero
        var left = definition.retry?.times ?? 0
        while true {
            let attempt = Attempt(mayFail: left > 0)
            let context = context(of: run.state, arguments) { [self] outcome, result in
                switch attempt.take(outcome) {
                case .tell: return hear(outcome, result, run)
                case .retry: run.outcomes.note(outcome, told(result), at: time.now(), isRetried: true)
                case .keep: break
                }
                return true
            }
            let isInTime = await finishes(within: limit, attempt) { await body(context) }
            guard !Task.isCancelled else { return }
            if left > 0, attempt.hasFailed || !isInTime, let retry = definition.retry {
                left -= 1
                if !isInTime, let limit {
                    run.outcomes.note(
                        EffectSchema.timeoutOutcome.name, Self.timeoutResult(limit), at: time.now(), isRetried: true)
                }
                let pause = delay * (1 + retry.jitter * (2 * time.random() - 1))
                delay = min(delay + delay, max(retry.maxDelay, retry.delay).swiftDuration)
                logger.debug("failed; it is tried again", metadata: ["delay": "\(pause)", "left": "\(left)"])
                guard let ticket = waits.begin(pause), await waits.finish(ticket) else { return }
                figures.retry()
                continue
            }
            if !isInTime, let limit { tellTimeout(limit, run) }
            return
        }
    }

    /// A run's time was up: an event where the configuration says which, else a fault.
    private func tellTimeout(_ limit: Duration, _ run: Run) {
        let result = Self.timeoutResult(limit)
        let message = "its time was up, after \(limit)"
        // For a probe that is a failure like others.
        if let report = probe?.count("onFailure", of: run.stretch, run.thresholds), !run.turn.isReplaced,
            let type = schema?.outcomes.first(where: { $0.name == report.outcome })?.result
        {
            let fields = type.fields.map { field in
                field.name == "error"
                    ? .string(message) : field.name == "took" ? .duration(after: limit) : field.type.blank
            }
            tell(report, .structure(Structure(type: type, fields: fields)), run)
        }
        let isTold = deliver(EffectSchema.timeoutOutcome.name, result, run)
        guard !isTold, !isCounted("onFailure", in: run.state) else { return }
        note(fault(message))
    }

    /// What `onTimeout` tells.
    private static func timeoutResult(_ limit: Duration) -> Value {
        .structure(Structure(type: EffectSchema.timeoutOutcome.result, fields: [.duration(after: limit)]))
    }

    /// Whether something ends within a limit; past it, it is cancelled, and waited for. `nil`: there is no limit.
    private func finishes(
        within limit: Duration?, _ attempt: Attempt, _ body: @escaping @Sendable () async -> Void
    ) async -> Bool {
        guard let limit else {
            await body()
            return true
        }
        let (time, end) = (time, time.elapsed() + limit)
        return await withTaskGroup(of: Bool?.self) { group in
            group.addTask {
                await body()
                return attempt.finish()
            }
            group.addTask {
                guard (try? await time.sleep(end)) != nil else { return nil }
                return attempt.end() ? false : nil
            }
            // What has told its outcome may take its time to end.
            for await isInTime in group {
                guard let isInTime else { continue }
                group.cancelAll()
                return isInTime
            }
            return true
        }
    }

    /// Whether a side effect that lasts may begin: one at a time, and not as fast as it can. `false`: one goes on
    /// already, or it has been cancelled meanwhile.
    private func beginLasting(_ isExclusive: Bool) async -> Bool {
        let last: Duration?? = lasting.withLock { lasting in
            guard !lasting.isUnderWay else { return nil }
            lasting.isUnderWay = true
            return .some(lasting.lastBegin)
        }
        guard let last else { return false }
        var mayBegin = true
        if isExclusive, let last {
            let pause = last + Self.shortestCycle - time.elapsed()
            if pause > .zero {
                if let ticket = waits.begin(pause) { mayBegin = await waits.finish(ticket) } else { mayBegin = false }
            }
        }
        let begin = time.elapsed()
        lasting.withLock { lasting in
            if mayBegin { lasting.lastBegin = begin } else { lasting.isUnderWay = false }
        }
        return mayBegin
    }

    /// Whether there are rules for what so many of an outcome come to.
    private func isCounted(_ outcome: String, in state: SystemState) -> Bool {
        guard probe != nil, outcome == "onSuccess" || outcome == "onFailure" else { return false }
        return definition.outcomes[state.index]?[outcome == "onFailure" ? "onDown" : "onUp"] != nil
    }

    /// The event an outcome leads to, and whether there are rules for it at all.
    ///
    /// - Parameter begun: when the run began; nil: there is none.
    private func event(
        for outcome: String, _ result: Value, in state: SystemState, begun: Timestamp?
    ) -> (hasRule: Bool, event: SystemEvent?) {
        guard let rules = definition.outcomes[state.index]?[outcome] else { return (false, nil) }
        let now = time.now()
        var variables = Variables(state.data, .timestamp(now), result)
        var tried = 0
        do {
            for (index, rule) in rules.enumerated() {
                tried = index
                if let condition = rule.condition, try !condition.evaluateBool(&variables) { continue }
                let data = try rule.event.data.evaluate(&variables)
                if let breach = events[rule.event.event].breach(of: data) {
                    noteOutcome(outcome, breach.description, rule: tried, in: state)
                    return (true, nil)
                }
                let size = SystemEvent.size(of: data)
                if let excess = room.excess(ofSize: size, "the event '\(events[rule.event.event].name)'") {
                    noteOutcome(outcome, excess, rule: tried, in: state)
                    return (true, nil)
                }
                let cause = Cause(
                    Cause.FeedbackOrigin(sources[outcome] ?? ownSource, begun: begun), of: state.record, at: now,
                    value: told(result))
                return (true, SystemEvent(index: rule.event.event, data: data, cause: cause, size: size))
            }
        } catch {
            noteOutcome(outcome, error.message, rule: tried, in: state)
        }
        return (true, nil)
    }

    /// What is kept of a result to be told of it: nothing where a secret was given, which it may repeat.
    private func told(_ result: Value) -> Value {
        definition.secretArguments.isEmpty ? Excerpt.of(result) : .null
    }

    /// Notes that nothing could be made of an outcome. Where a secret was given, the outcome may repeat it, and the message
    /// the outcome.
    private func noteOutcome(_ outcome: String, _ message: String, rule: Int, in state: SystemState) {
        let isOpen = definition.secretArguments.isEmpty
        let part = WrittenPart.outcome(
            feedback: definition.name, state: state.record.name, outcome: outcome, index: rule)
        note(
            fault(
                of: outcome, in: part,
                isOpen ? message : "no event could be made of it; why is not shown, since a secret was given"))
    }
}

extension StateSelector {
    /// Whether the state is one of those selected. `variables`: its data and the time.
    func matches(_ state: SystemState, _ variables: inout Variables) throws(EvaluationError) -> Bool {
        guard states.contains(state.index) else { return false }
        if !equals.isEmpty {
            guard case .structure(let data) = state.data else { return false }
            for (field, value) in equals where data.fields[field] != value { return false }
        }
        guard let condition = conditions[state.index] else { return true }
        return try condition.evaluateBool(&variables)
    }
}

/// What becomes of the outcomes of one attempt.
private final class Attempt: Sendable {
    enum Verdict {
        case tell
        /// It is a failure, after which there is another attempt.
        case retry
        /// It is not to be known.
        case keep
    }

    private struct Machine {
        var hasFailed = false
        /// Whether it came to its end in time, or has told how it went.
        var isFinished = false
        /// Whether its time was up.
        var isOver = false
    }

    private let machine = Mutex(Machine())
    private let mayFail: Bool

    /// - Parameter mayFail: whether there is another attempt after it.
    init(mayFail: Bool) { self.mayFail = mayFail }

    var hasFailed: Bool { machine.withLock { $0.hasFailed } }

    /// It has come to its end; whether in time.
    func finish() -> Bool {
        machine.withLock { machine in
            machine.isFinished = true
            return !machine.isOver
        }
    }

    /// Its time is up: what it still reports is not to be known. `false`: it has come to its end before.
    func end() -> Bool {
        machine.withLock { machine in
            machine.isOver = !machine.isFinished
            return machine.isOver
        }
    }

    func take(_ outcome: String) -> Verdict {
        machine.withLock { machine in
            if machine.isOver { return .keep }
            guard outcome == "onFailure" || outcome == "onSuccess" else { return .tell }
            machine.isFinished = true
            guard outcome == "onFailure", mayFail else { return .tell }
            machine.hasFailed = true
            return .retry
        }
    }
}

extension Value {
    /// A time that has passed.
    fileprivate static func duration(after limit: Duration) -> Value {
        let (seconds, attoseconds) = limit.components
        return TimeSpan(seconds: seconds, nanoseconds: Int32(attoseconds / 1_000_000_000)).map { .duration($0) }
            ?? .null
    }
}

extension ValueType {
    /// The value of one of which nothing is known: nothing, and as much of it.
    fileprivate var blank: Value {
        switch self {
        case .bool: .bool(false)
        case .int: .int(0)
        case .uint: .uint(0)
        case .double: .double(0)
        case .string: .string("")
        case .duration: TimeSpan(seconds: 0, nanoseconds: 0).map { .duration($0) } ?? .null
        case .timestamp: Timestamp(seconds: 0, nanoseconds: 0).map { .timestamp($0) } ?? .null
        case .list: .list([])
        case .map: .map([:])
        default: .null
        }
    }
}
