import CommonExpression
import FeedbackKit
import MediatorConfiguration
import MediatorHost
import Synchronization
import Testing

extension `Why a system is in its state` {
    /// Sends an event around a ring of systems, in which each state leads to the next. Returns the host, the number of
    /// states, and the number that is still alive when the ring rests.
    ///
    /// - Parameter most: how many links it may come over; nil: as many as it likes.
    private func goRound(
        _ size: Int, states: Int, hops: Int, most: Int? = nil
    ) async throws -> (fixture: CauseFixture, seen: Int, alive: Int) {
        let systems = (0..<size).map { number in
            let transitions = (0..<states).map {
                "  S\($0): { Go: { to: S\(($0 + 1) % states), set: { n: \"${event.n}\" } } }"
            }
            return """
                system: s\(number)
                states: { \((0..<states).map { "S\($0): { n: int }" }.joined(separator: ", ")) }
                events: { Go: { n: int } }
                fromOutside: any
                initialState: { S0: { n: \(hops) } }
                transitions:
                \(transitions.joined(separator: "\n"))
                """
        }
        let links = (0..<size).map { number in
            """
              up\(number): { attach: s\(number), to: b\(number), onState: any, when: state.n < \(hops), emitValue: "${state.n + 1}" }
              down\(number): { attach: s\((number + 1) % size), to: b\(number), emitEvent: { Go: { n: "${value}" } } }
            """
        }
        let buses = (0..<size).map { "  b\($0): { kind: passthrough, value: int }" }
        let fixture = try CauseFixture(
            (systems + [
                "buses:\n" + buses.joined(separator: "\n")
                    + "\nloop: { limit: 1000000 per 1s\(most.map { ", hops: \($0)" } ?? "") }\nlinks:\n"
                    + links.joined(separator: "\n")
            ]).joined(separator: "\n---\n"))
        let seen = Mutex<[WeakRecord]>([])
        let ended = AsyncStream<Void>.makeStream()
        let subscriptions = try (0..<size).map { number in
            try fixture.host.onStates(of: "s\(number)") { state in
                seen.withLock { $0.append(WeakRecord(record: state.record)) }
                // Two links lead from each state to the next.
                let last = most.map { $0 / 2 } ?? hops
                if case .structure(let data) = state.data, data.fields == [.int(Int64(last))], state.serial > 1 {
                    ended.continuation.finish()
                }
            }
        }
        fixture.host.start()
        try fixture.host.emit("Go", to: "s0", fields: [.int(0)])
        for await _ in ended.stream {}
        await fixture.settle()
        for subscription in subscriptions { subscription.cancel() }
        return seen.withLock { seen in (fixture, seen.count, seen.count { $0.record != nil }) }
    }

    @Test func `stays bounded in a ring that goes round a hundred thousand times`() async throws {
        let (fixture, seen, alive) = try await goRound(10, states: 1, hops: 100_000)
        #expect(seen > 100_000)
        // One chain, of which all that is kept is the near end, and the state of each system.
        #expect(alive <= Cause.longest + 10)
        let chain = try fixture.host.why("s3")
        #expect(chain.isCut)
        #expect((16..<64).contains(chain.hops.count { $0.kind == .state }))
        await fixture.host.stop(within: .seconds(1))
    }

    @Test(arguments: [400, 401])
    func `counts links beyond what is left of it`(most: Int) async throws {
        let (fixture, seen, _) = try await goRound(3, states: 2, hops: 1_000, most: most)
        // The three that each system begins in, and those to which an even number of links has led from outside, 0 among them.
        #expect(seen == 3 + 201)
        #expect(try fixture.host.why("s0").isCut)
        await fixture.host.stop(within: .seconds(1))
    }

    @Test func `what a system did of late keeps nothing alive that led to it`() async throws {
        // Ten different transitions in a row, so that none is a mere repetition of one of the last.
        let (fixture, _, alive) = try await goRound(3, states: 10, hops: 3_000)
        #expect(alive <= Cause.longest + 3)
        #expect(try fixture.host.trace("s0").count == 2 * Trace.capacity)
        await fixture.host.stop(within: .seconds(1))
    }

    @Test func `goes on behind a value that is shown anew, as far as it is kept`() async throws {
        let hops = 200
        func configuration(withLate: Bool) -> String {
            let pair = (0...1).map { number in
                """
                system: s\(number)
                states: { S: { n: int } }
                events: { Go: { n: int } }
                fromOutside: any
                initialState: { S: { n: \(hops) } }
                transitions: { S: { Go: { to: S, set: { n: "${event.n}" } } } }
                ---

                """
            }
            return pair.joined() + """
                buses:
                  b0: { kind: currentValue, value: int, initial: -1 }
                  b1: { kind: currentValue, value: int, initial: -1 }
                loop: { limit: 1000000 per 1s }
                links:
                  up0: { attach: s0, to: b0, onState: any, when: state.n < \(hops), emitValue: "${state.n + 1}" }
                  down0: { attach: s1, to: b0, when: value > 0, emitEvent: { Go: { n: "${value}" } } }
                  up1: { attach: s1, to: b1, onState: any, when: state.n < \(hops), emitValue: "${state.n + 1}" }
                  down1: { attach: s0, to: b1, when: value > 0, emitEvent: { Go: { n: "${value}" } } }

                """
                + (withLate
                    ? """
                      late: { attach: late, to: b1, emitEvent: { Told: { n: "${value}" } } }
                    ---
                    system: late
                    states: { Idle: {}, Known: { n: int } }
                    events: { Told: { n: int } }
                    initialState: Idle
                    transitions:
                      Idle: { Told: { to: Known, set: { n: "${event.n}" } } }
                      Known: { Told: stay }
                    """ : "")
        }
        let fixture = try CauseFixture(configuration(withLate: false))
        fixture.host.start()
        // It goes back and forth, so that the first has the even numbers.
        let changes = try fixture.host.watchSystem("s0")
        try fixture.host.emit("Go", to: "s0", fields: [.int(0)])
        for await change in changes {
            let numbers = change.subject.data.numbers
            if change.subject.serial > 1, numbers == [.int(Int64(hops))] { break }
        }
        await fixture.settle()
        try await fixture.apply(configuration(withLate: true))
        await fixture.settle()
        let chain = try fixture.host.why("late")
        #expect(chain.hops.prefix(4).map(\.kind) == [.state, .event, .link, .value])
        #expect(chain.hops.first?.data?.numbers == [.int(Int64(hops))] && chain.hops[3].isReplay)
        // The last value comes from the state before it, and each state before from the one before that.
        let numbers = chain.hops.filter { $0.kind == .state }.dropFirst().map { $0.data?.numbers ?? [] }
        #expect(numbers == (0..<numbers.count).map { [.int(Int64(hops - 1 - $0))] })
        #expect(chain.isCut && (15..<63).contains(numbers.count))
        await fixture.host.stop(within: .seconds(1))
    }

    @Test func `a chain is as long as the guide and the help of why say`() {
        #expect(Cause.longest - 1 == 63)
    }
}

extension Value {
    /// The fields of a structure.
    fileprivate var numbers: [Value] { if case .structure(let data) = self { data.fields } else { [] } }
}

private struct WeakRecord: Sendable { weak let record: StateRecord? }
