/// The phase of the life of a hosted system, apart from its loop.
package enum SystemPhase: Sendable, Hashable, CaseIterable {
    /// Not started.
    case built
    case running
    /// It ends before a restart, or waits for the time of the restart.
    case restarting
    /// It has ended because of a fault.
    case givenUp
    /// It ends for good: with the host, or because a reload removes or replaces it.
    case leaving
}

/// The signs from which the health of a system follows.
package struct HealthSigns: Sendable {
    let phase: SystemPhase
    let inState: Health
    let isLate: Bool
    let hasFailed: Bool
    let isPaused: Bool
    let isReady: Bool
    let isDegraded: Bool

    /// - Parameters:
    ///   - inState: The health that the definition declares for the state.
    ///   - isLate: A Boolean value that indicates whether the loop makes no progress.
    ///   - hasFailed: A Boolean value that indicates whether an event that the system must handle was not handled.
    ///   - isReady: A Boolean value that indicates whether the system has reached a state that counts as ready.
    ///   - isDegraded: A Boolean value that indicates whether a part of the system does not work: see ``Conditions``.
    @inline(__always)
    package init(
        phase: SystemPhase, inState: Health, isLate: Bool, hasFailed: Bool, isPaused: Bool, isReady: Bool,
        isDegraded: Bool
    ) {
        self.phase = phase
        self.inState = inState
        self.isLate = isLate
        self.hasFailed = hasFailed
        self.isPaused = isPaused
        self.isReady = isReady
        self.isDegraded = isDegraded
    }

    /// The health. The gravest sign decides; a pause hides that the system is not ready.
    @inline(__always)
    package var health: Health {
        switch phase {
        case .built: .starting
        case .restarting, .givenUp: .failed
        case .leaving: .stopped
        case .running:
            if isLate || hasFailed || inState == .failed {
                .failed
            } else if isPaused {
                .degraded
            } else if !isReady {
                .starting
            } else {
                isDegraded || inState == .degraded ? .degraded : .healthy
            }
        }
    }
}
