import FeedbackKit
import Measuring

/// The engine over types of its own: two states and a count, one event.
enum LoopLines {
    struct Count: Sendable {
        enum Phase: Sendable { case idle, busy }
        var phase = Phase.idle
        var total = 0
    }

    enum Step: Sendable {
        case by(Int)
    }

    static let lines = [
        Line("loop-sender", turns: 8_000_000) { senders($0) },
        Line("loop-pool-1", turns: 3_000_000, concurrently: { await pool($0, senders: 1) }),
        Line("loop-pool-2", turns: 3_000_000, concurrently: { await pool($0, senders: 2) }),
        Line("loop-pool-8", turns: 200_000, concurrently: { await pool($0, senders: 8) }),
    ]

    /// A loop that changes its phase and counts with every event.
    private static func make(_ executor: any LoopExecutor) -> Loop<Count, Step> {
        let loop = Loop<Count, Step>(initial: Count(), executor: executor) { state, event in
            switch (state.phase, event) {
            case (.idle, .by(let step)):
                state.phase = .busy
                state.total += step
            case (.busy, .by(let step)):
                state.phase = .idle
                state.total += step
            }
            return .handled
        }
        loop.start()
        return loop
    }

    /// Each event is taken before its `send` returns.
    private static func senders(_ turns: Int) -> Sample {
        let loop = make(.sendersThread)
        let sample = Sample.timing(turns) {
            for _ in 0..<turns { loop.send(.by(1)) }
        }
        precondition(loop.state.total == turns)
        return sample
    }

    /// Threads send, the pool turns; over when the last event is taken.
    private static func pool(_ turns: Int, senders: Int) async -> Sample {
        let loop = make(.sharedPool)
        let each = turns / senders
        let sample = await Sample.timing(each * senders) {
            await Senders.run(senders) {
                for _ in 0..<each { loop.send(.by(1)) }
            }
            await withCheckedContinuation { over in loop.afterPending { over.resume() } }
        }
        precondition(loop.state.total == each * senders)
        return sample
    }
}
