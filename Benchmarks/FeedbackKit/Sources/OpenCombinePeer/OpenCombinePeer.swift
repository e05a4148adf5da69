import Glibc
import Measuring
import OpenCombine

/// The loop of `LoopLines` as one writes it on publishers: a subject, a scan, and a sink.
@main
enum OpenCombinePeer {
    struct Count {
        enum Phase { case idle, busy }
        var phase = Phase.idle
        var total = 0
    }

    enum Step {
        case by(Int)
    }

    static func main() {
        let lines = [Line("scan", turns: 2_000_000) { scan($0) }]
        exit(Line.run(lines, arguments: CommandLine.arguments))
    }

    private static func scan(_ turns: Int) -> Sample {
        let events = PassthroughSubject<Step, Never>()
        var state = Count()
        let subscription =
            events
            .scan(Count()) { state, event in
                var state = state
                switch (state.phase, event) {
                case (.idle, .by(let step)):
                    state.phase = .busy
                    state.total += step
                case (.busy, .by(let step)):
                    state.phase = .idle
                    state.total += step
                }
                return state
            }
            .sink { state = $0 }
        let sample = Sample.timing(turns) {
            for _ in 0..<turns { events.send(.by(1)) }
        }
        subscription.cancel()
        precondition(state.total == turns)
        return sample
    }
}
