import Synchronization
import Systemd

/// Admits connections to one `socket` by the rules of ``SocketPlaces``.
final class SocketGate: Sendable {
    private struct State {
        var places: SocketPlaces
        var nextNumber = 0
        /// The decisions that were logged since the socket was calm.
        var logged: Set<SocketPlaces.Decision> = [.read]
        /// The connections that wait for a place, by number.
        var waiters: [Int: CancellableWaiter<Void>] = [:]
    }

    /// An accepted connection.
    struct Entry: Sendable {
        let number: Int
        let user: Int64
        let decision: SocketPlaces.Decision
        /// A Boolean value that indicates whether the decision is the first of its kind since the socket was calm.
        let isFirstOfKind: Bool
        /// Resumed when a connection that had to wait gets a place.
        let place: CancellableWaiter<Void>
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
            let place = CancellableWaiter<Void>()
            if decision == .wait { state.waiters[state.nextNumber] = place }
            return Entry(
                number: state.nextNumber, user: user, decision: decision,
                isFirstOfKind: state.logged.insert(decision).inserted, place: place)
        }
    }

    /// Waits until a connection may be read. Returns `false` if the task was cancelled before.
    func admission(of entry: Entry) async -> Bool {
        guard entry.decision == .wait else { return entry.decision == .read }
        do {
            try await entry.place.value()
            return true
        } catch {
            // A connection that got its place at the same time keeps it.
            return state.withLock { state in
                state.waiters[entry.number] = nil
                return !state.places.giveUp(entry.number)
            }
        }
    }

    /// Ends a connection that was read.
    func leave(_ entry: Entry) {
        let place = state.withLock { state -> CancellableWaiter<Void>? in
            guard let next = state.places.leave(entry.user) else {
                if state.places.isCalm { state.logged = [.read] }
                return nil
            }
            return state.waiters.removeValue(forKey: next)
        }
        place?.resume(with: .success(()))
    }

    /// Returns whether another connection would be read if this one ended.
    func isWanted(_ entry: Entry) -> Bool {
        state.withLock { $0.places.isWanted(from: entry.user) }
    }
}
