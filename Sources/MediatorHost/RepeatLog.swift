package import Logging
import Synchronization

/// Logs what comes now and then, and of what comes in a flood only how much it was.
///
/// What is withheld is told when its interval is over, or when the system stops: nothing goes without a word.
package final class RepeatLog: Sendable {
    /// The first line that was withheld, and how many there were.
    private struct Withheld {
        var logger: Logger
        var level: Logger.Level
        var message: String
        var metadata: Logger.Metadata
        var place: Place
        var count = 1
    }

    /// Where in the program a line comes from.
    private struct Place {
        let file: String
        let function: String
        let line: UInt
    }

    /// What is to be done with a line.
    private enum Step {
        /// It is withheld like one before it, and counted.
        case count
        /// It is the first to be withheld.
        case withhold
        /// It is logged, and what was withheld before it told.
        case log(before: Withheld?)
    }

    /// The lines of one kind within the present interval.
    private struct Kind {
        var began: Duration
        var logged = 0
        var withheld: Withheld?

        /// Another line comes, of which so many are logged within an interval.
        mutating func take(at elapsed: Duration, burst: Int) -> Step {
            if elapsed - began >= RepeatLog.interval {
                began = elapsed
                logged = 0
            }
            guard logged < burst else {
                guard withheld != nil else { return .withhold }
                withheld?.count += 1
                return .count
            }
            logged += 1
            defer { withheld = nil }
            return .log(before: withheld)
        }
    }

    /// What tells kinds of lines apart: a word, and two numbers where there are several of that.
    package struct Key: Hashable, ExpressibleByStringInterpolation, Sendable {
        let text: String
        let first: Int
        let second: Int

        init(_ text: String, _ first: Int = 0, _ second: Int = 0) {
            self.text = text
            self.first = first
            self.second = second
        }

        /// A word alone.
        package init(stringLiteral text: String) { self.init(text) }
    }

    private struct Machine {
        var kinds: [Key: Kind] = [:]
        /// Whether someone waits for an interval to end.
        var isWaiting = false
    }

    /// How long an interval is.
    package static let interval = Duration.seconds(1)
    /// How many kinds are told apart; beyond, it begins anew.
    static let limit = 256

    private let machine = Mutex(Machine())
    private let time: HostTime

    /// - Parameter time: by which intervals are measured.
    package init(time: HostTime) {
        self.time = time
    }

    /// Logs a line, unless `burst` of the same kind were logged within the last ``interval``; of those the first is
    /// logged when that is over, and says how many more there were.
    package func log(
        _ logger: Logger, _ level: Logger.Level, _ message: @autoclosure () -> String, key: @autoclosure () -> Key,
        burst: Int = 1, _ metadata: @autoclosure () -> Logger.Metadata,
        file: String = #fileID, function: String = #function, line: UInt = #line
    ) {
        guard level >= logger.logLevel else { return }
        let key = key()
        let elapsed = time.elapsed()
        // What is not to be logged is not made into text, but for the first of an interval.
        let (step, forgotten): (Step, [Withheld]) = machine.withLock { machine in
            if let index = machine.kinds.index(forKey: key) {
                return (machine.kinds.values[index].take(at: elapsed, burst: burst), [])
            }
            var forgotten: [Withheld] = []
            if machine.kinds.count >= Self.limit {
                forgotten = machine.kinds.values.compactMap(\.withheld)
                machine.kinds.removeAll()
            }
            var kind = Kind(began: elapsed)
            defer { machine.kinds[key] = kind }
            return (kind.take(at: elapsed, burst: burst), forgotten)
        }
        for withheld in forgotten { Self.tell(withheld) }
        switch step {
        case .count: return
        case .withhold:
            let place = Place(file: file, function: function, line: line)
            withhold(
                Withheld(logger: logger, level: level, message: message(), metadata: metadata(), place: place), key,
                elapsed)
        case .log(let before):
            var metadata = metadata()
            if let before { metadata["repeated"] = "\(before.count) more before this one" }
            logger.log(
                level: level, "\(message())", metadata: metadata, file: file, function: function, line: line)
        }
    }

    /// Tells what is withheld of intervals that are over, or all of it.
    func tellWithheld(all: Bool) {
        let elapsed = time.elapsed()
        let (lines, delay): ([Withheld], Duration?) = machine.withLock { machine in
            var lines: [Withheld] = []
            var next: Duration?
            for (key, kind) in machine.kinds {
                guard let line = kind.withheld else { continue }
                let rest = kind.began + Self.interval - elapsed
                guard all || rest <= .zero else {
                    next = min(next ?? rest, rest)
                    continue
                }
                lines.append(line)
                // It counts as a line of the interval that begins.
                machine.kinds[key] = Kind(began: elapsed, logged: 1)
            }
            machine.isWaiting = next != nil
            return (lines, next)
        }
        for line in lines { Self.tell(line) }
        if let delay { wait(delay) }
    }

    private func withhold(_ line: Withheld, _ key: Key, _ elapsed: Duration) {
        let delay: Duration? = machine.withLock { machine in
            // Another of its kind may have come meanwhile.
            if machine.kinds[key]?.withheld != nil {
                machine.kinds[key]?.withheld?.count += 1
            } else {
                machine.kinds[key, default: Kind(began: elapsed, logged: 1)].withheld = line
            }
            guard !machine.isWaiting else { return nil }
            machine.isWaiting = true
            return (machine.kinds[key]?.began ?? elapsed) + Self.interval - elapsed
        }
        if let delay { wait(delay) }
    }

    private func wait(_ delay: Duration) {
        Task { [weak self, clock = time.clock] in
            try? await clock.sleep(for: delay)
            self?.tellWithheld(all: false)
        }
    }

    private static func tell(_ line: Withheld) {
        var metadata = line.metadata
        if line.count > 1 { metadata["repeated"] = "\(line.count - 1) more after this one" }
        line.logger.log(
            level: line.level, "\(line.message)", metadata: metadata, file: line.place.file,
            function: line.place.function, line: line.place.line)
    }
}
