import FeedbackKit
import Glibc
import MediatorDaemon

/// A daemon with kinds of systems that misbehave, for tests of the others.
@main
struct UnrulyDaemon {
    static func main() {
        let blocker = DaemonKind.loop(
            "blocker", parameters: BlockerParameters.self, state: Blocker.self, event: BlockerEvent.self
        ) { makeBlocker($0) }
        // A mistake of the program: two kinds by one name.
        let isTwice = getenv("UNRULY_TWICE") != nil
        DaemonCommand.launch(kinds: isTwice ? [blocker, blocker] : [blocker])
    }
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
