import FeedbackKit

/// Loops in a ring, each of which sends every event on to the next one. Every event makes ten hops.
enum ManyLoops {
    static func run(loops count: Int) async -> (text: String, isSound: Bool) {
        let (isDone, done) = AsyncStream<Void>.makeStream()
        let left = Countdown()
        left.begin(11 * count)
        let buses = (0..<count).map { _ in PassthroughMediator<Int>() }
        let loops = (0..<count).map { index in
            Loop<Int, Int>(
                initial: 0,
                feedbacks: [
                    .sink { _, event in
                        guard let event else { return }
                        if event > 0 { buses[(index + 1) % count].send(event - 1) }
                        if left.isLast() { done.finish() }
                    }
                ]
            ) { state, _ in
                state += 1
                return .handled
            }
        }
        let links = zip(buses, loops).map { bus, loop in bus.subscribe { _ = loop.send($0) } }
        let clock = ContinuousClock()
        let begin = clock.now
        for loop in loops { _ = loop.start() }
        for loop in loops { _ = loop.send(10) }
        for await _ in isDone {}
        let taken = loops.reduce(0) { $0 + $1.state }
        for loop in loops { await loop.stop() }
        let duration = begin.duration(to: clock.now)
        for link in links { link.cancel() }
        return (
            "\(count) loops took \(taken) of \(11 * count) events, in \(duration.text)",
            taken == 11 * count && loops.allSatisfy { $0.state == 11 }
        )
    }
}
