import CommonExpression
import FeedbackKit
import Logging
import MediatorConfiguration
import Synchronization

// One run of a side effect.
extension EffectRunner {
    /// A run of the side effect, with its request and the destination of its outcomes.
    struct Run: Sendable {
        let asked: Asked
        let thresholds: Thresholds
        let turn: RunTurn
        /// The time at which the run began.
        let begun: Timestamp
        let send: Send<SystemEvent>
        let outcomes = OutcomeLog()
        let verdict: RunVerdict

        var state: SystemState { asked.state }
    }

    /// Runs the side effect once, or several times with a retry policy.
    ///
    /// With `cancelOnNewState` the previous run is already cancelled, but the end of a command takes time. The new run waits
    /// for that end, so that two runs of a feedback are never active together.
    func run(_ asked: Asked, _ turn: RunTurn, _ send: Send<SystemEvent>) async {
        guard let implementation else { return }
        await pause.pass()
        for predecessor in predecessors { await predecessor.emptied() }
        if let mutex { guard await mutex.enter() == .entered else { return } }
        defer { mutex?.leave() }
        // No run begins once the system stops, the run is cancelled, or the feedback is removed or replaced.
        guard !waits.isClosed, !Task.isCancelled, !isRetired.load(ordering: .acquiring) else { return }
        active.add(1, ordering: .acquiringAndReleasing)
        defer { active.subtract(1, ordering: .acquiringAndReleasing) }
        if schema?.isLasting == true {
            guard await beginLasting(asked) else { return }
        }
        defer { if schema?.isLasting == true { lasting.withLock { $0.isUnderWay = false } } }
        let state = asked.state
        guard let (arguments, limit) = given(asked, turn.key) else { return }
        let run = Run(
            asked: asked, thresholds: Thresholds(arguments), turn: turn, begun: time.now(), send: send,
            verdict: RunVerdict(asked.stretch, hasKey: turn.key != nil))
        let isKnown = isAlone || turn.key != nil
        if isKnown { verdicts.withLock { $0.append((turn.key, run.verdict)) } }
        defer { if isKnown { verdicts.withLock { $0.removeAll { $0.verdict === run.verdict } } } }
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
        let context = context(of: run, arguments) { [self] in hear($0, $1, run) }
        // A lasting side effect ends as soon as the system begins to stop.
        if await waits.perform({ await implementation.run(arguments, in: context) }) { ended(run) }
    }

    /// Returns the arguments of the side effect in a state, and its time limit. Notes a fault and returns `nil` if they are
    /// invalid.
    ///
    /// - Parameter key: The key of the run.
    func given(_ asked: Asked, _ key: Value? = nil) -> (arguments: [String: Value], limit: Duration?)? {
        var arguments: [String: Value] = [:]
        var limit: Duration?
        do {
            let (state, feedback) = (asked.state, asked.program.feedback)
            var variables = state.variables(at: time.now())
            for (name, program) in feedback.arguments[state.index] ?? [:] {
                arguments[name] = try program.evaluate(&variables)
            }
            if let programs = feedback.timeout { limit = try duration(programs, state, &variables) }
        } catch {
            note(fault(key: key, error.message), in: asked.stretch)
            return nil
        }
        if let problem = schema?.problems(with: arguments).first {
            note(fault(key: key, problem.message), in: asked.stretch)
            return nil
        }
        return (arguments, limit)
    }

    /// Returns the context of a run.
    func context(
        of run: Run, _ arguments: [String: Value], _ outcome: @escaping @Sendable (String, Value) -> Bool
    ) -> EffectContext {
        context(
            of: run.state, arguments,
            fault: { [self] in note(fault(key: run.turn.key, $0), in: run) },
            obstacle: { [self] in note(fault(key: run.turn.key, $0), in: run, isStubborn: true) },
            works: { [self] in works(run) }, outcome: outcome)
    }

    /// Returns the context of a side effect for a state that asked for it.
    func context(
        of state: SystemState, _ arguments: [String: Value], fault: @escaping @Sendable (String) -> Void,
        obstacle: (@Sendable (String) -> Void)? = nil,
        works: @escaping @Sendable () -> Void, outcome: @escaping @Sendable (String, Value) -> Bool
    ) -> EffectContext {
        // The metadata becomes text only if something is logged.
        let details: Logger.Metadata = [
            JournalDetails.key: [
                JournalDetails.cause: .stringConvertible(StateName(state.record)), "state": .string(state.record.name),
            ]
        ]
        let logger = logger.with(details)
        return EffectContext(
            system: system, feedback: definition.name, clock: time.clock, logger: logger,
            memory: memory ?? EffectMemory(),
            isConfidential: !definition.secretArguments.isEmpty,
            outcome: outcome, fault: { [self] in fault(concealing(arguments)($0)) },
            obstacle: { [self] in (obstacle ?? fault)(concealing(arguments)($0)) }, works: works,
            warn: { [self] in log(.warning, $0, $1, by: logger) })
    }

    /// Returns the filter that removes secrets from the messages of the side effect, which got them as arguments.
    private func concealing(_ arguments: [String: Value]) -> Concealment {
        Concealment(
            definition.secretArguments.reduce(into: []) { texts, name in
                texts.formUnion(definition.secretTexts[name] ?? arguments[name]?.texts ?? [])
            })
    }

    /// A Boolean value that indicates whether at most one run of a key goes on.
    private var isAlone: Bool { schema?.isLasting == true || definition.mode == .single }

    /// Waits until a lasting side effect may begin. Returns `false` if one runs already, or if the wait was cancelled.
    private func beginLasting(_ asked: Asked) async -> Bool {
        let last: Duration?? = lasting.withLock { lasting in
            guard !lasting.isUnderWay else { return nil }
            lasting.isUnderWay = true
            return .some(lasting.lastBegin)
        }
        guard let last else {
            adopt(nil, for: asked)
            return false
        }
        var mayBegin = true
        if mutex != nil, let last {
            let pause = last + Self.shortestCycle - time.elapsed()
            if pause > .zero { mayBegin = await waits.wait(until: time.elapsed() + pause) }
        }
        let begin = time.elapsed()
        lasting.withLock { lasting in
            if mayBegin { lasting.lastBegin = begin } else { lasting.isUnderWay = false }
        }
        return mayBegin
    }
}
