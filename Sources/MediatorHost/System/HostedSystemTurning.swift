import CommonExpression
import FeedbackKit
import Logging
import MediatorConfiguration
import Synchronization

// The watch over the loop of a system, and the room in its mailbox.
extension HostedSystem {
    /// Checks whether the loop makes progress. A loop that is due to turn is asked for an answer, unless a question is
    /// outstanding. A loop without work is not asked, so it costs no activation.
    ///
    /// - Returns: The loop with its silence, and whether it runs on the shared pool. `nil` if the loop has made progress
    ///   or was not asked before.
    func look(deadline: Duration) -> (loop: LateLoop, isOnPool: Bool)? {
        let now = time.elapsed()
        let incarnation = incarnation
        let loop = incarnation.loop
        // A loop that has not started, is being cancelled or has stopped need not make progress.
        let isWatched = loop.isScheduled && (loop.phase == .running || loop.phase == .stopping)
        let sight = LoopWatch.Sight(
            incarnation: incarnation.number, turns: loop.turns,
            events: isWatched ? loop.counters.events : 0)
        lookAtRuns(at: now)
        let (asks, silence, isNews) = status.withLock { status -> (Bool, Duration, Bool) in
            guard isWatched, incarnation === status.incarnation else {
                _ = status.watch.settle()
                return (false, .zero, status.note(at: self.time.now()))
            }
            let (asks, silence) = status.watch.look(sight, at: now, deadline: deadline)
            return (asks, silence, false)
        }
        if isNews { healthChanged() }
        if asks { loop.afterPending { [weak self] in self?.turned(incarnation.number) } }
        guard silence > .zero else { return nil }
        return (
            LateLoop(
                system: definition.name, silence: silence, deadline: deadline, isBlocked: sight.turns % 2 == 1),
            incarnation.isOnPool
        )
    }

    func turned(_ number: UInt64) {
        let (late, isNews) = status.withLock { status in
            (status.watch.settle(number), status.note(at: time.now()))
        }
        guard let late else { return }
        if isNews { healthChanged() }
        logger.notice(
            "its loop turns again",
            metadata: .about(.loopTurns, ["after": "\(LateLoop.text(late.silence)) at least"]))
    }

    /// The text for a full mailbox.
    var fullness: String { "its mailbox is full (\(definition.mailbox.limit) events)" }

    /// Returns the text for a mailbox without room for an event.
    func fullness(for event: SystemEvent) -> String {
        event.size > 0 ? lackOfRoom : fullness
    }

    private var lackOfRoom: String {
        // If the own mailbox holds little, the other mailboxes fill the common room.
        guard room.waiting.count < room.waiting.limit / 2 || loop.waitingBytes >= ConfigurationLimits.mailboxBytes / 2
        else {
            return "what waits in all mailboxes holds \(ByteSize.text(of: max(0, room.waiting.count))) of data, of "
                + "\(ByteSize.text(of: room.waiting.limit)) that it may (mailboxes of limits)"
        }
        let most = "\(ConfigurationLimits.mailboxBytes >> 20) MiB"
        return "its mailbox has no room for so much (\(definition.mailbox.limit) events, or \(most) of data)"
    }

    /// Returns the back-pressure reason of a running system: a pause, a late loop or a lack of room. Returns `nil` if
    /// the system takes the event.
    ///
    /// - Parameter size: The number of bytes that count of the event's data.
    func reluctance(ofSize size: Int) -> String? {
        let (pause, late) = status.withLock { ($0.pause, $0.watch.late) }
        let mailbox = definition.mailbox
        let bytes = loop.waitingBytes
        var lack: String?
        if mailbox.overflow != .dropOldest {
            if loop.snapshot.waiting >= mailbox.limit {
                lack = fullness
            } else if size > 0, !room.mailbox.hasRoom(for: size, beside: bytes) {
                lack = lackOfRoom
            }
        }
        let reasons = [
            pause.map { "it is paused by \($0.by)" }, late?.reason,
            lack,
        ].compactMap { $0 }
        return reasons.isEmpty ? nil : reasons.joined(separator: "; ")
    }

    /// Notes that the loop is late. This is logged, and shown until the loop answers.
    func isLate(_ loop: LateLoop) {
        let (isFirst, isNews) = status.withLock { status in
            let now = time.now()
            let isFirst = status.watch.note(loop)
            if isFirst { status.lateSince = now }
            return (isFirst, status.note(at: now))
        }
        if isNews { healthChanged() }
        guard isFirst else { return }
        logger.error(
            loop.isBlocked ? "its loop is blocked" : "its loop does not turn, since no thread is free",
            metadata: .about(
                .loopBlocked,
                ["silence": "\(LateLoop.text(loop.silence))", "deadline": "\(LateLoop.text(loop.deadline))"]))
    }

    /// Asks the loop to prove that it makes progress, and calls `done` when it does.
    ///
    /// One question serves all callers that ask before the answer. Beyond ``mostProofs`` callers, the first is dropped
    /// and gets no call.
    func probe(_ done: @escaping @Sendable () -> Void) {
        let (isOutstanding, dropped) = status.withLock { status in
            let isOutstanding = !status.proofs.isEmpty
            status.proofs.append(done)
            return (isOutstanding, status.proofs.count > Self.mostProofs ? status.proofs.removeFirst() : nil)
        }
        withExtendedLifetime(dropped) {}
        guard !isOutstanding else { return }
        loop.afterPending { [weak self] in
            let proofs = self?.status.withLock { status in
                defer { status.proofs = [] }
                return status.proofs
            }
            for done in proofs ?? [] { done() }
        }
    }
}
