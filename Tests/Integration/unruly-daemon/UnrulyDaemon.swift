import CommonExpression
import FeedbackKit
import Glibc
import MediatorConfiguration
import MediatorDaemon
import MediatorHost

/// A daemon with kinds of systems and side effects that misbehave, for tests of the others.
@main
struct UnrulyDaemon {
    static func main() {
        let blocker = DaemonKind.loop(
            "blocker", parameters: BlockerParameters.self, state: Blocker.self, event: BlockerEvent.self
        ) { makeBlocker($0) }
        // A mistake of the program: two kinds by one name.
        let isTwice = getenv("UNRULY_TWICE") != nil
        DaemonCommand.launch(kinds: isTwice ? [blocker, blocker] : [blocker], effects: [OccupyEffect()])
    }
}

/// `occupy`: holds its thread for a number of seconds, as no side effect may.
struct OccupyEffect: EffectImplementation {
    let schema = EffectSchema(
        name: "occupy", summary: "holds a thread",
        parameters: [.init(name: "seconds", summary: "the number of seconds", type: .int, required: true)],
        shortForm: "seconds", outcomes: [])

    func run(_ arguments: [String: Value], in context: EffectContext) async {
        guard case .int(let seconds)? = arguments["seconds"] else { return }
        Self.hold(UInt32(clamping: seconds))
    }

    private static func hold(_ seconds: UInt32) { sleep(seconds) }
}

struct BlockerParameters: Codable {
    /// After which time it blocks by itself.
    var after: Duration?
}

/// Counts, and holds its thread for the given number of seconds.
struct Blocker: Codable {
    var count = 0
}

enum BlockerEvent: Codable, CaseIterable {
    case count
    case block(seconds: Int)

    static let allCases: [BlockerEvent] = [.count, .block(seconds: 0)]
}

func makeBlocker(_ parameters: BlockerParameters) -> StateSequence<Blocker, BlockerEvent> {
    system(
        initial: Blocker(),
        reduce: { (state: inout Blocker, event: BlockerEvent) in
            switch event {
            case .count: state.count += 1
            case .block(let seconds): sleep(UInt32(clamping: seconds))
            }
        },
        feedbacks: [
            Feedback(name: "block", cancellation: .never) { (_: Blocker, event: BlockerEvent?) in
                guard event == nil, let time = parameters.after else { return .nothing }
                return .after(time, .block(seconds: 3_600))
            }
        ])
}
