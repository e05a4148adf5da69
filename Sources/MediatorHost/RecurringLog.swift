package import Logging
import Synchronization

/// A log of faults and warnings, which may recur for hours.
///
/// A line that resembles none of the last ones is logged, except in a flood: at most three such lines of one kind a second. A line
/// that recurs is logged twice more, and then once a minute with the number of the others.
package final class RecurringLog: Sendable {
    /// The number of different lines that are remembered.
    private static let memory = 16

    private let brief: RepeatLog
    private let long: RepeatLog
    /// The last different lines, the newest last.
    private let recent = Mutex<[RepeatLog.Key]>([])

    /// Creates a log.
    ///
    /// - Parameters:
    ///   - brief: The log for new lines.
    ///   - long: The log for lines that recur.
    package init(_ brief: RepeatLog, _ long: RepeatLog) {
        self.brief = brief
        self.long = long
    }

    /// Logs the withheld lines of a kind, or of all kinds, now. The next line is news again, and is logged at once.
    func forget(kind: String? = nil) {
        let keys = recent.withLock { recent in
            let keys = recent.filter { kind == nil || $0.text == kind }
            recent.removeAll { keys.contains($0) }
            return keys
        }
        long.forget(keys)
        brief.forget(keys.map { RepeatLog.Key($0.text) })
    }

    /// Logs a line.
    ///
    /// - Parameters:
    ///   - kind: The kind of the line, such as its place.
    ///   - detail: The text by which lines of one kind differ, such as the reason.
    package func log(
        _ logger: Logger, _ level: Logger.Level, kind: String, detail: @autoclosure () -> String,
        file: String = #fileID, function: String = #function, line: UInt = #line, _ text: @escaping RepeatLog.Line
    ) {
        guard level >= logger.logLevel else { return }
        let key = RepeatLog.Key(kind, detail().hashValue)
        let isKnown = recent.withLock { recent in
            let place = recent.firstIndex(of: key)
            if let place { recent.remove(at: place) } else if recent.count == Self.memory { recent.removeFirst() }
            recent.append(key)
            return place != nil
        }
        if isKnown {
            long.log(logger, level, key: key, burst: 2, file: file, function: function, line: line, text)
        } else {
            brief.log(
                logger, level, key: RepeatLog.Key(kind), burst: 3, file: file, function: function, line: line, text)
        }
    }
}
