import Synchronization

/// Lets one through at a time, in the order in which they came. Who is cancelled while waiting goes away.
final class Turnstile: Sendable {
    /// Where one who came stands.
    private enum Visitor {
        /// On the way in; cancelled already, if so.
        case coming(isCancelled: Bool)
        case waiting(CheckedContinuation<Bool, Never>)
    }

    private struct Machine {
        var isOccupied = false
        var nextID: UInt64 = 1
        /// Those who have not been answered.
        var visitors: [UInt64: Visitor] = [:]
    }

    private let machine = Mutex(Machine())

    /// Returns when it is one's turn, with `true`: then ``leave()`` must follow. `false`: the task was cancelled.
    func enter() async -> Bool {
        let id = machine.withLock { machine in
            defer { machine.nextID += 1 }
            machine.visitors[machine.nextID] = .coming(isCancelled: false)
            return machine.nextID
        }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { (continuation: CheckedContinuation<Bool, Never>) in
                let answer: Bool? = machine.withLock { machine in
                    if case .coming(isCancelled: true)? = machine.visitors[id] {
                        machine.visitors[id] = nil
                        return false
                    }
                    if machine.isOccupied {
                        machine.visitors[id] = .waiting(continuation)
                        return nil
                    }
                    machine.visitors[id] = nil
                    machine.isOccupied = true
                    return true
                }
                if let answer { continuation.resume(returning: answer) }
            }
        } onCancel: {
            let continuation: CheckedContinuation<Bool, Never>? = machine.withLock { machine in
                switch machine.visitors[id] {
                case .coming: machine.visitors[id] = .coming(isCancelled: true)
                case .waiting(let continuation):
                    machine.visitors[id] = nil
                    return continuation
                case nil: break
                }
                return nil
            }
            continuation?.resume(returning: false)
        }
    }

    /// The next one may come.
    func leave() {
        let next: CheckedContinuation<Bool, Never>? = machine.withLock { machine in
            let waiting = machine.visitors.filter { if case .waiting = $0.value { true } else { false } }
            guard let first = waiting.keys.min(), case .waiting(let continuation)? = waiting[first] else {
                machine.isOccupied = false
                return nil
            }
            machine.visitors[first] = nil
            return continuation
        }
        next?.resume(returning: true)
    }
}
