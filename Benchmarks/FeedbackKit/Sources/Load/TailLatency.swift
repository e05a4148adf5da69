import FeedbackKit
import Glibc
import Synchronization

/// Twenty loops get an event each millisecond, while one loop floods the pool with events and another one blocks its thread
/// for a second, again and again. The time counts from the send of an event to its transition.
enum TailLatency {
    /// The limit of the 99th percentile, on two processors.
    static let limit = Duration.milliseconds(5)

    static func run(rounds: Int) async -> (text: String, isSound: Bool) {
        let clock = ContinuousClock()
        let end = Flag()
        // It always has an event that waits.
        let flood = Loop<Int, Int>(
            initial: 0,
            feedbacks: [Feedback { _, event in end.isSet ? .nothing : .just(event ?? 0) }],
            executor: .sharedPool
        ) { state, event in
            state &+= event &+ 1
            return .handled
        }
        let blocker = Loop<Int, Int>(
            initial: 0, feedbacks: [Feedback { _, _ in end.isSet ? .nothing : .just(1) }],
            executor: .sharedPool
        ) { state, event in
            sleep(1)
            state += event
            return .handled
        }
        let times = (0..<20).map { _ in Times(capacity: rounds) }
        let loops = times.map { times in
            Loop<Int, ContinuousClock.Instant>(initial: 0, executor: .sharedPool) { state, sent in
                state += 1
                times.add(sent.duration(to: clock.now))
                return .handled
            }
        }
        for loop in loops { _ = loop.start() }
        _ = flood.start()
        _ = blocker.start()
        for _ in 0..<rounds {
            try? await clock.sleep(for: .milliseconds(1))
            for loop in loops { _ = loop.send(clock.now) }
        }
        end.set()
        for loop in loops { await loop.stop() }
        await flood.stop()
        await blocker.stop()
        let all = times.flatMap(\.all).sorted()
        guard all.count == rounds * loops.count, let longest = all.last else {
            return ("\(all.count) of \(rounds * loops.count) events taken", false)
        }
        func percentile(_ share: Double) -> Duration { all[Int(Double(all.count - 1) * share)] }
        return (
            "p50 \(percentile(0.5).text), p99 \(percentile(0.99).text), p99.9 \(percentile(0.999).text), most \(longest.text), of \(all.count); "
                + "the flood took \(flood.state) events meanwhile",
            percentile(0.99) < limit
        )
    }
}

/// The times that one loop has measured. They have their place from the beginning.
private final class Times: Sendable {
    private let times: Mutex<[Duration]>
    var all: [Duration] { times.withLock { $0 } }

    init(capacity: Int) {
        var times: [Duration] = []
        times.reserveCapacity(capacity)
        self.times = Mutex(times)
    }

    func add(_ time: Duration) { times.withLock { $0.append(time) } }
}

/// A flag that is set once.
private final class Flag: Sendable {
    private let value = Atomic(false)
    var isSet: Bool { value.load(ordering: .relaxed) }
    func set() { value.store(true, ordering: .relaxed) }
}
