import Synchronization

/// What is counted of the runs of a feedback, however often its system is restarted.
final class RunFigures: Sendable {
    /// How long runs take, in classes: up to so much each, and longer.
    static let classes: [Duration] = [
        .milliseconds(5), .milliseconds(25), .milliseconds(100), .milliseconds(500), .seconds(1), .seconds(5),
        .seconds(30), .seconds(60), .seconds(300), .seconds(3600),
    ]

    /// The figures at one moment.
    struct Counts: Sendable {
        /// How many runs ended, by how long they took; one more class than ``RunFigures/classes``.
        var ended = Array(repeating: UInt64(0), count: RunFigures.classes.count + 1)
        /// How long they took together.
        var total = Duration.zero
        /// How many of each outcome there were.
        var outcomes: [String: UInt64] = [:]
        /// How often a run was made again.
        var retries: UInt64 = 0
        /// The number of runs that `mode: single` did not begin.
        var skipped: UInt64 = 0
        /// How many are at work: those that only wait for their time or turn are not.
        var atWork = 0
    }

    private let counts = Mutex(Counts())

    /// What has been counted.
    var present: Counts { counts.withLock { $0 } }

    /// A run begins its work.
    func begin() {
        counts.withLock { $0.atWork += 1 }
    }

    /// A run that began has ended, and took so long.
    func end(after time: Duration) {
        let index = Self.classes.firstIndex { time <= $0 } ?? Self.classes.count
        counts.withLock { counts in
            counts.atWork -= 1
            counts.ended[index] += 1
            counts.total += time
        }
    }

    /// There was an outcome.
    func report(_ outcome: String) {
        counts.withLock { $0.outcomes[outcome, default: 0] += 1 }
    }

    /// A run that was asked for is not begun.
    func skip() {
        counts.withLock { $0.skipped += 1 }
    }

    /// A run is made again.
    func retry() {
        counts.withLock { $0.retries += 1 }
    }
}
