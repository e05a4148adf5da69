import Testing

/// A model of a loop with an inbox, of senders and of the turns on two threads. Each step is one access to shared data, in
/// the order of `LoopCore.deliverUnlocked`, `wakeIfInactive`, `turn` and `lookAgain`.
private struct InboxModel: Hashable {
    /// The omission of one look, which must lose an event in some order.
    enum Omission: Hashable {
        case none
        /// A sender does not look once more whether a turn runs.
        case ofSender
        /// A turn that ends does not look into the inbox.
        case ofTurn
    }

    /// The next step of a thread.
    enum Step: Hashable {
        /// A sender reads whether a turn runs.
        case begin
        case push
        case lookAgain
        case tryLock
        case lockToWake
        /// A thread of the pool takes a requested activation.
        case takeActivation
        case lockForTurn
        case next
        case reduce
        case lockAfterReduce
        case noLongerActive
        case lookIntoInbox
    }

    /// The items that each sender has yet to send, and the next one.
    var left: [Int]
    var sent: [Int]
    var inbox: [Int] = []
    var mailbox: [Int] = []
    var isActive = false
    var isTurning = false
    var isLocked = false
    /// The number of requested activations that no thread has taken.
    var requested = 0
    var running = 0
    /// The event that the turn reduces.
    var taken: Int?
    var done: [Int] = []
    var steps: [Step]
    let omission: Omission

    init(senders: [Int], omission: Omission = .none) {
        left = senders
        sent = senders.map { _ in 0 }
        steps = senders.map { _ in .begin } + [.takeActivation, .takeActivation]
        self.omission = omission
    }

    /// The item of a sender, as one number.
    private func item(_ sender: Int) -> Int { 10 * sender + sent[sender] }

    private mutating func isSent(_ sender: Int) {
        left[sender] -= 1
        sent[sender] += 1
        steps[sender] = .begin
    }

    private mutating func receive() {
        mailbox += inbox
        inbox = []
    }

    private mutating func wake() -> Bool {
        guard !isTurning else { return false }
        isTurning = true
        return true
    }

    /// The models after the next step of a thread. Only the attempt to take the lock has two outcomes.
    func next(_ thread: Int) -> [InboxModel] {
        var model = self
        switch steps[thread] {
        case .begin:
            guard left[thread] > 0 else { return [] }
            model.steps[thread] = isActive ? .push : .tryLock
        case .push:
            model.inbox.append(item(thread))
            if omission == .ofSender { model.isSent(thread) } else { model.steps[thread] = .lookAgain }
        case .lookAgain:
            if isActive { model.isSent(thread) } else { model.steps[thread] = .lockToWake }
        case .lockToWake:
            guard !isLocked else { return [] }
            model.receive()
            if !model.mailbox.isEmpty, model.wake() { model.requested += 1 }
            model.isSent(thread)
        case .tryLock:
            // An attempt may fail although nobody holds the lock any more.
            var failed = self
            failed.steps[thread] = .push
            guard !isLocked else { return [failed] }
            model.receive()
            model.mailbox.append(item(thread))
            if model.wake() { model.requested += 1 }
            model.isSent(thread)
            return [failed, model]
        case .takeActivation:
            guard requested > 0 else { return [] }
            model.requested -= 1
            model.running += 1
            model.steps[thread] = .lockForTurn
        case .lockForTurn:
            guard !isLocked else { return [] }
            model.isLocked = true
            model.isActive = true
            model.steps[thread] = .next
        case .next:
            if mailbox.isEmpty {
                model.isTurning = false
                model.steps[thread] = .noLongerActive
            } else {
                model.taken = model.mailbox.removeFirst()
                model.isLocked = false
                model.steps[thread] = .reduce
            }
        case .reduce:
            if let taken { model.done.append(taken) }
            model.taken = nil
            model.steps[thread] = .lockAfterReduce
        case .lockAfterReduce:
            guard !isLocked else { return [] }
            model.isLocked = true
            model.steps[thread] = .next
        case .noLongerActive:
            model.isActive = false
            model.steps[thread] = .lookIntoInbox
        case .lookIntoInbox:
            if inbox.isEmpty || omission == .ofTurn {
                model.isLocked = false
                model.running -= 1
                model.steps[thread] = .takeActivation
            } else {
                model.receive()
                _ = model.wake()
                model.isActive = true
                model.steps[thread] = .next
            }
        }
        return [model]
    }

    /// The number of reachable models, the most turns at one time, and the models in which no thread has a step.
    func explored() -> (count: Int, turns: Int, ends: [InboxModel]) {
        var seen: Set<InboxModel> = [self]
        var open = [self]
        var ends: [InboxModel] = []
        var turns = 0
        while let model = open.popLast() {
            turns = max(turns, model.running + model.requested)
            let following = model.steps.indices.flatMap(model.next)
            if following.isEmpty { ends.append(model) }
            for next in following where seen.insert(next).inserted { open.append(next) }
        }
        return (seen.count, turns, ends)
    }
}

@Suite(.timeLimit(.minutes(20))) struct `The inbox of a loop` {
    @Test(arguments: [[1], [2], [1, 1], [2, 1], [2, 2], [1, 1, 1]])
    func `in every order of steps, each event is taken once, in the order of its sender, by one turn at a time`(
        senders: [Int]
    ) {
        let (count, turns, ends) = InboxModel(senders: senders).explored()
        #expect(count > 10 && turns == 1 && !ends.isEmpty)
        for end in ends {
            for (sender, number) in senders.enumerated() {
                #expect(end.done.filter { $0 / 10 == sender } == (0..<number).map { 10 * sender + $0 })
            }
            #expect(end.done.count == senders.reduce(0, +) && !end.isTurning && !end.isActive && !end.isLocked)
        }
    }

    /// Proves that the test above can fail.
    @Test(arguments: [false, true]) func `without one of its looks an event stays in some order`(isOfTurn: Bool) {
        let (_, _, ends) = InboxModel(senders: [1, 1], omission: isOfTurn ? .ofTurn : .ofSender).explored()
        #expect(ends.contains { !$0.inbox.isEmpty })
    }
}
