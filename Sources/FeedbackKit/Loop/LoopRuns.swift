// The beginning and the end of side effects.
extension LoopMachine {
    /// The origin of an event that a feedback emits now, within a run or outside of runs.
    @inlinable
    package func origin(of feedback: Int, within run: RunID? = nil, isApart: Bool = true) -> Origin {
        Origin(feedback: feedback, serial: serial, run: run?.rawValue ?? 0, isApart: isApart)
    }

    /// A side effect that may start.
    @usableFromInline
    package struct Opened: Sendable {
        @usableFromInline package let run: RunID
        @usableFromInline package let origin: Origin
        /// The effect of the same name that it replaces.
        @usableFromInline package let endings: [Ending]

        @inlinable
        init(run: RunID, origin: Origin, endings: [Ending]) {
            self.run = run
            self.origin = origin
            self.endings = endings
        }
    }

    /// The runs whose names have this hash value, for the caller to compare.
    @inlinable
    package func candidates(_ hash: Int) -> [(id: EffectID, run: RunID)] {
        guard let known = named[hash] else { return [] }
        return known.compactMap { run in runs[run]?.id.map { ($0, run) } }
    }

    /// Returns a Boolean value that indicates whether a run is another run or within it.
    @inlinable
    package func isWithin(_ run: RunID, _ outer: RunID) -> Bool {
        var next: RunID? = run
        while let run = next {
            if run == outer { return true }
            next = runs[run]?.outer
        }
        return false
    }

    /// Returns a Boolean value that indicates whether a run keeps another one of its name from starting.
    @inlinable
    package func holdsName(_ run: RunID) -> Bool {
        runs[run].map { !$0.isOver && !$0.isCancelled } ?? false
    }

    /// Opens a run for a side effect. Returns `nil` if the loop stops or the enclosing run is cancelled.
    ///
    /// - Parameter replaced: The previous run of its name.
    /// - Parameter endsPrevious: A Boolean value that indicates whether it replaces all running side effects of its
    ///   feedback.
    @inlinable
    package mutating func openRun(
        of feedback: Int, endsAtStop: Bool, id: EffectID? = nil, replacing replaced: RunID? = nil,
        endsPrevious: Bool = false, within outer: RunID? = nil, isGuard: Bool = false
    ) -> Opened? {
        guard phase == .running else { return nil }
        if let outer, runs[outer]?.isCancelled != false { return nil }
        var endings = endsPrevious ? replaceRuns(of: feedback, within: outer) : []
        if let replaced {
            cancel(replaced, into: &endings)
            if let known = runs[replaced]?.id { forgetName(known, of: replaced) }
        }
        let run = RunID(rawValue: nextRun)
        nextRun += 1
        var new = Run(feedback: feedback, endsAtStop: endsAtStop, id: id, outer: outer, isGuard: isGuard)
        if outer == nil, isObserved { new.isAnnounced = false }
        runs.append(new, as: run)
        if let id { named[id.hash, default: []].append(run) }
        if let outer {
            runs[outer]?.inner.append(run)
            runs[outer]?.pieces += 1
            if isGuard { runs[outer]?.guards += 1 }
        } else {
            openRuns += 1
            statuses[feedback].running.append(run)
            counters.effectsStarted += 1
        }
        return Opened(
            run: run, origin: origin(of: feedback, within: run, isApart: id != nil || outer != nil), endings: endings)
    }

    /// Notes that the observer knows of the start. Returns `true` if the side effect has been cancelled in the meantime: then
    /// the observer must be called for that, and ``noteTold(_:)`` after it.
    @inlinable
    package mutating func announce(_ run: RunID) -> Bool {
        guard runs[run]?.isOver == false else { return false }
        runs[run]?.isAnnounced = true
        guard isCancelled(run) else { return false }
        runs[run]?.pieces += 1
        return true
    }

    /// Notes that the observer knows of the cancellation.
    @inlinable
    package mutating func noteTold(_ run: RunID) -> Closed {
        var closed = Closed()
        endPiece(of: run, into: &closed)
        closed.names = takeForgottenNames()
        return closed
    }

    /// Cancels a run with the runs within it, and queues an event in its place, as if its feedback had emitted it at the
    /// start of the run. Returns `nil` for a run that has ended or is cancelled.
    @usableFromInline
    package mutating func expire(
        _ run: RunID, origin: Origin, event: Event, baggage: Baggage? = nil
    ) -> (sent: Sent, endings: [Ending])? {
        guard let known = runs[run], !known.isOver, !known.isCancelled else { return nil }
        var endings: [Ending] = []
        cancel(run, into: &endings)
        // The present serial: replacements in the meantime have spared this run.
        let origin = Origin(
            feedback: origin.feedback, serial: serial, run: known.outer?.rawValue ?? 0, isApart: known.outer != nil)
        // Under the policy that makes senders wait, it has a place beyond the limit, and waits there.
        return (
            sendWaiting(event, origin: origin, always: false, baggage: baggage, tell: { _ in }).sent, endings
        )
    }

    /// Returns a Boolean value that indicates whether a side effect is cancelled or has ended.
    @inlinable
    package func isCancelled(_ run: RunID) -> Bool {
        runs[run]?.isCancelled != false
    }

    /// Returns a Boolean value that indicates whether an effect goes on when a wait within it is over.
    @inlinable
    package func goesOn(after wait: RunID) -> Bool {
        phase == .running && !isCancelled(wait)
    }

    /// Whether anything but its own part, and those that only watch over it, keeps a run from being over.
    @inlinable
    package func hasInner(_ run: RunID) -> Bool {
        runs[run].map { $0.pieces > 1 + $0.guards } ?? false
    }

    /// Notes a fault of the loop or of a side effect. Returns `true` for the first fault and `false` for later ones. Returns
    /// `nil` if the loop has stopped or the side effect is cancelled, so that the fault does not count.
    @usableFromInline
    package mutating func note(_ fault: LoopFault, of run: RunID? = nil) -> Bool? {
        guard phase != .stopped else { return nil }
        if let run, isCancelled(run) { return nil }
        counters.faults += 1
        guard failure == nil else { return false }
        failure = Failure(fault)
        return true
    }

    /// Cancels a named effect.
    @inlinable
    package mutating func cancelRun(_ run: RunID) -> [Ending] {
        var endings: [Ending] = []
        cancel(run, into: &endings)
        return endings
    }

    /// Keeps the handle of a running side effect. Returns `true` if the effect was cancelled in the meantime: then the caller
    /// must end it.
    @inlinable
    package mutating func attach(_ handle: Handle, to run: RunID) -> Bool {
        guard runs[run]?.hasEnded == false else { return false }
        runs[run]?.handle = handle
        return isCancelled(run)
    }

    /// The consequences of the end of a side effect or of a part of one.
    @usableFromInline
    package struct Closed: Sendable {
        /// The effect that is over, if one is, and its feedback.
        @usableFromInline package var over: (run: RunID, feedback: Int)?
        /// Whether the loop has stopped with it. If it is observed, ``release()`` tells.
        @usableFromInline package var stopped = false
        /// The guards that end with it.
        @usableFromInline package var endings: [Ending] = []
        /// Not to be released under the lock.
        @usableFromInline package var handle: Handle?
        /// Not to be released under the lock.
        @usableFromInline package var names: [EffectID] = []

        @inlinable
        init() {}
    }

    /// A side effect's own part has ended. `nil`: that was known.
    @inlinable
    package mutating func closeRun(_ run: RunID) -> Closed? {
        guard runs[run]?.hasEnded == false else { return nil }
        var closed = Closed()
        runs[run]?.hasEnded = true
        if let handle = runs[run]?.handle {
            closed.handle = handle
            runs[run]?.handle = nil
        }
        endPiece(of: run, into: &closed)
        closed.names = takeForgottenNames()
        return closed
    }

    /// One thing less keeps a run from being over.
    @inlinable
    mutating func endPiece(of run: RunID, isGuard: Bool = false, into closed: inout Closed) {
        runs[run]?.pieces -= 1
        if isGuard { runs[run]?.guards -= 1 }
        guard let (pieces, guards) = runs[run].map({ ($0.pieces, $0.guards) }) else { return }
        if pieces > 0 {
            // The guards end with the last run that they watch over.
            guard pieces == guards else { return }
            for inner in runs[run]?.inner ?? [] where runs[inner]?.isGuard == true {
                cancel(inner, into: &closed.endings)
            }
            return
        }
        runs[run]?.isOver = true
        if let outer = runs[run]?.outer {
            endPiece(of: outer, isGuard: runs[run]?.isGuard == true, into: &closed)
        } else if let (feedback, isListed) = runs[run].map({ ($0.feedback, $0.isListed) }) {
            if !isListed {
                statuses[feedback].ending -= 1
            } else if let index = statuses[feedback].running.firstIndex(of: run) {
                statuses[feedback].running.remove(at: index)
            }
            closed.over = (run, feedback)
            if !isObserved {
                openRuns -= 1
                closed.stopped = settle()
            }
        }
        forget(run)
    }

    /// Delays the end of the loop until the observer has been called and ``release()`` follows.
    @inlinable
    package mutating func hold() {
        openRuns += 1
    }

    /// Ends a delay of ``hold()``. Returns `true` if the loop has stopped with it.
    @inlinable
    package mutating func release() -> Bool {
        openRuns -= 1
        return settle()
    }

    /// Forgets a run that is over, with all within it, and of which no event waits.
    @inlinable
    mutating func forget(_ run: RunID) {
        guard runs[run].map({ $0.isOver && $0.waiting <= 0 && $0.inner.isEmpty }) == true else { return }
        let (id, outer) = (runs[run]?.id, runs[run]?.outer)
        runs.remove(run)
        if let id {
            forgetName(id, of: run)
            forgottenNames.append(id)
        }
        if let outer {
            runs[outer]?.inner.removeAll { $0 == run }
            forget(outer)
        }
    }

    /// The run is no longer the one of its name.
    @inlinable
    mutating func forgetName(_ id: EffectID, of run: RunID) {
        guard let known = named[id.hash] else { return }
        let left = known.filter { $0 != run }
        named[id.hash] = left.isEmpty ? nil : left
    }
}
