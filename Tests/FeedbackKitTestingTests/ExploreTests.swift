import FeedbackKit
import FeedbackKitTesting
import Testing

/// An account whose balance and rate are loaded by two concurrent side effects.
private struct Account: Sendable, Equatable {
    var balance: Int?
    var converted: Int?
}

private enum Loaded: Sendable, Equatable {
    case balance(Int)
    case rate(Int)
}

/// The planted bug: the reducer assumes that the balance arrives before the rate.
private func reduceInOrder(_ account: inout Account, _ event: Loaded) -> Reduction {
    switch event {
    case .balance(let balance): account.balance = balance
    case .rate(let rate): account.converted = (account.balance ?? 0) * rate
    }
    return .handled
}

private func load(_ simulation: Simulation) -> Account {
    let feedback = Feedback<Account, Loaded>(name: "load", cancellation: .never) { _, event in
        guard event == nil else { return .nothing }
        return .all([
            .task {
                await Task.yield()
                return .balance(20)
            },
            .task {
                for _ in 0..<5 { await Task.yield() }
                return .rate(3)
            },
        ])
    }
    let loop = Loop(
        initial: Account(), feedbacks: [feedback], executor: simulation, clock: simulation.clock,
        reduce: reduceInOrder)
    loop.start()
    simulation.runToEnd()
    return loop.state
}

private struct WrongOrder: Error, CustomStringConvertible {
    let account: Account
    var description: String { "WrongOrder(\(account.converted ?? -1))" }
}

@Suite struct `Exploring seeds` {
    @Test func `finds a planted ordering bug among 1000 seeds and reports how to repeat it`() throws {
        let messages = failures {
            Simulation.explore(seeds: 0..<1000) { simulation in
                let account = load(simulation)
                if account.converted != 60 { throw WrongOrder(account: account) }
            }
        }
        let message = try #require(messages.first)
        #expect(messages.count == 1)
        let seed = try #require((0..<1000).first { load(Simulation(seed: $0)).converted != 60 })
        #expect(seed > 0, "most schedules hide the bug")
        let lines = message.split(separator: "\n")
        try #require(lines.count == 4)
        #expect(lines[0] == "seed \(seed) fails, after \(seed) that do not: it throws WrongOrder(0)")
        #expect(
            lines[1] == "run it again with Simulation(seed: \(seed)), or with explore(seeds: \(seed)..<\(seed + 1))")
        let others = (seed + 1...seed + 20).count { load(Simulation(seed: $0)).converted != 60 }
        #expect(lines[2] == "failures among the next 20 seeds: \(others)")
        // With one random choice less the bug hides.
        let choices = try #require((0...1000).first { load(Simulation(seed: seed, randomChoices: $0)).converted != 60 })
        #expect(lines[3].hasSuffix(" random choices are enough: Simulation(seed: \(seed), randomChoices: \(choices))"))
        #expect(load(Simulation(seed: seed, randomChoices: 0)).converted == 60)
        // The same seed shows the bug again, with the same schedule.
        let again = [Simulation(seed: seed), Simulation(seed: seed)]
        #expect(again.map { load($0).converted } == [0, 0])
        #expect(again[0].trace == again[1].trace)
        let repeated = failures {
            Simulation.explore(seeds: seed..<seed + 1) {
                if load($0).converted != 60 { throw WrongOrder(account: load($0)) }
            }
        }
        #expect(repeated.count == 1)
    }

    @Test func `takes expectations of Swift Testing for failures of the seed`() throws {
        let count = Log()
        let messages = failures {
            let seed = Simulation.explore(seeds: 5..<100) { simulation in
                count.add("run")
                #expect(simulation.seed < 8)
            }
            #expect(seed == 8)
        }
        // Four seeds up to the failing one, and twenty behind it.
        #expect(count.lines.count == 24)
        let message = try #require(messages.first)
        #expect(message.hasPrefix("seed 8 fails, after 3 that do not: Expectation failed"))
        #expect(message.contains("\nrun it again with Simulation(seed: 8), or with explore(seeds: 8..<9)\n"))
        #expect(message.hasSuffix("\nfailures among the next 20 seeds: 20"))
    }

    @Test func `takes this module's own expectations for failures of the seed`() {
        let messages = failures {
            Simulation.explore(seeds: 0..<10) { simulation in
                guard simulation.seed == 2 else { return }
                let store = TestStore<Int, Int>(initial: 0, in: simulation) { _, _ in .unhandled }
                store.start()
                store.send(1) { $0 = 1 }
                store.finish()
            }
        }
        #expect(messages.count == 1)
        #expect(
            messages.first?.contains(": 1 is not handled in 0; expected the new state 1\nrun it again with") == true)
        #expect(messages.first?.hasPrefix("seed 2 fails, after 2 that do not: FeedbackKitTestingTests/Expl") == true)
    }

    @Test func `explores async tests`() async {
        let messages = await failures {
            await Simulation.explore(seeds: 0..<50) { simulation in
                let account = try await simulation.perform { [simulation] in
                    try await simulation.clock.sleep(for: .seconds(1))
                    return simulation.seed
                }
                #expect(account < 7)
            }
        }
        #expect(messages.count == 1)
        #expect(messages.first?.hasPrefix("seed 7 fails, after 7 that do not: Expectation failed") == true)
    }

    @Test func `reports nothing if no seed fails, and leaves no task behind`() async {
        let log = Log()
        let messages = failures {
            let seed = Simulation.explore(seeds: 0..<20) { simulation in
                Task(executorPreference: simulation) {
                    try? await simulation.clock.sleep(for: .seconds(60))
                    log.add("ended")
                }
                simulation.runUntilIdle()
            }
            #expect(seed == nil)
        }
        #expect(messages.isEmpty)
        #expect(log.lines.count == 20)
    }
}
