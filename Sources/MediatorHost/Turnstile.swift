import Synchronization

/// Lets one through at a time, in the order in which they came. Who is cancelled while waiting goes away at once.
package final class Turnstile: Sendable {
    /// What came of an attempt to enter.
    package enum Entry: Sendable, Hashable {
        /// It is one's turn: ``leave()`` must follow.
        case entered
        /// The task was cancelled while it waited.
        case cancelled
        /// As many wait already as may wait.
        case full
    }

    /// Where one who came stands.
    private enum Visitor {
        /// On the way in; cancelled already, if so.
        case coming(isCancelled: Bool)
        case waiting(CheckedContinuation<Entry, Never>)
    }

    private struct Machine {
        var isOccupied = false
        var nextID: UInt64 = 1
        /// Those who have not been answered.
        var visitors: [UInt64: Visitor] = [:]
    }

    private let machine = Mutex(Machine())
    private let limit: Int

    /// - Parameter limit: how many may wait at a time.
    package init(limit: Int = .max) {
        self.limit = limit
    }

    /// How many wait.
    package var waiting: Int { machine.withLock { $0.visitors.count } }

    /// Returns when it is one's turn, or it is not going to be.
    ///
    /// - Parameter isLimited: whether not to wait where as many wait as may wait.
    package func enter(isLimited: Bool = true) async -> Entry {
        let id: UInt64? = machine.withLock { machine in
            guard !isLimited || !machine.isOccupied || machine.visitors.count < limit else { return nil }
            defer { machine.nextID += 1 }
            machine.visitors[machine.nextID] = .coming(isCancelled: false)
            return machine.nextID
        }
        guard let id else { return .full }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { (continuation: CheckedContinuation<Entry, Never>) in
                let answer: Entry? = machine.withLock { machine in
                    if case .coming(isCancelled: true)? = machine.visitors[id] {
                        machine.visitors[id] = nil
                        return .cancelled
                    }
                    if machine.isOccupied {
                        machine.visitors[id] = .waiting(continuation)
                        return nil
                    }
                    machine.visitors[id] = nil
                    machine.isOccupied = true
                    return .entered
                }
                if let answer { continuation.resume(returning: answer) }
            }
        } onCancel: {
            let continuation: CheckedContinuation<Entry, Never>? = machine.withLock { machine in
                switch machine.visitors[id] {
                case .coming: machine.visitors[id] = .coming(isCancelled: true)
                case .waiting(let continuation):
                    machine.visitors[id] = nil
                    return continuation
                case nil: break
                }
                return nil
            }
            continuation?.resume(returning: .cancelled)
        }
    }

    /// The next one may come.
    package func leave() {
        let next: CheckedContinuation<Entry, Never>? = machine.withLock { machine in
            let waiting = machine.visitors.filter { if case .waiting = $0.value { true } else { false } }
            guard let first = waiting.keys.min(), case .waiting(let continuation)? = waiting[first] else {
                machine.isOccupied = false
                return nil
            }
            machine.visitors[first] = nil
            return continuation
        }
        next?.resume(returning: .entered)
    }
}
