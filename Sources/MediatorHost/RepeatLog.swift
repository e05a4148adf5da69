package import Logging
import Synchronization

/// A log that withholds most lines of a flood of one kind, and reports their number.
///
/// It logs one of the withheld lines at the end of the interval, or when the system stops. While the flood goes on, it logs one
/// line an interval.
package final class RepeatLog: Sendable {
    /// The text and the metadata of a line, made when the line is logged.
    package typealias Line = @Sendable () -> (message: String, metadata: Logger.Metadata)

    /// The line that represents all withheld lines of an interval.
    package enum Choice: Sendable {
        case first, last
    }

    /// A withheld line, and the number of lines that it represents.
    private struct Withheld {
        var logger: Logger
        var level: Logger.Level
        var line: Line
        var place: Place
        var count = 1
    }

    /// The place in the program that logs a line.
    private struct Place {
        let file: String
        let function: String
        let line: UInt
    }

    /// The lines of one kind within the present interval.
    private struct Kind {
        var began: Duration
        var logged = 0
        var burst: Int
        var withheld: Withheld?
    }

    /// The result for one line.
    private struct Outcome {
        /// A Boolean value that indicates whether the line is logged now.
        var isLogged = false
        /// The withheld line that the new line replaces, or the one whose number the new line reports.
        var before: Withheld?
        /// The withheld lines of kinds that are forgotten.
        var forgotten: [Withheld] = []
        /// The call that begins to wait, if any.
        var wake: Wake?
    }

    /// The kind of a line: a word, and two numbers that distinguish kinds with the same word.
    package struct Key: Hashable, ExpressibleByStringInterpolation, Sendable {
        let text: String
        let first: Int
        let second: Int

        init(_ text: String, _ first: Int = 0, _ second: Int = 0) {
            self.text = text
            self.first = first
            self.second = second
        }

        /// Creates a key of a word alone.
        package init(stringLiteral text: String) { self.init(text) }
    }

    /// A call at the end of an interval.
    private struct Wake {
        let number: Int
        let end: Duration
    }

    private struct Machine {
        var kinds: [Key: Kind] = [:]
        /// The call that waits. Earlier ones do nothing.
        var wake: Wake?
        private var wakes = 0

        /// Returns a new call, or `nil` if one waits that comes as early.
        mutating func waits(until end: Duration) -> Wake? {
            if let wake, wake.end <= end { return nil }
            wakes += 1
            wake = Wake(number: wakes, end: end)
            return wake
        }

        /// Forgets kinds, and returns their withheld lines.
        mutating func forget(_ keys: [Key]) -> [Withheld] {
            keys.compactMap { kinds.removeValue(forKey: $0)?.withheld }
        }

        /// Takes a line. At most `burst` lines of its kind are logged within an interval.
        mutating func take(
            _ line: Withheld, _ key: Key, at elapsed: Duration, burst: Int, _ interval: Duration, _ choice: Choice
        ) -> Outcome {
            var outcome = Outcome()
            if kinds[key] == nil, kinds.count >= RepeatLog.limit {
                outcome.forgotten = kinds.values.compactMap(\.withheld)
                kinds.removeAll()
            }
            var kind = kinds[key] ?? Kind(began: elapsed, burst: burst)
            defer { kinds[key] = kind }
            if elapsed - kind.began >= interval {
                // A flood that goes on has one line an interval.
                kind.logged = kind.withheld == nil ? 0 : burst - 1
                kind.began = elapsed
            }
            guard kind.logged < burst else {
                guard let withheld = kind.withheld else {
                    kind.withheld = line
                    outcome.wake = waits(until: kind.began + interval)
                    return outcome
                }
                if choice == .last {
                    // The replaced line leaves the lock before its release.
                    outcome.before = withheld
                    kind.withheld = line
                }
                kind.withheld?.count = withheld.count + 1
                return outcome
            }
            kind.logged += 1
            outcome.isLogged = true
            outcome.before = kind.withheld.take()
            return outcome
        }
    }

    /// The maximum number of kinds. Beyond it, the log forgets all kinds.
    static let limit = 256

    private let machine = Mutex(Machine())
    private let time: HostTime
    private let interval: Duration
    private let choice: Choice

    /// Creates a log.
    ///
    /// - Parameters:
    ///   - time: The clock of the intervals.
    ///   - interval: The length of an interval.
    ///   - choice: The line that represents several withheld lines.
    package init(time: HostTime, interval: Duration = .seconds(1), telling choice: Choice = .first) {
        self.time = time
        self.interval = interval
        self.choice = choice
    }

    /// Logs a line, unless `burst` lines of its kind were logged within the interval. One of the withheld lines is logged at
    /// the end of the interval, with the number of the others.
    package func log(
        _ logger: Logger, _ level: Logger.Level, _ message: @autoclosure @escaping @Sendable () -> String,
        key: @autoclosure () -> Key, burst: Int = 1, _ metadata: @autoclosure @escaping @Sendable () -> Logger.Metadata,
        file: String = #fileID, function: String = #function, line: UInt = #line
    ) {
        log(logger, level, key: key(), burst: burst, file: file, function: function, line: line) {
            (message(), metadata())
        }
    }

    /// Logs a line, unless `burst` lines of its kind were logged within the interval. One of the withheld lines is logged at
    /// the end of the interval, with the number of the others.
    package func log(
        _ logger: Logger, _ level: Logger.Level, key: @autoclosure () -> Key, burst: Int = 1,
        file: String = #fileID, function: String = #function, line: UInt = #line, _ text: @escaping Line
    ) {
        guard level >= logger.logLevel else { return }
        let key = key()
        let elapsed = time.elapsed()
        let place = Place(file: file, function: function, line: line)
        let outcome = machine.withLock { machine in
            machine.take(
                Withheld(logger: logger, level: level, line: text, place: place), key, at: elapsed, burst: burst,
                interval,
                choice)
        }
        for withheld in outcome.forgotten { tell(withheld) }
        if let wake = outcome.wake { wait(wake) }
        guard outcome.isLogged else { return }
        var (message, metadata) = text()
        if let before = outcome.before { metadata["repeated"] = "\(before.count) more before this one" }
        logger.log(level: level, "\(message)", metadata: metadata, file: file, function: function, line: line)
    }

    /// Logs the withheld lines of some kinds now. The next lines of these kinds are logged at once.
    func forget(_ keys: [Key]) {
        for withheld in machine.withLock({ $0.forget(keys) }) { tell(withheld) }
    }

    /// Logs the withheld lines of all intervals.
    func tellWithheld() { tellWithheld(after: nil) }

    /// Logs the withheld lines of intervals that are over, or of all intervals without a call that was made.
    private func tellWithheld(after woken: Wake?) {
        let elapsed = time.elapsed()
        let (lines, wake): ([Withheld], Wake?) = machine.withLock { machine in
            guard woken == nil || woken?.number == machine.wake?.number else { return ([], nil) }
            machine.wake = nil
            var lines: [Withheld] = []
            var next: Duration?
            for (key, kind) in machine.kinds {
                guard let line = kind.withheld else { continue }
                let end = kind.began + interval
                guard woken == nil || end <= elapsed else {
                    next = min(next ?? end, end)
                    continue
                }
                lines.append(line)
                // This line is the only one of the interval that begins.
                machine.kinds[key] = Kind(began: elapsed, logged: kind.burst, burst: kind.burst)
            }
            return (lines, next.flatMap { machine.waits(until: $0) })
        }
        for line in lines { tell(line) }
        if let wake { wait(wake) }
    }

    private func wait(_ wake: Wake) {
        _ = time.call(at: wake.end) { [weak self] in self?.tellWithheld(after: wake) }
    }

    private func tell(_ withheld: Withheld) {
        var (message, metadata) = withheld.line()
        if withheld.count > 1 {
            metadata["repeated"] = "\(withheld.count - 1) more \(choice == .first ? "after" : "before") this one"
        }
        withheld.logger.log(
            level: withheld.level, "\(message)", metadata: metadata, file: withheld.place.file,
            function: withheld.place.function, line: withheld.place.line)
    }
}
