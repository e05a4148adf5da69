import Synchronization

/// The counters of the runs of a feedback. They continue when the system restarts.
final class RunFigures: Sendable {
    /// The upper bounds of the classes of run times. Longer runs form one more class.
    static let classes: [Duration] = [
        .milliseconds(5), .milliseconds(25), .milliseconds(100), .milliseconds(500), .seconds(1), .seconds(5),
        .seconds(30), .seconds(60), .seconds(300), .seconds(3600),
    ]

    /// The counters at one moment.
    struct Counts: Sendable {
        /// The number of ended runs in each class of ``RunFigures/classes``, and in the class of longer runs.
        var ended = Array(repeating: UInt64(0), count: RunFigures.classes.count + 1)
        /// The total time of the ended runs.
        var total = Duration.zero
        /// The number of reports of each outcome.
        var outcomes: [String: UInt64] = [:]
        /// The number of retries of runs.
        var retries: UInt64 = 0
        /// The number of runs that `mode: single` did not begin.
        var skipped: UInt64 = 0
        /// The number of runs at work. A run that only waits for its time or its turn does not count.
        var atWork = 0
    }

    private let counts = Mutex(Counts())

    /// The current counters.
    var present: Counts { counts.withLock { $0 } }

    /// Counts the start of the work of a run.
    func begin() {
        counts.withLock { $0.atWork += 1 }
    }

    /// Counts the end of a run that began.
    ///
    /// - Parameter time: The duration of the run.
    func end(after time: Duration) {
        let index = Self.classes.firstIndex { time <= $0 } ?? Self.classes.count
        counts.withLock { counts in
            counts.atWork -= 1
            counts.ended[index] += 1
            counts.total += time
        }
    }

    /// Counts an outcome.
    func report(_ outcome: String) {
        counts.withLock { $0.outcomes[outcome, default: 0] += 1 }
    }

    /// Counts a run that was asked for but does not begin.
    func skip() {
        counts.withLock { $0.skipped += 1 }
    }

    /// Counts a retry of a run.
    func retry() {
        counts.withLock { $0.retries += 1 }
    }
}
