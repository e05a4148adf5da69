import CommonExpression
import FeedbackKit

// The waits of a side effect for its time.
extension EffectRunner {
    /// Returns an effect that runs the side effect at each tick. A schedule with ticks has no `key`.
    func ticking(
        _ generation: UInt64, _ plan: Ticker.Plan, _ jitter: Duration, _ asked: Asked
    ) -> Effect<SystemEvent> {
        guard let ticker else { preconditionFailure("a schedule with ticks has a ticker") }
        return waiting(
            nil, asked, repeats: true,
            after: { ticker.pause(generation, plan, jitter: jitter) },
            step: { ticker.step(generation, plan, jitter: jitter) })
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
            key, asked, repeats: false, after: { request.pause ?? .none },
            step: { [pacer] in pacer?.step(request) ?? .ended })
    }

    /// Returns an effect that waits for its time on behalf of a state, and then runs the side effect.
    ///
    /// Each step takes place in the activation of the system, after all events sent before. So a wait ends if those events
    /// lead out of its state, even if its time has come.
    ///
    /// - Parameters:
    ///   - wait: A function that returns the wait before the first step, and before the step after each run.
    ///   - step: A function that decides whether the side effect is due.
    private func waiting(
        _ key: Value?, _ asked: Asked, repeats: Bool, after wait: @escaping @Sendable () -> EffectPause<SystemEvent>,
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
                    return Next(event: event, effect: repeats ? effect(after: event == nil ? wait() : .none) : .nothing)
                case .due:
                    let asked = updated(asked)
                    guard let turn = turn(key, for: asked) else { return Next(effect: again()) }
                    let run: @Sendable (Send<SystemEvent>) async -> Void = { send in
                        await turn.perform { await self.run(asked, turn, send) }
                    }
                    guard repeats else { return Next(effect: .run(run)) }
                    return Next(effect: .waiting(.task(endsAtStop: false, nil, run)) { Next(effect: again()) })
                }
            }
        }
        @Sendable func again() -> Effect<SystemEvent> { repeats ? effect(after: wait()) : .nothing }
        return effect(after: wait())
    }
}
