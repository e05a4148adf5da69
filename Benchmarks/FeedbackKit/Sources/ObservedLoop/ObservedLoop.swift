import FeedbackKit

/// A loop as it is turned to see what its observer costs. `unobserved.sh` makes a copy of this file that is the same but
/// for the module it imports.
public enum ObservedLoop {
    /// Sees everything and does nothing with it.
    private struct Idler: LoopObserver {
        typealias State = Int
        typealias Event = Int
    }

    /// Makes a loop with one feedback, and answers what gives it so many events, of which one in eight is not handled.
    public static func make(isObserved: Bool) -> @Sendable (_ turns: Int) -> Void {
        let loop = Loop<Int, Int>(
            initial: 0,
            feedbacks: [Feedback(name: "looks") { state, _ in state < 0 ? Effect.just(1) : .nothing }],
            executor: .sendersThread, observer: isObserved ? Idler() : nil
        ) { state, event in
            if event & 7 == 0 { return .unhandled }
            state += event
            return .handled
        }
        loop.start()
        return { turns in
            for turn in 0..<turns { loop.send(turn) }
        }
    }
}
