import CommonExpression
import FeedbackKit
import MediatorConfiguration
import Synchronization

/// A system whose loop has not turned within its deadline.
public struct LateLoop: Sendable, Hashable {
    /// The system.
    public let system: String
    /// For how long its loop has shown no progress.
    public let silence: Duration
    /// How long that may be.
    public let deadline: Duration
    /// Whether it is within a turn, and so keeps the thread from others; else it waits for a thread.
    public let isBlocked: Bool

    /// A system that is late.
    package init(system: String, silence: Duration, deadline: Duration, isBlocked: Bool) {
        self.system = system
        self.silence = silence
        self.deadline = deadline
        self.isBlocked = isBlocked
    }

    /// What is wrong, in words.
    public var reason: String {
        let deadline = Self.text(deadline)
        return isBlocked
            ? "its loop is blocked: what it does has not come to an end for \(Self.text(silence)), where \(deadline) are allowed"
            : "its loop does not turn: no thread has been free for \(Self.text(silence)), where \(deadline) are allowed"
    }

    /// A time in milliseconds and longer units.
    static func text(_ duration: Duration) -> String {
        let whole = duration - .nanoseconds(duration.components.attoseconds / 1_000_000_000 % 1_000_000)
        return TimeSpan(whole)?.brief ?? "\(whole)"
    }
}

/// Judges by what is seen of a loop whether it turns. It knows no clock: times are how long the host has run.
///
/// The loop is asked a question that it answers when it comes to the end of what waits. A loop that has much to do need
/// not come there: events taken and turns ended are progress too.
struct LoopWatch {
    /// What is seen of a loop at a time.
    struct Sight: Equatable {
        /// Which incarnation of the system it is.
        let incarnation: UInt64
        /// How many turns have begun and ended.
        let turns: UInt64
        /// How many events have been taken.
        let events: UInt64
    }

    private var sight: Sight?
    private var silence = Duration.zero
    /// When it was looked at last.
    private var lastLook = Duration.zero
    /// Whether it has been told that the loop is late, and not that it turns again.
    private(set) var late: LateLoop? { didSet { isLate = late != nil } }
    /// Whether it is late, for who asks at each event.
    private(set) var isLate = false

    /// Takes note of what is seen.
    ///
    /// - Parameter deadline: how long a silence may be. Of the time since the last look at most half of it counts, since
    ///   the machine may have slept.
    /// - Returns: whether the loop is to be asked; and how long it has shown no progress, if it has been asked before.
    mutating func look(_ new: Sight, at now: Duration, deadline: Duration) -> (asks: Bool, silence: Duration) {
        defer { lastLook = now }
        guard let old = sight, old.incarnation == new.incarnation else {
            sight = new
            silence = .zero
            return (true, .zero)
        }
        silence = old == new ? silence + min(now - lastLook, deadline / 2) : .zero
        sight = new
        return (false, silence)
    }

    /// Notes that the loop is late, unless it has answered meanwhile.
    ///
    /// - Returns: whether that is news.
    mutating func note(_ lateness: LateLoop) -> Bool {
        guard sight != nil else { return false }
        defer { late = lateness }
        return late == nil
    }

    /// The loop has answered, or is not to be watched.
    ///
    /// - Parameter incarnation: which one answers; nil: whichever.
    /// - Returns: as what it was known, if it was late.
    mutating func settle(_ incarnation: UInt64? = nil) -> LateLoop? {
        guard incarnation == nil || incarnation == sight?.incarnation else { return nil }
        defer { late = nil }
        sight = nil
        return late
    }
}

/// Notes when the turns of a loop begin and end.
final class TurnCount: Sendable {
    private let count = Atomic<UInt64>(0)

    /// How many turns have begun and ended: odd within a turn.
    var value: UInt64 { count.load(ordering: .relaxed) }

    /// Calls a turn.
    func callAsFunction(_ turn: () -> Void) {
        count.wrappingAdd(1, ordering: .relaxed)
        turn()
        count.wrappingAdd(1, ordering: .relaxed)
    }
}

/// An executor, which also notes when a loop turns.
struct CountingExecutor: LoopExecutor {
    let base: any LoopExecutor
    let turns: TurnCount

    var eventsPerTurn: Int { base.eventsPerTurn }
    var taskExecutor: (any TaskExecutor)? { base.taskExecutor }

    func enqueue(_ turn: @escaping @Sendable () -> Void) {
        base.enqueue { [turns] in turns(turn) }
    }
}

extension Host {
    /// How often loops are to be looked at: so that a lateness is noticed within a quarter of the shortest deadline.
    ///
    /// - Parameter deadline: that of systems without one of their own.
    public func watchPeriod(deadline: Duration) -> Duration {
        let own = current.systems.compactMap { $0.definition.watchdog?.swiftDuration }
        return max((own + [deadline]).min() ?? deadline, .milliseconds(100)) / 4
    }

    /// Looks whether every loop turns: asks each, if it has answered the last question, to answer when it next comes to
    /// the end of what waits for it, and returns at once. A system that has shown no progress for its deadline, no event
    /// taken and no turn ended, is `failed` until it does; that and its end are logged.
    ///
    /// One that only waits for a thread, while another has blocked one of the same pool for as long, is not late: that one
    /// is, when its own deadline has passed.
    ///
    /// - Parameter deadline: that of systems without one of their own.
    /// - Returns: those that are late now, in the order of their names.
    public func lookAtLoops(deadline: Duration) -> [LateLoop] {
        let systems = machine.withLock { $0.set.systems + $0.retiring }
        let silent = systems.compactMap { system in
            system.look(deadline: system.definition.watchdog?.swiftDuration ?? deadline).map { (system, $0) }
        }
        let blocked = silent.filter { $0.1.loop.isBlocked }.map(\.1)
        let late = silent.filter { _, sight in
            sight.loop.silence >= sight.loop.deadline
                && (sight.loop.isBlocked
                    || !blocked.contains {
                        $0.isOnPool == sight.isOnPool && $0.loop.silence >= sight.loop.silence
                    })
        }
        for (system, sight) in late { system.isLate(sight.loop) }
        return late.map(\.1.loop).sorted { $0.system < $1.system }
    }
}
