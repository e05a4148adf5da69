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

    /// The lines of one kind within the present interval.
    private struct Kind {
        var began: Duration
        var logged = 0
        var withheld: Withheld?
    }

    private struct Machine {
        var kinds: [String: Kind] = [:]
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
        _ logger: Logger, _ level: Logger.Level, _ message: @autoclosure () -> String, key: @autoclosure () -> String,
        burst: Int = 1, _ metadata: @autoclosure () -> Logger.Metadata,
        file: String = #fileID, function: String = #function, line: UInt = #line
    ) {
        guard level >= logger.logLevel else { return }
        let key = key()
        let elapsed = time.elapsed()
        enum Step {
            case count
            case withhold
            case log(before: Withheld?)
        }
        // What is not to be logged is not made into text, but for the first of an interval.
        let (step, forgotten): (Step, [Withheld]) = machine.withLock { machine in
            var kind = machine.kinds[key] ?? Kind(began: elapsed)
            if elapsed - kind.began >= Self.interval {
                kind.began = elapsed
                kind.logged = 0
            }
            var forgotten: [Withheld] = []
            if machine.kinds.count >= Self.limit, machine.kinds[key] == nil {
                forgotten = machine.kinds.values.compactMap(\.withheld)
                machine.kinds.removeAll()
            }
            defer { machine.kinds[key] = kind }
            guard kind.logged < burst else {
                guard kind.withheld != nil else { return (.withhold, forgotten) }
                kind.withheld?.count += 1
                return (.count, forgotten)
            }
            kind.logged += 1
            defer { kind.withheld = nil }
            return (.log(before: kind.withheld), forgotten)
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

    private func withhold(_ line: Withheld, _ key: String, _ elapsed: Duration) {
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
