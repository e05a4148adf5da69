/// Limits the entries that `journal` reports in each second.
///
/// Entries that are older than the run are never skipped, but only reported at this rate.
struct JournalRate {
    /// The treatment of an entry.
    enum Decision: Equatable {
        /// Report the entry.
        case report
        /// Count the entry instead.
        case count
        /// Wait before the entry is decided again.
        case wait(Duration)
    }

    private static let interval = Duration.seconds(1)

    private let limit: Int
    private var begin: Duration
    private var count = 0
    private var isLive = false

    /// Creates a rate whose first second begins at a time.
    init(limit: Int, at now: Duration) {
        self.limit = limit
        begin = now
    }

    /// Decides about the next entry.
    mutating func decide(at now: Duration) -> Decision {
        if now >= begin + Self.interval { (begin, count) = (now, 0) }
        if count < limit { return .report }
        return isLive ? .count : .wait(remaining(at: now))
    }

    /// Records a reported entry.
    ///
    /// - Parameter isLive: A Boolean value that indicates whether the entry is newer than the run, or nil if that is
    ///   unknown.
    mutating func note(isLive: Bool?) {
        count += 1
        if let isLive { self.isLive = isLive }
    }

    /// Returns the time until the current second ends.
    func remaining(at now: Duration) -> Duration { max(.zero, begin + Self.interval - now) }
}
