import DequeModule
import Synchronization

// The exchange of what a running loop does: other feedbacks and another state, between two events.

/// The parts of a loop after an exchange.
@usableFromInline
package struct LoopExchange<State: Sendable, Event: Sendable>: Sendable {
    /// A feedback after the exchange.
    package enum Part: Sendable {
        /// A feedback that stays, with its running side effects. It does not see the state again.
        ///
        /// - Parameters:
        ///   - slot: The slot of the feedback before.
        ///   - by: The feedback that sees later states in its place.
        case kept(slot: Int, by: Feedback<State, Event>)
        /// A new feedback. It sees the state of the exchange, if `seesState`, and every later one.
        case new(Feedback<State, Event>, seesState: Bool)
    }

    /// The state from now on. The exchange is no transition.
    package var state: State
    /// The feedbacks from now on, in the order in which they see each state. Others are removed.
    package var parts: [Part]
    /// The slots of feedbacks, removed now or before, whose side effects may finish. Those of others are cancelled.
    package var finishing: Set<Int>
    /// A Boolean value that indicates whether watchers see the state.
    package var isNews = false
    /// The limit of the mailbox, at least 1. Events beyond it that wait already stay.
    package var limit: Int
    package var overflow: Overflow
    /// Called on the turn before the new feedbacks see the state, with the slots of `parts`.
    package var willShow: @Sendable ([Int]) -> Void
    /// Called on the turn when they have seen it.
    package var didShow: @Sendable () -> Void

    /// An exchange of the given parts.
    package init(
        state: State, parts: [Part], finishing: Set<Int> = [], limit: Int, overflow: Overflow,
        willShow: @escaping @Sendable ([Int]) -> Void = { _ in }, didShow: @escaping @Sendable () -> Void = {}
    ) {
        precondition(limit >= 1, "a mailbox needs room for at least one event, not \(limit)")
        self.state = state
        self.parts = parts
        self.finishing = finishing
        self.limit = limit
        self.overflow = overflow
        self.willShow = willShow
        self.didShow = didShow
    }
}

extension Loop {
    /// Takes no more events until an exchange that must follow. All waiting events meet the new state. Each call is for one
    /// exchange.
    package func awaitExchange() {
        core.guarded.withLock { $0.machine.awaitExchange() }
    }

    /// Exchanges what the loop does between two events: behind those sent before, and before all later ones. A loop that is
    /// paused, or awaits the exchange, does it at once, and its waiting events meet the new state.
    ///
    /// - Parameters:
    ///   - make: Returns the parts for the present state. It is called on the loop's turn.
    ///   - ended: Called instead of `make`, on any thread, if the loop ends before.
    package func exchange(
        _ make: @escaping @Sendable (State) -> LoopExchange<State, Event>, ended: @escaping @Sendable () -> Void
    ) {
        core.exchange(LoopMachine.Exchanging(make: make, ended: ended))
    }
}

extension LoopCore {
    func exchange(_ exchanging: Machine.Exchanging) {
        guard let needsTurn = withMailbox({ $0.machine.addExchange(exchanging) }) else { return exchanging.ended() }
        if needsTurn { schedule() }
    }

    /// Exchanges the parts, and returns the new state.
    @usableFromInline
    func exchange(_ exchanging: Machine.Exchanging, in state: State, _ observer: Observer?) -> State {
        let new = exchanging.make(state)
        let exchanged = guarded.withLock { $0.machine.exchange(new) }
        end(exchanged.endings, observer)
        new.willShow(exchanged.slots)
        if new.isNews {
            for watcher in exchanged.watchers where !watcher.hasLeft.load(ordering: .acquiring) {
                watcher.see(new.state)
            }
        }
        if exchanged.isPaused {
            showLater(exchanged.seeing, observer)
        } else {
            for member in exchanged.seeing { show(new.state, nil, to: member, observer) }
        }
        new.didShow()
        return new.state
    }

    /// Shows the state to new feedbacks when a paused loop goes on, before it takes an event.
    private func showLater(_ members: [Machine.Member], _ observer: Observer?) {
        guard !members.isEmpty else { return }
        let due = Machine.Due(
            body: {
                let (state, present) = self.guarded.withLock { ($0.machine.state, $0.machine.feedbacks) }
                for member in members where present.contains(where: { $0 === member }) {
                    self.show(state, nil, to: member, observer)
                }
                return nil
            }, ended: {})
        guarded.withLock { $0.machine.hold(due) }
    }
}

extension LoopMachine {
    /// An exchange that waits for its turn.
    @usableFromInline
    package struct Exchanging: Sendable {
        @usableFromInline let make: @Sendable (State) -> LoopExchange<State, Event>
        /// Called in its stead if the loop ends before.
        @usableFromInline let ended: @Sendable () -> Void
    }

    /// Queues an exchange. Returns whether a turn must be scheduled, or `nil` if the loop has been cancelled or has
    /// stopped.
    mutating func addExchange(_ exchanging: Exchanging) -> Bool? {
        switch phase {
        case .cancelling, .stopped: return nil
        case .notStarted, .running, .stopping:
            mailbox.append(.control(.exchange(exchanging)))
            return wake()
        }
    }

    /// Takes no events until the exchange.
    mutating func awaitExchange() {
        guard phase == .notStarted || phase == .running else { return }
        awaitedExchanges += 1
        held = held ?? []
    }

    /// The consequences of an exchange.
    struct Exchanged {
        var endings: [Ending] = []
        /// The slots of the parts.
        var slots: [Int] = []
        /// The new feedbacks that see the state.
        var seeing: [Member] = []
        var watchers: [Watcher] = []
        var isPaused = false
        /// Not to be released under the lock.
        var released: (state: State, members: [Member])
    }

    /// Exchanges the parts.
    ///
    /// - Complexity: O(n^2) for n feedbacks.
    mutating func exchange(_ new: LoopExchange<State, Event>) -> Exchanged {
        var exchanged = Exchanged(released: (state, feedbacks + leaving))
        state = new.state
        (limit, overflow) = (new.limit, new.overflow)
        let kept = Set(
            new.parts.compactMap { part in
                if case .kept(let slot, _) = part { slot } else { nil }
            })
        // Later states are another matter than those whose side effects end here.
        serial += 1
        let removed = leaving + feedbacks.filter { !kept.contains($0.slot) }
        keepEvents(of: Set(removed.map(\.slot).filter { !new.finishing.contains($0) || !isAtWork($0) }))
        for member in removed where !new.finishing.contains(member.slot) {
            for run in statuses[member.slot].running { cancel(run, withdraws: false, into: &exchanged.endings) }
            for run in statuses[member.slot].running { runs[run]?.isListed = false }
            statuses[member.slot].validFrom = serial
            statuses[member.slot].ending += Int32(truncatingIfNeeded: statuses[member.slot].running.count)
            statuses[member.slot].running = []
        }
        leaving = removed.filter { isAtWork($0.slot) }
        feedbacks = []
        let withMail = slotsWithMail
        for part in new.parts {
            switch part {
            case .kept(let slot, let feedback):
                guard let member = Member(feedback, slot: slot) else { continue }
                feedbacks.append(member)
            case .new(let feedback, let seesState):
                guard let member = makeMember(feedback, slot: vacantSlot(besides: kept.union(withMail))) else {
                    continue
                }
                statuses[member.slot].validFrom = serial
                feedbacks.append(member)
                if seesState { exchanged.seeing.append(member) }
            }
        }
        exchanged.slots = feedbacks.map(\.slot)
        (exchanged.watchers, exchanged.isPaused) = (watchers, isPaused)
        if awaitedExchanges > 0 { awaitedExchanges -= 1 }
        takeEvents()
        return exchanged
    }

    /// Holds something back until a paused loop goes on, before all events that wait.
    mutating func hold(_ due: Due) {
        if held != nil { held?.prepend(.control(.due(due))) } else { mailbox.prepend(.control(.due(due))) }
    }

    /// The slots with events that wait.
    private var slotsWithMail: Set<Int> {
        Set(
            ((held ?? []) + mailbox).compactMap { item in
                switch item {
                case .event(_, let origin), .control(.letter(_, let origin, _)): origin?.feedback
                case .control: nil
                }
            })
    }

    /// Separates the waiting events of feedbacks from their sources, because accepted events count. An event that
    /// has been withdrawn stays so.
    private mutating func keepEvents(of slots: Set<Int>) {
        guard !slots.isEmpty else { return }
        func isKept(_ origin: Origin, _ machine: LoopMachine) -> Bool {
            guard slots.contains(origin.feedback) else { return false }
            let status = machine.statuses[origin.feedback]
            return !(status.isBoundToState && origin.serial < status.validFrom)
                && machine.runs[RunID(rawValue: origin.run)]?.isWithdrawn != true
        }
        func freed(_ item: Item, _ machine: inout LoopMachine) -> Item {
            switch item {
            case .event(let event, let origin?) where isKept(origin, machine):
                machine.noteTaken(origin)
                return .event(event, nil)
            case .control(.letter(let event, let origin?, let letter)) where isKept(origin, machine):
                machine.noteTaken(origin)
                return .control(.letter(event, nil, letter))
            default: return item
            }
        }
        for index in mailbox.indices { mailbox[index] = freed(mailbox[index], &self) }
        var items = held
        for index in items?.indices ?? 0..<0 {
            if let item = items?[index] { items?[index] = freed(item, &self) }
        }
        held = items
    }

    /// Returns whether side effects of a slot run or end.
    private func isAtWork(_ slot: Int) -> Bool { !statuses[slot].running.isEmpty || statuses[slot].ending > 0 }

    /// A slot without a feedback, or the next one.
    private func vacantSlot(besides kept: Set<Int>) -> Int {
        let taken = kept.union((feedbacks + leaving).map(\.slot))
        return statuses.indices.first { !taken.contains($0) } ?? statuses.count
    }

    /// The feedback of a slot, also of one whose last side effects end.
    @usableFromInline
    func member(ofSlot slot: Int) -> Member? {
        if feedbacks.indices.contains(slot), feedbacks[slot].slot == slot { return feedbacks[slot] }
        return feedbacks.first { $0.slot == slot } ?? leaving.first { $0.slot == slot }
    }
}
