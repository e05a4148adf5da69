import CommonExpression
import FeedbackKit
import MediatorConfiguration
import Synchronization

// The waits of a side effect for its time.
extension EffectRunner {
    /// Returns an effect that runs the side effect at each tick. A schedule with ticks has no `key`.
    func ticking(
        _ generation: UInt64, _ plan: Ticker.Plan, _ jitter: Duration, _ asked: Asked
    ) -> Effect<SystemEvent> {
        guard let ticker else { preconditionFailure("a schedule with ticks has a ticker") }
        return waiting(
            nil, asked, after: ticker.pause(generation, plan, jitter: jitter),
            again: { ticker.pause(generation, plan, jitter: jitter) },
            step: { [self] in
                // A run that an earlier state began goes on. Ticks never overlap.
                if waitsForRuns, gate.isInUse {
                    return ticker.wait(generation, for: { [gate] in await gate.emptied() })
                }
                return ticker.step(generation, plan, jitter: jitter)
            })
    }

    /// A Boolean value that indicates whether a tick waits for a run that goes on in a new state. Otherwise that run ends
    /// with its state, or the mode decides about another one.
    private var waitsForRuns: Bool {
        guard definition.strategy == .continueOnNewState else { return false }
        return definition.mode == .parallel || definition.mode == .queued
    }

    /// Returns an effect that waits for its time once, and then runs the side effect.
    func putOff(
        _ request: Pacer.Request?, _ key: Value?, _ asked: Asked
    ) -> Effect<SystemEvent> {
        guard let request else {
            note(fault("there are more than \(Pacer.mostKeys) keys at a time; none was started"))
            return .nothing
        }
        return waiting(
            key, asked, after: request.pause ?? .none, again: nil,
            step: { [pacer, place = request.place] in pacer?.step(place) ?? .ended })
    }

    /// Ends the wait for a key, because a state does not ask for the side effect with this key. Returns `false` if the state
    /// asks for no key.
    func leaveKey(in state: SystemState, _ program: FeedbackProgram, _ variables: inout Variables) -> Bool {
        guard let keys = program.feedback.key, program.feedback.selector.states.contains(state.index) else {
            return false
        }
        // The condition may be the test whether there is a key at all.
        guard let key = try? keys[state.index]?.evaluate(&variables) else { return true }
        pacer?.leave(key)
        // The result of a run that goes on does not count any more.
        for verdict in verdicts.withLock({ $0.filter { $0.key == key }.map(\.verdict) }) { verdict.retire() }
        if standing.isMarked { report(.ended(.left(feedback: definition.name, key: key)), standing.present) }
        return true
    }

    /// Returns an effect that waits for its time on behalf of a state, and then runs the side effect.
    ///
    /// Each step takes place in the activation of the system, after all events sent before. So a wait ends if those events
    /// lead out of its state, even if its time has come.
    ///
    /// - Parameters:
    ///   - pause: The wait before the first step.
    ///   - wait: A function that returns the wait before the step after each run; `nil` for a single run.
    ///   - step: A function that decides whether the side effect is due.
    private func waiting(
        _ key: Value?, _ asked: Asked, after pause: EffectPause<SystemEvent>,
        again wait: (@Sendable () -> EffectPause<SystemEvent>)?,
        step: @escaping @Sendable () -> WaitStep
    ) -> Effect<SystemEvent> {
        typealias Next = Effect<SystemEvent>.Continuation
        @Sendable func effect(after pause: EffectPause<SystemEvent>) -> Effect<SystemEvent> {
            .waiting(pause) { [self] in
                switch waits.isClosed ? .ended : step() {
                case .ended: return Next()
                case .wait(let pause): return Next(effect: effect(after: pause))
                case .due where isImmediate:
                    // The event may lead to a state with a wait of its own, so the next wait only begins behind it.
                    let event = act(updated(asked))
                    guard let wait else { return Next(event: event) }
                    return Next(event: event, effect: effect(after: event == nil ? wait() : .none))
                case .due:
                    let asked = updated(asked)
                    guard let turn = turn(key, for: asked) else { return Next(effect: again()) }
                    let run: @Sendable (Send<SystemEvent>) async -> Void = { send in
                        await turn.perform { await self.run(asked, turn, send) }
                    }
                    guard wait != nil else { return Next(effect: .run(run)) }
                    return Next(effect: .waiting(.task(endsAtStop: false, nil, run)) { Next(effect: again()) })
                }
            }
        }
        @Sendable func again() -> Effect<SystemEvent> { wait.map { effect(after: $0()) } ?? .nothing }
        return effect(after: pause)
    }
}
