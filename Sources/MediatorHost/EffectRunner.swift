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
    private let events: [EventDefinition]
    private let time: HostTime
    private let logger: Logger
    private let note: @Sendable (Fault) -> Void
    private let ticker: Ticker
    private let waits: Waits
    private let turnstile = Turnstile()
    private let gate: RunGate
    private let schema: EffectSchema?
    private let memory = EffectMemory()
    private let lasting = Mutex(Lasting())
    private let probe: ProbeWatch?

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
        events: [EventDefinition], time: HostTime, logger: Logger, note: @escaping @Sendable (Fault) -> Void
    ) {
        self.definition = definition
        self.implementation = implementation
        schema = implementation?.schema
        probe = schema?.isProbe == true ? ProbeWatch() : nil
        self.system = system
        self.events = events
        self.time = time
        self.logger = logger
        self.note = note
        gate = RunGate(mode: definition.mode, limit: definition.limit)
        waits = Waits(clock: time.clock)
        ticker = Ticker(time: time, waits: waits)
    }

    /// The system stops: what waits for its time need not wait any longer.
    func endWaiting() {
        waits.close()
    }

    /// What a state asks for. Called for every state the system enters.
    func effect(for state: SystemState) -> Effect<SystemEvent> {
        let generation = if case .every = definition.schedule { ticker.enter() } else { UInt64(0) }
        do {
            let variables = [state.data, .timestamp(time.now())]
            let isAsked = try definition.selector.matches(state, variables)
            let stretch = stretch(isAsked)
            guard isAsked else { return .nothing }
            switch definition.schedule {
            case .atOnce where implementation == nil:
                // An event emitted at once needs no task.
                return .call { self.event(for: "emit", .null, in: state).event }
            case .atOnce:
                return counted { turn, send in await self.run(state, stretch, turn, send) }
            case .after(let delays):
                let delay = try duration(delays, state, variables)
                return counted { turn, send in
                    guard let ticket = self.waits.begin(delay), await self.waits.finish(ticket) else { return }
                    await self.run(state, stretch, turn, send)
                }
            case .every(let intervals):
                let interval = try duration(intervals, state, variables)
                return counted { [ticker] turn, send in
                    await ticker.tick(generation, every: interval) { await self.run(state, stretch, turn, send) }
                }
            }
        } catch {
            note(Fault(place: place, message: error.message))
            return .nothing
        }
    }

    /// The stretch of the system's life, for what is counted, to which a run that a new state asks for belongs.
    private func stretch(_ isAsked: Bool) -> UInt64 {
        probe?.enter(isAsked: isAsked, endsRuns: definition.strategy == .cancelOnNewState) ?? 0
    }

    private var place: String { "feedback \(definition.name), \(definition.source)" }

    private func duration(
        _ programs: [Int: DataProgram], _ state: SystemState, _ variables: [Value]
    ) throws(EvaluationError) -> Duration {
        guard case .duration(let span)? = try programs[state.index]?.evaluate(variables) else {
            preconditionFailure("a schedule has a duration for every state it applies to")
        }
        // An expression may come to nothing or less: then it is as soon as possible, but never a tight loop.
        return max(span.swiftDuration, .milliseconds(1))
    }

    /// A side effect that counts from the moment it is asked for, waiting included. Beyond the limit there is none.
    private func counted(
        _ body: @escaping @Sendable (RunTurn, Send<SystemEvent>) async -> Void
    ) -> Effect<SystemEvent> {
        do throws(RunGate.Refusal) {
            let turn = try gate.enter()
            return .run { send in await turn.perform { await body(turn, send) } }
        } catch {
            switch error {
            case .busy: logger.debug("not begun, since it runs still")
            case .full:
                let limit = definition.limit
                note(
                    Fault(
                        place: place,
                        message: "\(limit) of its side effects run or wait already; no other was started"))
            }
            return .nothing
        }
    }

    /// Runs the side effect once.
    ///
    /// With `cancelOnNewState` the one before has been told to end, but ending a command takes time: this one waits for
    /// it, so that never two of a feedback are at work.
    private func run(
        _ state: SystemState, _ stretch: UInt64, _ turn: RunTurn, _ send: Send<SystemEvent>
    ) async {
        guard let implementation else {
            if let event = event(for: "emit", .null, in: state).event { send(event) }
            return
        }
        let isExclusive = definition.strategy == .cancelOnNewState
        if isExclusive { guard await turnstile.enter() == .entered else { return } }
        defer { if isExclusive { turnstile.leave() } }
        // Nothing begins once the system is stopping, or the state has been left.
        guard !waits.isClosed, !Task.isCancelled else { return }
        if schema?.isLasting == true {
            guard await beginLasting(isExclusive) else { return }
        }
        defer { if schema?.isLasting == true { lasting.withLock { $0.isUnderWay = false } } }
        var arguments: [String: Value] = [:]
        do {
            let variables = [state.data, .timestamp(time.now())]
            for (name, program) in definition.arguments[state.index] ?? [:] {
                arguments[name] = try program.evaluate(variables)
            }
        } catch {
            note(Fault(place: place, message: error.message))
            return
        }
        if let problem = schema?.problems(with: arguments).first {
            note(Fault(place: place, message: problem.message))
            return
        }
        let thresholds = Thresholds(arguments)
        let context = EffectContext(
            system: system, feedback: definition.name, clock: time.clock, logger: logger, memory: memory,
            outcome: { [self] outcome, result in
                // Before the outcome itself: what that leads to may withdraw what comes behind it.
                if !turn.isReplaced, let level = probe?.count(outcome, of: stretch, thresholds),
                    let event = event(for: level, result, in: state).event
                {
                    send(event)
                }
                let (hasRule, event) = event(for: outcome, result, in: state)
                if let event, !turn.isReplaced { send(event) }
                return hasRule || isCounted(outcome, in: state)
            },
            fault: { [self] in note(Fault(place: place, message: $0)) })
        guard schema?.isLasting == true else { return await implementation.run(arguments, in: context) }
        let given = arguments
        // It has to end as soon as the system is to stop.
        guard let ticket = waits.begin({ await implementation.run(given, in: context) }) else { return }
        _ = await waits.finish(ticket)
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
        guard probe != nil else { return false }
        return definition.outcomes[state.index]?[outcome == "onFailure" ? "onDown" : "onUp"] != nil
    }

    /// The event an outcome leads to, and whether there are rules for it at all.
    private func event(
        for outcome: String, _ result: Value, in state: SystemState
    ) -> (hasRule: Bool, event: SystemEvent?) {
        guard let rules = definition.outcomes[state.index]?[outcome] else { return (false, nil) }
        let variables = [state.data, .timestamp(time.now()), result]
        do {
            for rule in rules {
                if let condition = rule.condition, try !condition.evaluateBool(variables) { continue }
                let data = try rule.event.data.evaluate(variables)
                if let breach = events[rule.event.event].breach(of: data) {
                    note(Fault(place: "\(outcome) of \(place)", message: breach.description))
                    return (true, nil)
                }
                return (true, SystemEvent(index: rule.event.event, data: data))
            }
        } catch {
            note(Fault(place: "\(outcome) of \(place)", message: error.message))
        }
        return (true, nil)
    }
}

extension StateSelector {
    /// Whether the state is one of those selected. `variables`: its data and the time.
    func matches(_ state: SystemState, _ variables: [Value]) throws(EvaluationError) -> Bool {
        guard states.contains(state.index) else { return false }
        if !equals.isEmpty {
            guard case .structure(let data) = state.data else { return false }
            for (field, value) in equals where data.fields[field] != value { return false }
        }
        guard let condition = conditions[state.index] else { return true }
        return try condition.evaluateBool(variables)
    }
}
