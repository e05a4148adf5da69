// Looking into a loop.
extension LoopMachine {
    /// The parts of a snapshot. It shares no storage with the mailbox, so an activation that comes before the text is made
    /// copies nothing. ``snapshot`` prints the state, which is the caller's code, so it is not called under the lock.
    @usableFromInline
    package struct Look: Sendable {
        @usableFromInline let phase: LoopPhase
        @usableFromInline let state: State
        @usableFromInline let waiting: Int
        @usableFromInline let feedbacks: [Member]
        /// The number of running side effects of each feedback.
        @usableFromInline let running: [Int]
        @usableFromInline let counters: LoopCounters

        /// The snapshot.
        @usableFromInline package var snapshot: LoopSnapshot {
            LoopSnapshot(
                phase: phase, state: LoopSnapshot.beginning(of: String(describing: state)), waiting: waiting,
                feedbacks: zip(feedbacks, running).map { .init(name: $0.name, running: $1) }, counters: counters)
        }
    }

    /// The parts of a snapshot at this moment.
    ///
    /// - Complexity: O(number of feedbacks).
    @usableFromInline package var look: Look {
        Look(
            phase: phase, state: state, waiting: waitingEvents, feedbacks: feedbacks,
            running: feedbacks.map { statuses[$0.slot].running.count + Int(statuses[$0.slot].ending) },
            counters: counters)
    }
}
