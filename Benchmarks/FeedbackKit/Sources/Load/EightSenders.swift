import FeedbackKit

/// Eight tasks send numbered events to one loop on the pool. The loop takes each event once, in the order of its sender.
enum EightSenders {
    private struct Tally: Sendable {
        var next = [Int](repeating: 0, count: 8)
        var taken = 0
        var outOfOrder = 0
    }

    static func run(events: Int) async -> (text: String, isSound: Bool) {
        let each = events / 8
        let loop = Loop<Tally, (sender: Int, number: Int)>(initial: Tally()) { state, event in
            if state.next[event.sender] != event.number { state.outOfOrder += 1 }
            state.next[event.sender] = event.number + 1
            state.taken += 1
            return .handled
        }
        loop.start()
        let clock = ContinuousClock()
        let begin = clock.now
        await withTaskGroup(of: Void.self) { group in
            for sender in 0..<8 {
                group.addTask {
                    for number in 0..<each { _ = loop.send((sender, number)) }
                }
            }
        }
        await loop.stop(within: .seconds(600))
        let duration = begin.duration(to: clock.now)
        let state = loop.state
        let isSound = state.taken == 8 * each && state.outOfOrder == 0
        let rate = Int(Double(state.taken) / (duration / .seconds(1)))
        return (
            "\(state.taken) of \(8 * each) events taken, \(state.outOfOrder) out of order, \(rate) a second",
            isSound
        )
    }
}
