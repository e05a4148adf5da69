import Synchronization

/// Admits connections to one `socket` by the rules of ``SocketPlaces``.
final class SocketGate: Sendable {
    private struct State {
        var places: SocketPlaces
        var nextNumber = 0
        /// The decisions that were logged since the socket was calm.
        var logged: Set<SocketPlaces.Decision> = [.read]
        /// Connections admitted before their tasks began to wait.
        var admitted: Set<Int> = []
        var waiters: [Int: CheckedContinuation<Bool, Never>] = [:]
    }

    /// An accepted connection.
    struct Entry: Sendable {
        let number: Int
        let user: Int64
        let decision: SocketPlaces.Decision
        /// A Boolean value that indicates whether the decision is the first of its kind since the socket was calm.
        let isFirstOfKind: Bool
    }

    private let state: Mutex<State>

    init(most: Int) {
        state = Mutex(State(places: SocketPlaces(most: most)))
    }

    /// Decides about a connection that was accepted.
    func arrive(of user: Int64) -> Entry {
        state.withLock { state in
            state.nextNumber += 1
            let decision = state.places.arrive(state.nextNumber, of: user)
            return Entry(
                number: state.nextNumber, user: user, decision: decision,
                isFirstOfKind: state.logged.insert(decision).inserted)
        }
    }

    /// Waits until a connection may be read. Returns `false` if the task was cancelled before.
    func admission(of entry: Entry) async -> Bool {
        guard entry.decision == .wait else { return entry.decision == .read }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let answer: Bool? = state.withLock { state in
                    if state.admitted.remove(entry.number) != nil { return true }
                    if Task.isCancelled { return !state.places.giveUp(entry.number) }
                    state.waiters[entry.number] = continuation
                    return nil
                }
                if let answer { continuation.resume(returning: answer) }
            }
        } onCancel: {
            let waiter = state.withLock { state -> CheckedContinuation<Bool, Never>? in
                guard let waiter = state.waiters.removeValue(forKey: entry.number) else { return nil }
                _ = state.places.giveUp(entry.number)
                return waiter
            }
            waiter?.resume(returning: false)
        }
    }

    /// Ends a connection that was read.
    func leave(_ entry: Entry) {
        let waiter = state.withLock { state -> CheckedContinuation<Bool, Never>? in
            guard let next = state.places.leave(entry.user) else {
                if state.places.isCalm { state.logged = [.read] }
                return nil
            }
            if let waiter = state.waiters.removeValue(forKey: next) { return waiter }
            state.admitted.insert(next)
            return nil
        }
        waiter?.resume(returning: true)
    }

    /// Returns whether another connection would be read if this one ended.
    func isWanted(_ entry: Entry) -> Bool {
        state.withLock { $0.places.isWanted(from: entry.user) }
    }
}
