import CommonExpression
import FeedbackKit
import MediatorConfiguration
import Synchronization

/// The gate between the reducer and the loop of a persisted system. It belongs to one incarnation. A new state passes it when
/// the journal has the state.
///
/// Until then the loop holds the transition, and the old state stays visible to everybody. These things happen when the reducer
/// decides:
///
/// - The request that sent the event gets its log line, because that line describes the event and not the state.
/// - The size of the state is accounted for, because a state that exceeds the limit is refused.
/// - The count of waiting resets goes down, because the reset no longer waits.
///
/// All other reports of the reducer wait for the completion:
///
/// - The end of a reset, with the failure that it ends.
/// - The end of conditions by the new state.
/// - The faults of rules beside a new state. Supervision must not treat them before the state is visible.
///
/// An incarnation that is cancelled in between loses the transition with its reports, as if it had not taken the event.
final class CommitGate: Sendable {
    private struct Machine {
        /// The number of the incarnation in the host, or 0 before the start.
        var incarnation: UInt32 = 0
        var phase = HostChange.running
        /// A Boolean value that indicates whether the start of the loop waits for the journal.
        var isStarting = false
        /// A Boolean value that indicates whether a reload has removed the part.
        var isRemoved = false
        /// The state that the journal got last, or had before the start.
        var last: StoredState?
        /// The last states and values that the system has heard, by the names of the links.
        var heard: [String: SavedDetails.Heard] = [:]
        /// The entry of ``heard`` that the current event of the loop has replaced.
        var replaced: (link: String, heard: SavedDetails.Heard?)?
        /// The same for the event whose transition the loop holds. The visible state has not heard that event.
        var heldBack: (link: String, heard: SavedDetails.Heard?)?
        /// The links whose receivers have heard the state in which the system goes on, and the number of that state.
        var skips: (links: Set<ObjectIdentifier>, serial: UInt64)?
        /// The reports of the reducer that wait for the completion.
        var reports: [ReportBox.Report] = []
        /// The time since which the incarnation waits for the journal.
        var waits: Wait?
        /// A Boolean value that indicates whether the gate has reported the current wait to the system.
        var isWaitTold = false

        /// Everything that a change consists of, except the state.
        var mark: Mark { Mark(incarnation: incarnation, phase: phase, isRemoved: isRemoved) }
    }

    private struct Mark: Equatable {
        let incarnation: UInt32
        let phase: UInt8
        let isRemoved: Bool
    }

    /// A wait for the journal.
    struct Wait: Sendable {
        /// The beginning of the wait, by the clock of the host.
        let start: Duration
        /// The beginning of the wait, by the calendar.
        let since: Timestamp
    }

    private let name: String
    private let journal: HostJournal
    private let box: ReportBox
    private let time: HostTime
    private let machine = Mutex(Machine())
    private let loop = Latest<Faint<Loop<SystemState, SystemEvent>>?>(nil)
    /// A box that keeps the reports of the reducer.
    private let kept: ReportBox
    /// The number of the incarnation in its system.
    private let number: UInt64

    /// - Parameters:
    ///   - box: The receiver of the reports.
    ///   - number: The number of the incarnation in its system.
    init(of name: String, number: UInt64, journal: HostJournal, reportingTo box: ReportBox, time: HostTime) {
        self.name = name
        self.number = number
        self.journal = journal
        self.box = box
        self.time = time
        kept = ReportBox(now: time.now)
        kept.hasConditionOfState.store(true, ordering: .relaxed)
        let gate = Faint(self)
        kept.connect({ gate.object?.keep($0) }, entered: { _, _, _ in })
    }

    /// The reports of the reducer, which the gate keeps for as long as needed.
    var reports: Reports { kept.reports(of: number) }

    /// Sets the loop. Called once, before its start.
    func attach(_ loop: Loop<SystemState, SystemEvent>) { self.loop.become(Faint(loop)) }

    // MARK: The loop

    /// Notes what the system hears with an event. The reducer calls it first.
    func hear(_ event: SystemEvent) {
        let new = event.heard
        machine.withLock { machine in
            machine.replaced = new.map { ($0.link, machine.heard.updateValue($0.1, forKey: $0.link)) }
        }
    }

    /// Lets the outcome of the reducer pass, with the state after the event. A new state goes to the journal first.
    ///
    /// - Returns: The outcome for the loop.
    func pass(_ state: SystemState, on event: SystemEvent, _ reduction: Reduction) -> Reduction {
        switch reduction {
        case .handled, .updated: return commit(state, on: event, reduction)
        case .stay, .unhandled:
            tellReports()
            return reduction
        }
    }

    /// Keeps a report of the reducer.
    private func keep(_ report: ReportBox.Report) {
        if case .wasReset(let number) = report { box.tell(.tookReset(number)) }
        machine.withLock { $0.reports.append(report) }
    }

    /// Passes on the reports that the gate has kept, before the loop enters the state.
    func tellReports() {
        let reports = machine.withLock { machine in
            defer { machine.reports = [] }
            return machine.reports
        }
        for report in reports {
            if case .wasReset(let number) = report { box.tell(.hasReset(number)) } else { box.tell(report) }
        }
    }

    /// Hands a new state to the journal. The loop stays in the old one until then.
    private func commit(_ state: SystemState, on event: SystemEvent, _ reduction: Reduction) -> Reduction {
        guard let (mark, new) = change(to: state) else {
            tellReports()
            return reduction
        }
        // A loop that has been cancelled loses the transition. The next incarnation stores its own state.
        guard let loop = loop.now?.object, loop.hold() else { return .stay }
        machine.withLock { $0.heldBack = $0.replaced }
        beginWait()
        write(new, mark) { [weak self] in
            guard let self else { return }
            endWait()
            let heldBack = machine.withLock { machine in
                defer { machine.heldBack = nil }
                return machine.heldBack
            }
            let loop = self.loop.now?.object
            let isCompleted = loop?.complete(state, on: event, isUpdate: reduction == .updated) ?? false
            // A loop that was cancelled during the commit has lost the transition, and takes no other event.
            if !isCompleted { machine.withLock { $0.heldBack = heldBack } }
        }
        return .stay
    }

    /// Notes a state as the last one, and returns the mark of its change, or `nil` if the journal needs no change.
    private func change(to state: SystemState) -> (mark: Mark, state: StoredState)? {
        let (change, before) = machine.withLock { machine -> ((Mark, StoredState)?, StoredState?) in
            let new = StoredState(state, heard: machine.heard)
            guard !machine.isRemoved, machine.last.map({ !$0.isEqual(to: new) }) ?? true else { return (nil, nil) }
            // The earlier state leaves the lock before its release.
            let before = machine.last
            machine.last = new
            return ((machine.mark, new), before)
        }
        withExtendedLifetime(before) {}
        return change
    }

    /// Writes a state. If the phase changes at the same time, writes the state in the new phase, too.
    private func write(_ state: StoredState, _ mark: Mark, done: @escaping @Sendable () -> Void = {}) {
        journal.write(
            HostChange(
                part: .system, name: name, incarnation: mark.incarnation, phase: mark.phase,
                content: { mark.isRemoved ? nil : state.content })
        ) { if $0 { done() } }
        let (now, last) = machine.withLock { ($0.mark, $0.last) }
        if now != mark, let last { write(last, now) }
    }

    // MARK: Life

    /// Notes the state in which the system goes on. Called before the start.
    func goesOn(in state: SystemState, _ part: SavedParts.Part) {
        machine.withLock { machine in
            machine.heard = part.details.heard
            if part.isStored { machine.last = StoredState(state, heard: machine.heard) }
        }
    }

    /// Notes what the system has heard before. Called before the start.
    func goesOn(hearing heard: [String: SavedDetails.Heard]) { machine.withLock { $0.heard = heard } }

    /// The last states and values that the system has heard, by the names of the links.
    var heard: [String: SavedDetails.Heard] { machine.withLock { $0.heard } }

    /// The last states and values that the visible state has heard. An event whose transition the loop holds is not among them.
    var heardByState: [String: SavedDetails.Heard] {
        machine.withLock { machine in
            guard let (link, heard) = machine.heldBack else { return machine.heard }
            var before = machine.heard
            before[link] = heard
            return before
        }
    }

    /// Forgets what the system has heard over other links than these.
    func forget(except links: Set<String>) {
        machine.withLock { machine in machine.heard = machine.heard.filter { links.contains($0.key) } }
    }

    /// Sets the links that need not show the state of a number, because their receivers have heard it.
    func skip(_ links: Set<ObjectIdentifier>, at serial: UInt64) { machine.withLock { $0.skips = (links, serial) } }

    /// Returns the links that need not show a state. Only the first state after the start has some.
    func takeSkips(at state: SystemState) -> Set<ObjectIdentifier> {
        let skips = machine.withLock { machine in
            defer { machine.skips = nil }
            return machine.skips
        }
        return skips.map { $0.serial == state.record.visitNumber ? $0.links : [] } ?? []
    }

    /// Gives the incarnation its number in the host. Called when it becomes the running one, under the lock of the system: two
    /// incarnations of a system have their numbers in their order.
    func count() {
        let number = journal.nextIncarnation()
        machine.withLock { ($0.incarnation, $0.isStarting) = (number, true) }
    }

    /// A Boolean value that indicates whether the start of the loop waits for the journal.
    var isStarting: Bool { machine.withLock { $0.isStarting } }

    /// Notes that the loop starts now.
    func starts() { machine.withLock { $0.isStarting = false } }

    /// Hands the first state to the journal, unless the journal has it.
    ///
    /// - Parameter start: A function that starts the loop, when the journal has the state.
    func begin(in state: SystemState, start: @escaping @Sendable () -> Void) {
        guard let (mark, first) = change(to: state) else { return start() }
        beginWait()
        write(first, mark) { [weak self] in
            self?.endWait()
            start()
        }
    }

    /// Hands the state of an exchange to the journal, unless the state is the same.
    ///
    /// The loop does not wait, because the exchange shows the state at once. If the process ends before the commit, the next
    /// life comes to the same state again: it exchanges the earlier state in the same way.
    func exchange(to state: SystemState) {
        if let (mark, new) = change(to: state) { write(new, mark) }
    }

    /// Notes that the next life must not go on in the state, because the incarnation ends.
    func end() { turn { $0.phase = HostChange.ended } }

    /// Removes the part. The incarnation stores nothing more.
    func remove() { turn { $0.isRemoved = true } }

    private func turn(_ change: (inout Machine) -> Void) {
        let (mark, last) = machine.withLock { machine -> (Mark, StoredState?) in
            let before = machine.mark
            change(&machine)
            // An incarnation that has not started has stored nothing. The last one has noted its own end.
            return (machine.mark, machine.incarnation == 0 || before == machine.mark ? nil : machine.last)
        }
        if let last { write(last, mark) }
    }

    // MARK: Waiting

    private func beginWait() {
        let wait = Wait(start: time.elapsed(), since: time.now())
        machine.withLock { $0.waits = wait }
    }

    private func endWait() {
        let isTold = machine.withLock { machine in
            defer { (machine.waits, machine.isWaitTold) = (nil, false) }
            return machine.isWaitTold
        }
        if isTold { box.tell(.ends(.stored, unless: [], of: number)) }
    }

    /// The present wait for the journal, if any.
    var wait: Wait? { machine.withLock { $0.waits } }

    /// Records that the system gets a report of a wait. Returns `false` if the wait has ended.
    func tells(_ wait: Wait) -> Bool {
        machine.withLock { machine in
            guard machine.waits?.start == wait.start else { return false }
            machine.isWaitTold = true
            return true
        }
    }
}

/// The observer of a persisted system: the reports of a reducer come before the state to which they belong.
struct GateObserver: LoopObserver {
    let gate: CommitGate
    let base: SystemObserver

    func loopDidStart(with state: SystemState) { base.loopDidStart(with: state) }

    func loopDidTransition(from old: SystemState, to new: SystemState, on event: SystemEvent) {
        gate.tellReports()
        base.loopDidTransition(from: old, to: new, on: event)
    }

    func loopDidUpdate(from old: SystemState, to new: SystemState, on event: SystemEvent) {
        gate.tellReports()
        base.loopDidUpdate(from: old, to: new, on: event)
    }

    func loopDidNotHandle(_ event: SystemEvent, in state: SystemState) { base.loopDidNotHandle(event, in: state) }

    func loopDidDrop(_ event: SystemEvent, because reason: DropReason) { base.loopDidDrop(event, because: reason) }

    func loopDidFault(_ fault: LoopFault) { base.loopDidFault(fault) }

    func loopDidStop(with state: SystemState) { base.loopDidStop(with: state) }
}
