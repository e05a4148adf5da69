import CommonExpression
import FeedbackKitTesting
import MediatorConfiguration
import MediatorHost
import Testing

/// Random lives of a persisted system. At every point, its link and its side effects show the last completed state.
@Suite(.timeLimit(.minutes(20))) struct `A persisted system in a random life` {
    @Test(arguments: UInt64(1)...60) func `shows only what the journal has, and the journal has its last state`(
        seed: UInt64
    ) async throws {
        var dice = Dice(state: seed)
        let text = PersistedFixture.counter.replacing("limit: 3", with: "limit: 1000")
        let fixture = try PersistedFixture(text)
        let journal = fixture.journal
        // The number that the link and the side effects must show. The initial value of the bus comes before.
        var shown = "-1"
        var completed: Set<String> = []
        var isPaused = false
        func complete(refused: Bool) {
            guard let entry = journal.complete(refused: refused) else { return }
            let number = String(entry.text.dropFirst("Count ".count))
            completed.insert(number)
            // A change of an earlier incarnation, or of a phase, comes too late for its state.
            if entry.incarnation == journal.incarnation(of: "counter"), entry.phase == HostChange.running {
                shown = number
            }
        }
        for step in 0..<60 {
            switch Int.random(in: 0..<12, using: &dice) {
            case 0..<4: try fixture.add(Int64.random(in: 0...1, using: &dice))
            case 4..<8: complete(refused: false)
            case 8: complete(refused: true)
            case 9:
                if isPaused {
                    try fixture.host.resume("counter")
                    isPaused = false
                } else {
                    isPaused = try fixture.host.pause("counter", by: 0, named: "root")
                }
            case 10: try fixture.host.reset("counter")
            default:
                try await fixture.host.restart("counter")
                isPaused = false
            }
            await fixture.settle()
            #expect(try fixture.value(of: "seen") == shown, "seed \(seed), step \(step)")
            #expect(Set(fixture.notes).isSubset(of: completed), "seed \(seed), step \(step)")
        }
        if isPaused { try fixture.host.resume("counter") }
        journal.completeAll()
        await fixture.settle()
        let last = try #require(journal.lastGiven("counter"))
        #expect(try fixture.state("counter") == last.text && fixture.value(of: "seen") == last.text.dropFirst(6))
        #expect(last.phase == HostChange.running)
        await fixture.host.stop(within: .zero)
    }
}
