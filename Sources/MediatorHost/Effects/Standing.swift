import Synchronization

/// The state that a feedback shares with the health of its system.
///
/// The results of a run count only in the stretch of the system's life in which a state has asked for it. A stretch ends when
/// the system enters a state that does not ask for the feedback, or one that ends the runs of the state before.
final class Standing: Sendable {
    /// One stretch of the system's life.
    struct Stretch: Sendable {
        let standing: Standing
        let number: UInt64

        /// A Boolean value that indicates whether results of the stretch still count.
        var isPresent: Bool { standing.number.load(ordering: .sequentiallyConsistent) == number }
    }

    private let number = Atomic<UInt64>(0)
    /// A Boolean value that indicates whether the feedback may have conditions.
    ///
    /// It is written under the lock of the system's status. A condition begins in this order: mark, look at the stretch. The
    /// end of a stretch goes in the other order: next stretch, look at the mark. So no condition outlives its stretch.
    private let mark = Atomic(false)

    /// The present stretch.
    var present: Stretch { Stretch(standing: self, number: number.load(ordering: .sequentiallyConsistent)) }

    /// Begins the next stretch.
    func advance() {
        number.add(1, ordering: .sequentiallyConsistent)
    }

    /// A Boolean value that indicates whether the feedback may have conditions.
    var isMarked: Bool { mark.load(ordering: .sequentiallyConsistent) }

    /// Notes whether the feedback has conditions. The caller holds the lock of the system's status.
    func mark(_ isMarked: Bool) {
        mark.store(isMarked, ordering: .sequentiallyConsistent)
    }
}
