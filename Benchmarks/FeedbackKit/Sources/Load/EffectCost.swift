import FeedbackKit

/// The time of an async effect, from the send of its event to its end, beside that of a task that is started by hand. Both in
/// batches of a thousand, and in turns.
enum EffectCost {
    /// The goal of the ratio. It is missed, so a run that exceeds it is no failure.
    static let goal = 3

    static func run(batches: Int) async -> (text: String, isSound: Bool) {
        let clock = ContinuousClock()
        let (ends, ended) = AsyncStream<Void>.makeStream()
        var next = ends.makeAsyncIterator()
        // The last effect of a batch to end tells it.
        let counter = Countdown()
        let loop = Loop<Int, Int>(
            initial: 0,
            feedbacks: [
                Feedback(cancellation: .never) { _, event in
                    event == nil ? .nothing : .run { _ in if counter.isLast() { ended.yield() } }
                }
            ]
        ) { state, event in
            state += event
            return .handled
        }
        loop.start()
        var ratios: [Double] = []
        var ours: [Duration] = []
        for _ in 0..<batches {
            var begin = clock.now
            counter.begin(1_000)
            for _ in 0..<1_000 { _ = loop.send(1) }
            _ = await next.next()
            let effects = begin.duration(to: clock.now)
            begin = clock.now
            counter.begin(1_000)
            for _ in 0..<1_000 { Task.detached { if counter.isLast() { ended.yield() } } }
            _ = await next.next()
            let tasks = begin.duration(to: clock.now)
            ratios.append(effects / tasks)
            ours.append(effects / 1_000)
        }
        await loop.stop()
        let ratio = ratios.sorted()[batches / 2]
        return (
            "\(ours.sorted()[batches / 2].text) each, \((ratio * 100).rounded() / 100) times a task; the goal is \(goal)",
            true
        )
    }
}
