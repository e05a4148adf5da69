import FeedbackKit
import Synchronization

/// Collects values in order, from any thread.
final class Log<Entry: Sendable>: Sendable {
    private let guarded = Mutex<[Entry]>([])

    func add(_ entry: Entry) { guarded.withLock { $0.append(entry) } }

    var entries: [Entry] { guarded.withLock { $0 } }
}

extension System {
    /// Starts, and returns the states up to and including the first for which the condition holds.
    func states(until isLast: (any State) -> Bool) async -> [any State] {
        let stream: AsyncStream<any State> = self.stream
        start()
        var states: [any State] = []
        for await state in stream {
            states.append(state)
            if isLast(state) { break }
        }
        return states
    }
}

extension Loop {
    /// Starts, and returns the states up to and including the first for which the condition holds.
    func states(until isLast: (State) -> Bool) async -> [State] {
        let stream = states()
        start()
        var states: [State] = []
        for await state in stream {
            states.append(state)
            if isLast(state) { break }
        }
        return states
    }

    /// Returns when everything sent before has been taken.
    func settled() async {
        await withCheckedContinuation { continuation in afterPending { continuation.resume() } }
    }
}
