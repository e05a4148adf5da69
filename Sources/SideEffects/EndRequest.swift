import Synchronization

/// Asks a running command to end, once, and says why.
final class EndRequest: Sendable {
    /// Why it is to end.
    enum Reason: Sendable {
        case cancelled
        case timedOut
    }

    private struct Machine {
        var reason: Reason?
        var isFinished = false
        var waiter: CheckedContinuation<Void, Never>?
    }

    private let machine = Mutex(Machine())

    /// Why the command is to end; `nil` as long as it may go on.
    var reason: Reason? { machine.withLock { $0.reason } }

    /// Asks for the end. Only the first reason counts; none after the command has finished by itself.
    func request(_ reason: Reason) {
        let waiter = machine.withLock { machine -> CheckedContinuation<Void, Never>? in
            guard machine.reason == nil, !machine.isFinished else { return nil }
            machine.reason = reason
            defer { machine.waiter = nil }
            return machine.waiter
        }
        waiter?.resume()
    }

    /// The command has finished. `true` if nobody asked it to: then nobody will.
    func finish() -> Bool {
        let (isFree, waiter) = machine.withLock { machine in
            machine.isFinished = true
            defer { machine.waiter = nil }
            return (machine.reason == nil, machine.waiter)
        }
        waiter?.resume()
        return isFree
    }

    /// Returns when the end has been requested, the command has finished, or the task is cancelled. Only one may wait.
    func requested() async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
                let isOver = machine.withLock { machine in
                    if machine.reason != nil || machine.isFinished || Task.isCancelled { return true }
                    machine.waiter = continuation
                    return false
                }
                if isOver { continuation.resume() }
            }
        } onCancel: {
            let waiter = machine.withLock { machine in
                defer { machine.waiter = nil }
                return machine.waiter
            }
            waiter?.resume()
        }
    }
}
