import Synchronization

/// The waiting of a system's schedules: it ends when its task is cancelled, when it is interrupted, and, all of it at
/// once, when the system stops, so that a stop waits for work that is under way but not for a timer.
final class Waits: Sendable {
    private struct Machine {
        var isClosed = false
        var nextID: UInt64 = 1
        var tasks: [UInt64: Task<Void, any Error>] = [:]
    }

    /// One who waits.
    struct Ticket: Sendable {
        /// Tells those apart that wait.
        let id: UInt64
        fileprivate let task: Task<Void, any Error>
    }

    private let machine = Mutex(Machine())
    private let time: HostTime

    init(time: HostTime) {
        self.time = time
    }

    /// Whether the system has stopped.
    var isClosed: Bool { machine.withLock { $0.isClosed } }

    /// Begins to wait; `nil` if the system has stopped. The delay counts from this call.
    func begin(_ delay: Duration) -> Ticket? {
        let end = time.elapsed() + delay
        return begin { [time] in try await time.sleep(end) }
    }

    /// Begins what is cancelled when the system stops; `nil` if it has stopped.
    func begin(_ work: @escaping @Sendable () async throws -> Void) -> Ticket? {
        machine.withLock { machine in
            guard !machine.isClosed else { return nil }
            let task = Task { try await work() }
            defer { machine.nextID += 1 }
            machine.tasks[machine.nextID] = task
            return Ticket(id: machine.nextID, task: task)
        }
    }

    /// Waits to the end; `false` if it was ended early.
    func finish(_ ticket: Ticket) async -> Bool {
        let result = await withTaskCancellationHandler {
            await ticket.task.result
        } onCancel: {
            ticket.task.cancel()
        }
        machine.withLock { _ = $0.tasks.removeValue(forKey: ticket.id) }
        guard case .success = result else { return false }
        return !Task.isCancelled
    }

    /// Ends one wait.
    func interrupt(_ ticket: Ticket) {
        ticket.task.cancel()
    }

    /// Ends every wait, and lets no other begin.
    func close() {
        let tasks = machine.withLock { machine in
            machine.isClosed = true
            return Array(machine.tasks.values)
        }
        for task in tasks { task.cancel() }
    }
}

/// The outcome of one step of a wait.
enum WaitStep: Sendable {
    /// Nothing is waited for any more.
    case ended
    /// There is nothing to do until then.
    case wait(Waits.Ticket)
    /// Its time has come, and it counts as begun.
    case due
}
