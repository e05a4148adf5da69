import Synchronization

/// The result of a run so far, and the stretch of the system's life in which the result counts.
final class RunVerdict: Sendable {
    private struct Machine {
        var stretch: Standing.Stretch
        /// The last fault of its rules, or of the side effect if that does not last.
        var fault: Fault?
        /// The reason why a lasting side effect cannot observe.
        var obstacle: Fault?
        /// A Boolean value that indicates whether only ``RunVerdict/noteWorks()`` ends the obstacle.
        var isStubborn = false
        var isJudged = false
    }

    private let machine: Mutex<Machine>

    /// - Parameter hasKey: A Boolean value that indicates whether the run has a key.
    init(_ stretch: Standing.Stretch, hasKey: Bool = false) {
        machine = Mutex(Machine(stretch: hasKey ? stretch.marked() : stretch))
    }

    /// The stretch in which the result counts.
    var stretch: Standing.Stretch { machine.withLock { $0.stretch } }

    /// Lets the result count in a later stretch, because a state has asked for the run that goes on. Returns the faults
    /// that last.
    func adopt(_ stretch: Standing.Stretch) -> [Fault] {
        machine.withLock { machine in
            guard machine.stretch.number != stretch.number || !machine.stretch.isPresent else { return [] }
            machine.stretch = machine.stretch.keyMark == nil ? stretch : stretch.marked()
            return [machine.fault, machine.obstacle].compactMap(\.self)
        }
    }

    /// Lets the result count no longer, because a state does not ask for a run with this key.
    func retire() { machine.withLock { $0.stretch.keyMark }?.isLeft.store(true, ordering: .sequentiallyConsistent) }

    /// Begins another attempt.
    func beginAttempt() {
        machine.withLock { machine in
            machine.fault = nil
            machine.isJudged = false
        }
    }

    /// Notes a fault of the run.
    ///
    /// - Parameter isStubborn: A Boolean value that indicates whether outcomes do not end the obstacle of a lasting side
    ///   effect.
    func note(_ fault: Fault, isStubborn: Bool = false) {
        machine.withLock { machine in
            if case .observation = fault.condition {
                (machine.obstacle, machine.isStubborn) = (fault, isStubborn)
            } else {
                machine.fault = fault
            }
        }
    }

    /// Notes that the run has reported its success or failure.
    func noteResult() { machine.withLock { $0.isJudged = true } }

    /// Notes an outcome of a lasting side effect. Returns whether it shows that the side effect observes.
    func noteOutcome() -> Bool {
        machine.withLock { machine in
            machine.fault = nil
            if !machine.isStubborn { machine.obstacle = nil }
            return !machine.isStubborn
        }
    }

    /// Notes that a lasting side effect observes.
    func noteWorks() { machine.withLock { ($0.obstacle, $0.isStubborn) = (nil, false) } }

    /// A Boolean value that indicates whether the run had a fault.
    var hasFault: Bool { machine.withLock { $0.fault != nil || $0.obstacle != nil } }

    /// A Boolean value that indicates whether the run has reported neither success, nor failure, nor a fault.
    var isSilent: Bool { machine.withLock { $0.fault == nil && !$0.isJudged } }
}
