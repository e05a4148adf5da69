import FeedbackKit
import FeedbackKitTesting
import TestSupport
import Testing

/// A simple model of a loop that holds transitions.
private struct Model {
    private enum Item {
        case event(Int), due, exchange
    }

    private(set) var log: [String] = ["show []"]
    private(set) var state: [Int] = []
    private(set) var phase = LoopPhase.running
    private(set) var isPaused = false
    private(set) var held: Int?
    private var items: [Item] = []

    mutating func carryOut(_ step: Holding.Step) {
        switch step {
        case .send(let event): if phase == .running { items.append(.event(event)) }
        case .sendFirst(let event): if phase == .running { items.insert(.event(event), at: 0) }
        case .mark: log.append("mark")
        case .due: if phase == .stopped { log.append("not due") } else { items.append(.due) }
        case .exchange: if phase == .stopped { log.append("no exchange") } else { items.append(.exchange) }
        case .pause: if phase == .running { isPaused = true }
        case .resume: isPaused = false
        case .complete:
            if let event = held { enter(event) }
            held = nil
        case .stop:
            guard phase == .running else { return }
            if isPaused { discard() }
            phase = .stopping
        case .cancel:
            guard phase != .stopped else { return }
            discard()
            held = nil
            phase = .stopping
        case .watch, .awaitExchange: return
        }
        goOn()
    }

    private mutating func enter(_ event: Int) {
        state.append(event)
        log.append("show \(state)")
    }

    private mutating func discard() {
        isPaused = false
        for item in items {
            switch item {
            case .event: break
            case .due: log.append("not due")
            case .exchange: log.append("no exchange")
            }
        }
        items = []
    }

    /// Takes the items that need not wait.
    private mutating func goOn() {
        while held == nil, let index = isPaused ? items.firstIndex(where: Self.isExchange) : items.indices.first {
            switch items.remove(at: index) {
            case .event(let event):
                log.append("take \(event)")
                if event < 10 { held = event } else { enter(event) }
            case .due: log.append("due")
            case .exchange: log.append("exchange \(state)")
            }
        }
        if phase == .stopping, held == nil, items.isEmpty {
            phase = .stopped
            log.append("stopped")
        }
    }

    private static func isExchange(_ item: Item) -> Bool {
        if case .exchange = item { true } else { false }
    }
}

@Suite(.timeLimit(.minutes(20))) struct `A loop that holds transitions again and again` {
    init() { Traveller.departIfWanted() }

    private static func randomStep(_ random: inout SplitMix64) -> Holding.Step {
        let event = Int.random(in: 5..<15, using: &random)
        return switch Int.random(in: 0..<100, using: &random) {
        case ..<35: .send(event)
        case ..<40: .sendFirst(event)
        case ..<45: .mark
        case ..<50: .due
        case ..<55: .exchange
        case ..<65: .pause
        case ..<75: .resume
        case ..<97: .complete
        case ..<99: .stop
        default: .cancel
        }
    }

    @Test func `does what the model does`() {
        for seed in 0..<UInt64(repetitions(500) * soakFactor) {
            var random = SplitMix64(seed: seed)
            var model = Model()
            let observer = TransitionLog()
            let holding = Holding(observer: seed.isMultiple(of: 2) ? nil : observer)
            holding.loop.start()
            var steps: [Holding.Step] = []
            for _ in 0..<60 {
                let step = Self.randomStep(&random)
                steps.append(step)
                holding.carryOut(step)
                model.carryOut(step)
                let loop = holding.loop
                guard loop.state == model.state, loop.phase == model.phase, loop.isPaused == model.isPaused,
                    loop.holdsTransition == (model.held != nil)
                else { break }
            }
            #expect(holding.log.all == model.log, "seed \(seed): \(steps)")
            #expect(holding.loop.state == model.state && holding.loop.phase == model.phase, "seed \(seed): \(steps)")
            holding.loop.cancel()
        }
    }

    @Test func `loses and turns round nothing while other threads complete, send and pause`() async {
        let holding = Holding(executor: .sharedPool) { !$0.isMultiple(of: 3) }
        let (loop, desk) = (holding.loop, holding.desk)
        loop.start()
        let (senders, count) = (4, repetitions(300))
        let completing = Task { await desk.completeAll() }
        await withTaskGroup(of: Void.self) { group in
            for sender in 0..<senders {
                group.addTask {
                    for number in 0..<count {
                        loop.send(sender * count + number)
                        // The senders take turns; no condition depends on it.
                        if number % 16 == 0 { await Task.yield() }
                    }
                }
            }
            group.addTask {
                for _ in 0..<100 {
                    // Other tasks send while the loop is paused. No condition depends on it.
                    loop.pause()
                    await Task.yield()
                    loop.resume()
                    await Task.yield()
                }
            }
        }
        await suspend(while: loop.state.count < senders * count)
        let state = loop.state
        #expect(state.count == senders * count)
        for sender in 0..<senders {
            let own = state.filter { $0 / count == sender }
            #expect(own == own.sorted())
        }
        // Each event is taken only when the state of the one before has been shown.
        let log = holding.log.all.dropFirst()
        #expect(log.enumerated().allSatisfy { $0.element.hasPrefix($0.offset.isMultiple(of: 2) ? "take" : "show") })
        await loop.stop()
        desk.end()
        await completing.value
    }

    @Test func `takes every accepted event before a gentle stop ends`() async {
        for _ in 0..<repetitions(50) {
            let holding = Holding(executor: .sharedPool) { !$0.isMultiple(of: 3) }
            let (loop, desk) = (holding.loop, holding.desk)
            loop.start()
            let completing = Task { await desk.completeAll() }
            let accepted = Counter()
            await withTaskGroup(of: Void.self) { group in
                for _ in 0..<3 {
                    group.addTask {
                        for number in 0..<30 {
                            if loop.send(number) == .accepted { accepted.add(1) }
                            // The stop comes among the sends; no condition depends on it.
                            await Task.yield()
                        }
                    }
                }
                group.addTask {
                    await suspend(while: loop.state.count < 5)
                    await loop.stop(within: .seconds(3_600))
                }
            }
            #expect(loop.phase == .stopped && loop.state.count == accepted.value)
            desk.end()
            await completing.value
        }
    }
}
