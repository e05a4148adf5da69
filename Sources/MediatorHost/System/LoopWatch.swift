import CommonExpression
import FeedbackKit
import Logging
import MediatorConfiguration
import Synchronization

/// A system whose loop has made no progress within its deadline.
public struct LateLoop: Sendable, Hashable {
    /// The name of the system.
    public let system: String
    /// The time for which the loop has shown no progress.
    public let silence: Duration
    /// The limit for that time.
    public let deadline: Duration
    /// A Boolean value that indicates whether an activation of the loop occupies a thread. If not, the loop waits for a
    /// thread.
    public let isBlocked: Bool

    /// Creates the description of a late loop.
    package init(system: String, silence: Duration, deadline: Duration, isBlocked: Bool) {
        self.system = system
        self.silence = silence
        self.deadline = deadline
        self.isBlocked = isBlocked
    }

    /// The description of the lateness, in words.
    public var reason: String {
        let deadline = Self.text(deadline)
        return isBlocked
            ? "its loop is blocked: what it does has not come to an end for \(Self.text(silence)), where \(deadline) are allowed"
            : "its loop does not turn: no thread has been free for \(Self.text(silence)), where \(deadline) are allowed"
    }

    /// Returns a time in milliseconds and longer units.
    static func text(_ duration: Duration) -> String {
        let whole = duration - .nanoseconds(duration.components.attoseconds / 1_000_000_000 % 1_000_000)
        return TimeSpan(whole)?.brief ?? "\(whole)"
    }
}

/// A state machine that judges from observations whether a loop makes progress. It has no clock. All times count from
/// the start of the host.
///
/// The host asks a loop with work a question, which the loop answers at the end of its waiting events. A busy loop may
/// not reach that end, so taken events and ended activations are progress too.
package struct LoopWatch {
    /// An observation of a loop at one time.
    package struct Sight: Equatable {
        /// The number of the system's incarnation.
        let incarnation: UInt64
        /// The number of beginnings and ends of activations.
        let turns: UInt64
        /// The number of taken events.
        let events: UInt64

        /// An observation with these numbers.
        package init(incarnation: UInt64, turns: UInt64, events: UInt64) {
            (self.incarnation, self.turns, self.events) = (incarnation, turns, events)
        }
    }

    /// A watch that has observed nothing.
    package init() {}

    private var sight: Sight?
    private var silence = Duration.zero
    /// The time of the last observation.
    private var lastLook = Duration.zero
    /// The noted lateness, until the loop answers.
    package private(set) var late: LateLoop? { didSet { isLate = late != nil } }
    /// A Boolean value that indicates whether the loop is late. It is read at each event.
    private(set) var isLate = false

    /// Notes an observation.
    ///
    /// - Parameter deadline: The limit for a silence. Of the time since the last look, at most half of this limit
    ///   counts, because the machine may have slept.
    /// - Returns: A Boolean value that indicates whether to ask the loop, and the silence of a loop that was asked before.
    package mutating func look(_ new: Sight, at now: Duration, deadline: Duration) -> (asks: Bool, silence: Duration) {
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

    /// Notes that the loop is late, unless it has answered since.
    ///
    /// - Returns: `true` if the loop was not late before.
    package mutating func note(_ lateness: LateLoop) -> Bool {
        guard sight != nil else { return false }
        defer { late = lateness }
        return late == nil
    }

    /// Notes that the loop has answered or need not be watched.
    ///
    /// - Parameter incarnation: The incarnation that answers, or `nil` for any.
    /// - Returns: The noted lateness, if the loop was late.
    package mutating func settle(_ incarnation: UInt64? = nil) -> LateLoop? {
        guard incarnation == nil || incarnation == sight?.incarnation else { return nil }
        defer { late = nil }
        sight = nil
        return late
    }
}

/// A state machine that judges from observations whether waits end when they are due. It has no clock. All times count from the
/// start of the host.
///
/// The host puts a question into the queue of waits, which is answered as a wait ends. So the answer needs all that any wait needs:
/// the queue, its timer, and a thread for tasks.
package struct WaitWatch {
    private var isAsked = false
    private var silence = Duration.zero
    /// The time of the last observation.
    private var lastLook = Duration.zero
    /// A Boolean value that indicates whether the last question was not answered within the deadline.
    private var isLate = false

    /// A watch that has asked nothing.
    package init() {}

    /// Notes an observation.
    ///
    /// - Parameter deadline: The limit on the time to an answer. Of the time since the last look, at most half of this limit
    ///   counts, because the machine may have slept.
    /// - Returns: A Boolean value that indicates whether to ask, the time without an answer if that is at least the deadline, and
    ///   whether it was less at the last look.
    package mutating func look(
        at now: Duration, deadline: Duration
    ) -> (asks: Bool, lateness: Duration?, isNews: Bool) {
        defer { lastLook = now }
        guard isAsked else {
            (isAsked, silence) = (true, .zero)
            return (true, nil, false)
        }
        silence += min(now - lastLook, deadline / 2)
        guard silence >= deadline else { return (false, nil, false) }
        defer { isLate = true }
        return (false, silence, !isLate)
    }

    /// Notes the answer. Returns a Boolean value that indicates whether it was late.
    package mutating func answer() -> Bool {
        defer { (isAsked, isLate) = (false, false) }
        return isLate
    }
}

extension Host {
    /// Returns the period for ``lookAtLoops(deadline:)``: a quarter of the shortest deadline, from 25 ms to 10 s.
    ///
    /// - Parameter deadline: The deadline of systems without their own.
    public func watchPeriod(deadline: Duration) -> Duration {
        let own = current.systems.compactMap { $0.definition.watchdog?.swiftDuration }
        // A look counts at most so much of the time for which side effects run.
        return min(max((own + [deadline]).min() ?? deadline, .milliseconds(100)) / 4, RunBook.longestStep)
    }

    /// Checks whether every loop makes progress, and returns at once.
    ///
    /// Each loop that runs or is due to run is asked a question, if it has answered the last one. It answers at the end of
    /// its waiting events. A system that has taken no event and ended no activation for its deadline is `failed` until its
    /// loop answers. Both changes are logged.
    ///
    /// A loop that waits for a thread is not late if another loop has blocked a thread of the same pool for as long. The
    /// other loop is late after its own deadline.
    ///
    /// - Parameter deadline: The deadline of systems without their own.
    /// - Returns: The late systems, sorted by name.
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

    /// Checks whether waits end when they are due, and returns at once.
    ///
    /// They do not if no thread for tasks is free, for example because side effects of the program's own block in place of waiting.
    /// Then no side effect goes on, and systems without work wait in vain, though no loop is late. Both changes are logged.
    ///
    /// - Parameter deadline: The limit.
    /// - Returns: The time for which a wait has been due that does not end, if that is at least the limit.
    public func lookAtWaits(deadline: Duration) -> Duration? {
        let now = time.elapsed()
        let (asks, lateness, isNews) = waitWatch.withLock { $0.look(at: now, deadline: deadline) }
        if asks { _ = time.call(at: now) { [weak self] in self?.waitsEnd() } }
        if isNews, let lateness {
            logger.error(
                "waits do not end, since no thread is free",
                metadata: .about(
                    .waitsLate,
                    ["silence": "\(LateLoop.text(lateness))", "deadline": "\(LateLoop.text(deadline))"]))
        }
        return lateness
    }

    private func waitsEnd() {
        guard waitWatch.withLock({ $0.answer() }) else { return }
        logger.notice("waits end again", metadata: .about(.waitsEnd))
    }

    /// A Boolean value that indicates whether no loop runs or is due to run.
    package var isIdle: Bool { current.systems.allSatisfy { !$0.loop.isScheduled } }
}
