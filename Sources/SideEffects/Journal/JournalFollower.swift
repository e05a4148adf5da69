import CommonExpression
import Glibc
import MediatorConfiguration
import MediatorHost
import Synchronization

/// Reads the lines of journalctl, reports entries and keeps the position, during one run of the side effect `journal`.
///
/// The next child and the next run of the feedback begin at the position. While the rate requires a pause, the follower
/// reads nothing. Then the pipe becomes full, and the child waits too.
final class JournalFollower: Sendable {
    /// The longest line of journalctl, in bytes. An entry with a longer line is counted instead of reported.
    static let lineLimit = 1024 * 1024

    /// The data that a run leaves for the next one.
    private struct Memory: Sendable {
        var position: JournalRequest.Position
        /// The number of entries that were skipped and are not in an `onDropped` yet.
        var dropped: Int64 = 0
    }

    private struct State {
        var rate: JournalRate
        /// A Boolean value that indicates whether a line was accepted since the last call of ``takeProgress()``.
        var hasProgress = false
    }

    private let context: EffectContext
    /// The start of the run, in microseconds since 1970. Older entries are never skipped.
    private let began: UInt64
    private let state: Mutex<State>
    /// The time since the run began.
    let elapsed: @Sendable () -> Duration

    /// Starts a run now.
    init(_ request: JournalRequest, _ context: EffectContext) {
        self.context = context
        elapsed = Self.stopwatch(context.clock)
        began = Self.now()
        state = Mutex(State(rate: JournalRate(limit: request.perSecond, at: .zero)))
    }

    /// The position behind the last entry, or nil in the first run of the feedback.
    var position: JournalRequest.Position? { context.memory.value(Memory.self)?.position }

    /// Stores the first position of the feedback.
    func begin(at position: JournalRequest.Position) {
        if self.position == nil { context.memory.keep(Memory(position: position)) }
    }

    /// Returns `true` if a line was accepted since the last call.
    func takeProgress() -> Bool {
        state.withLock { state in
            defer { state.hasProgress = false }
            return state.hasProgress
        }
    }

    /// Reads the lines of a child until it ends or its end is requested.
    ///
    /// A last line without a line break may be incomplete, so it is ignored. The next child prints it again.
    func read(_ pipe: inout CommandPipe, from position: JournalRequest.Position, until ending: EndRequest) async {
        var lines = LineSplitter(limit: Self.lineLimit)
        var memory = context.memory.value(Memory.self) ?? Memory(position: position)
        // journalctl prints the entry of the cursor first, if the entry matches and still exists.
        var own: String? = if case .after(let cursor) = position.place { cursor } else { nil }
        reportDropped(&memory)
        while ending.reason == nil {
            switch await pipe.next(within: memory.dropped > 0 ? remaining() : nil) {
            case .timeUp:
                if ending.reason == nil { reportDropped(&memory) }
            case .end:
                if ending.reason == nil { reportDropped(&memory) }
                return
            case .bytes(let bytes):
                var counted: [UInt8]?
                for line in bytes.withUnsafeBytes({ lines.add($0) }) where !line.bytes.isEmpty {
                    guard ending.reason == nil else { break }
                    if let cursor = own {
                        own = nil
                        if let entry = Self.entry(line), JournalCursor.areSame(entry.cursor, cursor) { continue }
                    }
                    guard await take(line, &memory, &counted) else {
                        keep(&memory, behind: counted)
                        return
                    }
                }
                keep(&memory, behind: counted)
            }
        }
    }

    /// Reports or counts an entry, after a pause if the rate requires one. Returns `false` if the child ended during
    /// the pause. Then the next child prints the entry again.
    ///
    /// - Parameter counted: The last line that was counted since the position was stored.
    private func take(_ line: LineSplitter.Line, _ memory: inout Memory, _ counted: inout [UInt8]?) async -> Bool {
        while true {
            if memory.dropped > 0, remaining() == .zero { reportDropped(&memory) }
            let now = elapsed()
            switch state.withLock({ $0.rate.decide(at: now) }) {
            case .wait(let pause):
                guard (try? await context.clock.sleep(for: pause)) != nil else { return false }
            case .count:
                memory.dropped += 1
                // A line that was cut has no cursor.
                if !line.isCut { counted = line.bytes }
                return true
            case .report:
                report(line, &memory)
                // The position is now behind all counted entries.
                counted = nil
                return true
            }
        }
    }

    /// The time until the current second ends.
    private func remaining() -> Duration {
        let now = elapsed()
        return state.withLock { $0.rate.remaining(at: now) }
    }

    private func report(_ line: LineSplitter.Line, _ memory: inout Memory) {
        let entry = Self.entry(line)
        state.withLock { state in
            state.rate.note(isLive: entry.map { $0.microseconds >= began })
            state.hasProgress = true
        }
        guard let entry else {
            memory.dropped += 1
            return
        }
        context.report("onEntry", of: .journal, Self.result(entry))
        memory.position.place = .after(entry.cursor)
        context.memory.keep(memory)
    }

    /// Stores the number of skipped entries together with the position behind the last of them.
    private func keep(_ memory: inout Memory, behind line: [UInt8]?) {
        guard let line else { return }
        if let entry = JournalEntry(line: line) { memory.position.place = .after(entry.cursor) }
        context.memory.keep(memory)
    }

    private func reportDropped(_ memory: inout Memory) {
        guard memory.dropped > 0 else { return }
        context.report("onDropped", of: .journal, [.int(memory.dropped)])
        memory.dropped = 0
        context.memory.keep(memory)
    }

    private static func entry(_ line: LineSplitter.Line) -> JournalEntry? {
        line.isCut ? nil : JournalEntry(line: line.bytes)
    }

    /// The fields of the outcome `onEntry`.
    private static func result(_ entry: JournalEntry) -> [Value] {
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

    /// The time of an entry whose own time is outside the range of timestamps.
    private static let epoch: Timestamp = {
        guard let epoch = Timestamp(seconds: 0, nanoseconds: 0) else {
            preconditionFailure("the beginning of 1970 is within the range of timestamps")
        }
        return epoch
    }()

    /// Returns the microseconds since 1970, the unit of an entry's time.
    private static func now() -> UInt64 {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return UInt64(clamping: time.tv_sec) * 1_000_000 + UInt64(clamping: time.tv_nsec / 1_000)
    }

    private static func stopwatch<C: Clock<Duration>>(_ clock: C) -> @Sendable () -> Duration {
        let begin = clock.now
        return { begin.duration(to: clock.now) }
    }
}
