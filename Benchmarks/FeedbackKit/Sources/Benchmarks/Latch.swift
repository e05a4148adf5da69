import Synchronization

/// Opens when it has been counted down to nothing; one may wait for that.
final class Latch: Sendable {
    /// Its count, and the task that waits.
    private struct Content {
        var left: Int
        var waiter: CheckedContinuation<Void, Never>?
    }
    private let content: Mutex<Content>

    /// A latch that opens after so many counts.
    init(_ count: Int = 1) {
        content = Mutex(Content(left: count))
    }

    /// Counts one down.
    func count() {
        let waiter = content.withLock { content -> CheckedContinuation<Void, Never>? in
            content.left -= 1
            guard content.left <= 0 else { return nil }
            defer { content.waiter = nil }
            return content.waiter
        }
        waiter?.resume()
    }

    /// Returns when it is open.
    func wait() async {
        await withCheckedContinuation { (waiter: CheckedContinuation<Void, Never>) in
            let isOpen = content.withLock { content in
                if content.left <= 0 { return true }
                content.waiter = waiter
                return false
            }
            if isOpen { waiter.resume() }
        }
    }
}
