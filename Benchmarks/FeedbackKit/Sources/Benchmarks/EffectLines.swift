import FeedbackKit
import Measuring

/// A side effect that every new state cancels and starts again.
enum EffectLines {
    static let lines = [
        Line(
            "restart-task", turns: 100_000,
            concurrently: { turns in
                await restart(turns) { .run { send in try? await send.clock.sleep(for: .seconds(600)) } }
            }),
        Line(
            "restart-timer", turns: 100_000,
            concurrently: { turns in await restart(turns) { .after(.seconds(600), 0) } }),
    ]

    /// Each event cancels the effect of the last state and starts one; over when all that were cancelled have ended.
    private static func restart(
        _ turns: Int, _ effect: @escaping @Sendable () -> Effect<Int>
    ) async -> Sample {
        let loop = Loop<Int, Int>(
            initial: 0, feedbacks: [Feedback(name: "effect") { _, _ in effect() }], executor: .sendersThread
        ) { state, event in
            state += event
            return .handled
        }
        loop.start()
        let sample = await Sample.timing(turns) {
            for _ in 0..<turns { loop.send(1) }
            loop.cancel()
            await loop.stopped()
        }
        precondition(loop.counters.effectsCancelled == turns + 1 && loop.state == turns)
        return sample
    }
}
