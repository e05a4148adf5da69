import Synchronization
import TestSupport

final class Log<T: Sendable>: Sendable {
    let values = Mutex<[T]>([])
    func add(_ value: T) { values.withLock { $0.append(value) } }
    var all: [T] { values.withLock { $0 } }
}

/// Returns whether a condition holds within ``waitLimit``, and yields between two looks at it.
func eventually(_ holds: () -> Bool) async -> Bool {
    let end = ContinuousClock.now + waitLimit
    while ContinuousClock.now < end {
        if holds() { return true }
        await Task.yield()
    }
    return holds()
}

/// The ways of an effect to last until it is cancelled.
func untilCancelled() async {
    let (stream, continuation) = AsyncStream<Never>.makeStream()
    for await _ in stream {}
    withExtendedLifetime(continuation) {}
}
