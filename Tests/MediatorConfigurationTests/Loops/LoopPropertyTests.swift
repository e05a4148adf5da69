import MediatorConfiguration
import Testing
import TestSupport

/// Compares the search with everything that small random configurations can do.
@Suite struct `Loops of random configurations` {
    /// The numbers of configurations.
    private struct Tally {
        var endless = 0
        var reported = 0
        var clear = 0
        /// The number of reported configurations in which the explorer found no loop; by whether every event also comes
        /// from outside.
        var unrealised: [Bool: Int] = [:]
    }

    /// The number of configurations of one seed.
    private static let each = 10

    @Test func `are all found, and little else is`() async {
        var tallies: [Tally] = []
        for seed in 0..<UInt64(6 * soakFactor) {
            tallies.append(Self.tally(seed))
            // Other tests need the threads, too.
            await Task.yield()
        }
        func sum(_ count: (Tally) -> Int) -> Int { tallies.reduce(0) { $0 + count($1) } }
        let reported = sum(\.reported)
        let (open, others) = (sum { $0.unrealised[true, default: 0] }, sum { $0.unrealised[false, default: 0] })
        // Documentation/Explanation/ArchitectureConfiguration.md has these figures for SOAK_FACTOR=16.
        print(
            "\(sum(\.endless)) endless, \(sum(\.clear)) clear, \(reported) reported, of which not found to be endless:",
            "\(open) of open systems, \(others) of others")
        #expect(sum(\.endless) > 10)
        #expect(sum(\.clear) > 10)
        // The search follows possible circles and does not count events, so some reported circles end by themselves.
        // With SOAK_FACTOR=16, 8% of the reports are of open systems and need no limit, and 15% are of others. Others have
        // more: an event that only links send may never come. The bounds leave room for the few configurations of one run.
        #expect(open * 10 <= reported)
        #expect(others * 5 <= reported)
    }

    private static func tally(_ seed: UInt64) -> Tally {
        var tally = Tally()
        var random = Random(state: seed)
        for number in 0..<each {
            // Two systems, three, or one that needs several events to come back.
            let shape = [(2, 3, 4), (2, 3, 4), (3, 2, 2), (1, 4, 6), (1, 5, 6)][number % 5]
            let isOpen = number < 5
            let model = LoopModel(systems: shape.0, states: shape.1, isOpen: isOpen, using: &random)
            let result = compile(model.text)
            #expect(
                result.diagnostics.allSatisfy { $0.severity != .error || [.loop, .feedbackLoop].contains($0.code) },
                "\(model.text)")
            let isReported = result.diagnostics.contains { $0.code == .loop }
            var explorer = LoopExplorer(model, limit: shape.2, largest: 4_000)
            let isEndless = explorer.findsEndlessChain()
            #expect(isReported || !isEndless, "\(model.text)")
            if isEndless { tally.endless += 1 }
            if isReported { tally.reported += 1 } else { tally.clear += 1 }
            if isReported, !isEndless, !explorer.isCut {
                tally.unrealised[isOpen, default: 0] += 1
            }
        }
        return tally
    }
}
