import Glibc
import Measuring

/// The loop of `LoopLines` as a bare actor: no order among senders, no feedback, no queue that can be looked at.
@main
enum ActorPeer {
    enum Step: Sendable {
        case by(Int)
    }

    actor Counter {
        enum Phase { case idle, busy }
        var phase = Phase.idle
        var total = 0

        func handle(_ event: Step) {
            switch (phase, event) {
            case (.idle, .by(let step)):
                phase = .busy
                total += step
            case (.busy, .by(let step)):
                phase = .idle
                total += step
            }
        }
    }

    static func main() {
        let lines = [1, 2, 8].map { senders in
            Line("actor-\(senders)", turns: 1_000_000, concurrently: { await calls($0, senders: senders) })
        }
        exit(Line.run(lines, arguments: CommandLine.arguments))
    }

    /// The next event, made where the sender is: the optimizer cannot keep a task on the actor from call to call.
    @inline(never)
    private static func event(_ turn: Int) -> Step {
        .by(turn < 0 ? 0 : 1)
    }

    /// Tasks call the actor and await each call.
    private static func calls(_ turns: Int, senders: Int) async -> Sample {
        let counter = Counter()
        let each = max(1, turns / senders)
        let sample = await Sample.timing(each * senders) {
            await withTaskGroup(of: Void.self) { group in
                for _ in 0..<senders {
                    group.addTask {
                        for turn in 0..<each { await counter.handle(event(turn)) }
                    }
                }
            }
        }
        let total = await counter.total
        precondition(total == each * senders)
        return sample
    }
}
