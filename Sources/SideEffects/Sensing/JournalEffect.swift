public import CommonExpression
import Glibc
public import MediatorConfiguration
public import MediatorHost
import Systemd

/// `journal`: tells each entry of the journal that matches.
///
/// In each second it tells at most so many; of what else comes in that second only the number is told. What was there
/// before it began is never left out, only told that slowly.
public struct JournalEffect: EffectImplementation {
    /// How many entries are passed over with one call.
    private static let skipLimit = 10_000

    /// How often it begins anew at once since journald made a file shorter; then it waits.
    private static let mostCuts = 100

    /// How long it waits before it looks again at what it could not read.
    public let retryInterval: Duration

    /// Its name, parameters and outcomes.
    public var schema: EffectSchema { .journal }

    /// The effect; it looks again so long after it could not read.
    public init(retryInterval: Duration = .seconds(10)) {
        self.retryInterval = retryInterval
    }

    /// What one run leaves to the next.
    private struct Memory: Sendable {
        var position: JournalReader.Beginning
    }

    /// Follows until it is cancelled; a run goes on where the last one of the feedback was.
    public func run(_ arguments: [String: Value], in context: EffectContext) async {
        var complaints = Complaints()
        // How often a file was cut since it had to wait last.
        var cuts = 0
        while !Task.isCancelled {
            do {
                let beginning = context.memory.value(Memory.self)?.position ?? Self.beginning(arguments)
                let matches = arguments["match"]?.stringMap ?? [:]
                let priority = arguments["priority"]?.text.flatMap(EffectSchema.journalPriorities.firstIndex)
                let reader = try await Blocking.call {
                    Result { () throws(JournalError) in
                        try JournalReader(matches: matches, priority: priority, beginning: beginning)
                    }
                }.get()
                context.memory.keep(Memory(position: reader.position))
                complaints.clear()
                var limit = 100
                if case .int(let number)? = arguments["perSecond"] { limit = Int(number) }
                try await follow(reader, limit, context, context.clock)
            } catch let problem as SensingProblem {
                complaints.add(problem.message, context)
            } catch is CancellationError {
                return
            } catch let problem as JournalError where problem.isOfCutFile && cuts < Self.mostCuts {
                // It goes on behind what it has told.
                cuts += 1
                continue
            } catch {
                complaints.add("\(error)", context)
            }
            cuts = 0
            guard (try? await context.clock.sleep(for: retryInterval)) != nil else { return }
        }
    }

    private static func beginning(_ arguments: [String: Value]) -> JournalReader.Beginning {
        if let cursor = arguments["cursor"]?.text { return .after(cursor) }
        return arguments["since"]?.text == "boot" ? .boot : .now
    }

    private func follow<C: Clock<Duration>>(
        _ reader: JournalReader, _ limit: Int, _ context: EffectContext, _ clock: C
    ) async throws {
        let began = Self.now()
        var second = clock.now
        var count = 0
        while true {
            if second.duration(to: clock.now) >= .seconds(1) {
                second = clock.now
                count = 0
            }
            let room = limit - count
            let entries = try await Blocking.call { Result { () throws(JournalError) in try reader.read(limit: room) } }
                .get()
            try Task.checkCancellation()
            for entry in entries {
                context.report("onEntry", of: .journal, Self.fields(entry))
                context.memory.keep(Memory(position: .after(entry.cursor)))
            }
            count += entries.count
            if count >= limit {
                let rest = Duration.seconds(1) - second.duration(to: clock.now)
                if rest > .zero { try await clock.sleep(for: rest) }
                // What was there before is told, however long that takes.
                if let last = entries.last, last.microseconds >= began { try await skip(reader, context) }
            } else {
                _ = try await Poller.shared.readable(
                    reader.descriptor, within: reader.isReliable ? .seconds(3_600) : .seconds(2), clock: clock)
                try await Blocking.call { Result { () throws(JournalError) in try reader.process() } }.get()
            }
        }
    }

    /// Passes over what has come meanwhile, and tells how much that was.
    private func skip(_ reader: JournalReader, _ context: EffectContext) async throws {
        var count: Int64 = 0
        while true {
            try await Blocking.call { Result { () throws(JournalError) in try reader.process() } }.get()
            let skipped = try await Blocking.call {
                Result { () throws(JournalError) in try reader.skip(limit: Self.skipLimit) }
            }.get()
            try Task.checkCancellation()
            guard let skipped else { break }
            count += Int64(skipped.count)
            context.memory.keep(Memory(position: .after(skipped.cursor)))
            if skipped.count < Self.skipLimit { break }
        }
        if count > 0 { context.report("onDropped", of: .journal, [.int(count)]) }
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
