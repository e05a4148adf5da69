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

        /// The mark of a run with a key; `nil` without a key.
        var keyMark: KeyMark?

        /// Returns the stretch for one run with a key.
        func marked() -> Stretch { Stretch(standing: standing, number: number, keyMark: KeyMark()) }

        /// A Boolean value that indicates whether results of the stretch still count.
        var isPresent: Bool {
            standing.number.load(ordering: .sequentiallyConsistent) == number
                && keyMark?.isLeft.load(ordering: .sequentiallyConsistent) != true
        }
    }

    /// A mark of a run whose key a state does not ask for any more. It is set before the end of conditions, as a stretch ends.
    final class KeyMark: Sendable {
        let isLeft = Atomic(false)
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
