public import CommonExpression
import Glibc
public import MediatorConfiguration
public import MediatorHost
package import Systemd

/// `journal`: tells each entry of the journal that matches.
///
/// In each second it tells at most so many; of what else comes in that second only the number is told. What was there
/// before it began is never left out, only told that slowly.
public struct JournalEffect: EffectImplementation {
    /// How many entries are passed over with one call.
    private static let skipLimit = 10_000

    /// How often it begins anew at once since a file could not be read, and nothing was told in between: when journald has made it
    /// shorter that is over with the first time.
    private static let mostCuts = 3

    /// How long it waits before it looks again at what it could not read.
    public let retryInterval: Duration

    /// Opens the journal.
    private let open: Opening

    /// Its name, parameters and outcomes.
    public var schema: EffectSchema { .journal }

    /// The effect; it looks again so long after it could not read.
    public init(retryInterval: Duration = .seconds(10)) {
        self.init(retryInterval: retryInterval) { matches, priority, beginning, passesDamage throws(JournalError) in
            try JournalReader(
                matches: matches, priority: priority, beginning: beginning, passesDamage: passesDamage)
        }
    }

    /// The effect that reads from elsewhere.
    package init(retryInterval: Duration, open: @escaping Opening) {
        self.retryInterval = retryInterval
        self.open = open
    }

    /// Opens what is read: with what fields must be, how grave an entry must be, where to begin, and whether damage is passed over.
    package typealias Opening =
        @Sendable ([String: String], Int?, JournalReader.Beginning, Bool) throws(JournalError) -> any JournalSource

    /// What one run leaves to the next.
    private struct Memory: Sendable {
        var position: JournalReader.Beginning
        /// How much was passed over that nobody has been told of.
        var dropped: Int64 = 0
    }

    /// What is known of a run, however often the journal is opened anew.
    private struct Course<Instant> {
        /// When it began: what was there before is told, however long that takes.
        let began = JournalEffect.now()
        /// The second in which so much has been told.
        var second: Instant
        var count = 0
        /// Whether it came further since a file could not be read.
        var hasProgressed = false
    }

    /// Follows until it is cancelled; a run goes on where the last one of the feedback was.
    public func run(_ arguments: [String: Value], in context: EffectContext) async {
        await run(arguments, context, context.clock)
    }

    private func run<C: Clock<Duration>>(_ arguments: [String: Value], _ context: EffectContext, _ clock: C) async {
        let matches = arguments["match"]?.stringMap ?? [:]
        let priority = arguments["priority"]?.text.flatMap(EffectSchema.journalPriorities.firstIndex)
        var limit = 100
        if case .int(let number)? = arguments["perSecond"] { limit = Int(number) }
        var complaints = Complaints()
        var course = Course(second: clock.now)
        // How often a file could not be read since it came further, and whether what is damaged has been passed over since.
        var cuts = 0
        var hasPassed = false
        while !Task.isCancelled {
            do {
                let memory = context.memory.value(Memory.self) ?? Memory(position: Self.beginning(arguments))
                let passesDamage = cuts > Self.mostCuts
                let reader = try await Blocking.call {
                    Result { () throws(JournalError) in try open(matches, priority, memory.position, passesDamage) }
                }.get()
                context.memory.keep(Memory(position: reader.position, dropped: memory.dropped))
                try await follow(reader, limit, context, clock, &course, &complaints)
                // What is damaged may be well by now: it is tried once.
                cuts = Self.mostCuts
                course.hasProgressed = false
                continue
            } catch let problem as SensingProblem {
                complaints.add(problem.message, context)
            } catch is CancellationError {
                return
            } catch let problem as JournalError where problem.isOfCutFile {
                // It goes on behind what it has told.
                if course.hasProgressed { (cuts, hasPassed) = (0, false) }
                course.hasProgressed = false
                cuts += 1
                guard cuts > Self.mostCuts else { continue }
                complaints.add("\(problem), again and again: damage is passed over", context)
                // A disk that only had a bad moment is given another one.
                if hasPassed { continue }
                hasPassed = true
                guard (try? await clock.sleep(for: retryInterval)) != nil else { return }
                continue
            } catch {
                complaints.add("\(error)", context)
            }
            (cuts, hasPassed) = (0, false)
            guard (try? await clock.sleep(for: retryInterval)) != nil else { return }
        }
    }

    private static func beginning(_ arguments: [String: Value]) -> JournalReader.Beginning {
        if let cursor = arguments["cursor"]?.text { return .after(cursor) }
        return arguments["since"]?.text == "boot" ? .boot : .now
    }

    /// Tells what comes; a reader that passes over damage is used for a while only, since it sees nothing any more of what was
    /// damaged once.
    private func follow<C: Clock<Duration>>(
        _ reader: any JournalSource, _ limit: Int, _ context: EffectContext, _ clock: C,
        _ course: inout Course<C.Instant>, _ complaints: inout Complaints
    ) async throws {
        tellDropped(context)
        var isWell = false
        let begin = clock.now
        while true {
            if course.second.duration(to: clock.now) >= .seconds(1) {
                course.second = clock.now
                course.count = 0
            }
            let room = max(0, limit - course.count)
            let (entries, damaged) = try await Blocking.call {
                Result { () throws(JournalError) in try reader.read(limit: room) }
            }.get()
            try Task.checkCancellation()
            if !isWell, !reader.passesDamage { complaints.clear() }
            isWell = true
            for entry in entries {
                context.report("onEntry", of: .journal, Self.fields(entry))
                context.memory.keep(Memory(position: .after(entry.cursor)))
                course.hasProgressed = true
            }
            if damaged > 0 { context.report("onDropped", of: .journal, [.int(Int64(damaged))]) }
            course.count += entries.count + damaged
            if course.count >= limit {
                let rest = Duration.seconds(1) - course.second.duration(to: clock.now)
                if rest > .zero { try await clock.sleep(for: rest) }
                // What was there before is told, however long that takes.
                if let last = entries.last, last.microseconds >= course.began {
                    try await skip(reader, context, &course)
                }
            } else if entries.isEmpty, damaged == 0 {
                var patience = reader.isReliable ? Duration.seconds(3_600) : .seconds(2)
                if reader.passesDamage {
                    patience = min(patience, retryInterval - begin.duration(to: clock.now))
                    guard patience > .zero else { return }
                }
                _ = try await Poller.shared.readable(reader.descriptor, within: patience, clock: clock)
                try await Blocking.call { Result { () throws(JournalError) in try reader.process() } }.get()
            }
        }
    }

    /// Passes over what has come meanwhile, and tells how much that was.
    private func skip<Instant>(
        _ reader: any JournalSource, _ context: EffectContext, _ course: inout Course<Instant>
    ) async throws {
        while true {
            try await Blocking.call { Result { () throws(JournalError) in try reader.process() } }.get()
            let skipped = try await Blocking.call {
                Result { () throws(JournalError) in try reader.skip(limit: Self.skipLimit) }
            }.get()
            try Task.checkCancellation()
            guard let skipped else { break }
            // Should it end here, by whatever: the number goes with the position.
            if var memory = context.memory.value(Memory.self) {
                memory.dropped += Int64(skipped.count)
                if let cursor = skipped.cursor { memory.position = .after(cursor) }
                context.memory.keep(memory)
            }
            course.hasProgressed = true
            if skipped.count < Self.skipLimit { break }
        }
        tellDropped(context)
    }

    /// Tells how much was passed over.
    private func tellDropped(_ context: EffectContext) {
        guard var memory = context.memory.value(Memory.self), memory.dropped > 0 else { return }
        context.report("onDropped", of: .journal, [.int(memory.dropped)])
        memory.dropped = 0
        context.memory.keep(memory)
    }

    /// Microseconds since the beginning of 1970, as entries have them.
    private static func now() -> UInt64 {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return UInt64(clamping: time.tv_sec) * 1_000_000 + UInt64(clamping: time.tv_nsec / 1_000)
    }

    private static func fields(_ entry: JournalEntry) -> [Value] {
        let time = Timestamp(
            seconds: Int64(clamping: entry.microseconds / 1_000_000),
            nanoseconds: Int32(entry.microseconds % 1_000_000) * 1_000)
        return [
            .string(entry.fields["MESSAGE"] ?? ""), .string(entry.fields["_SYSTEMD_UNIT"] ?? ""),
            .int(entry.fields["PRIORITY"].flatMap { Int64($0) } ?? -1),
            time.map { .timestamp($0) } ?? .timestamp(epoch),
            .string(entry.cursor),
            .map(Dictionary(uniqueKeysWithValues: entry.fields.map { (.string($0.key), .string($0.value)) })),
        ]
    }

    /// What stands for a time that no timestamp can be.
    private static let epoch: Timestamp = {
        guard let epoch = Timestamp(seconds: 0, nanoseconds: 0) else {
            preconditionFailure("the beginning of 1970 is within the range of timestamps")
        }
        return epoch
    }()
}

/// What entries are read from: the journal.
package protocol JournalSource: Sendable {
    /// See ``JournalReader``.
    var descriptor: Int32 { get }
    var isReliable: Bool { get }
    var position: JournalReader.Beginning { get }
    var passesDamage: Bool { get }
    func process() throws(JournalError)
    func read(limit: Int) throws(JournalError) -> (entries: [JournalEntry], damaged: Int)
    func skip(limit: Int) throws(JournalError) -> (count: Int, cursor: String?)?
}

extension JournalReader: JournalSource {}
