import Glibc
import MediatorConfiguration
import Testing

/// How many times as many are tried: what `SOAK_FACTOR` says, else once.
private let soakFactor = getenv("SOAK_FACTOR").flatMap { Int(String(cString: $0)) } ?? 1

/// Random small configurations, beside everything that they can do.
@Suite struct `Loops of random configurations` {
    /// How often something was so.
    private struct Tally {
        var endless = 0
        var reported = 0
        var clear = 0
        /// Of those that were reported, how many were tried out in vain; by whether every event also comes from outside.
        var unrealised: [Bool: Int] = [:]
    }

    /// How many configurations are made of one seed.
    private static let each = 10

    @Test func `are all found, and little else is`() async {
        var tallies: [Tally] = []
        for seed in 0..<UInt64(12 * soakFactor) {
            tallies.append(Self.tally(seed))
            // Other tests wait for the threads too.
            await Task.yield()
        }
        func sum(_ count: (Tally) -> Int) -> Int { tallies.reduce(0) { $0 + count($1) } }
        let (reported, open) = (sum(\.reported), sum { $0.unrealised[true, default: 0] })
        // The figures that the notes on the search give: how much of what is reported is none.
        print(
            "\(sum(\.endless)) endless, \(sum(\.clear)) clear, \(reported) reported, of which not found to be endless:",
            "\(open) of open systems, \(sum { $0.unrealised[false, default: 0] }) of others")
        #expect(sum(\.endless) > 20)
        #expect(sum(\.clear) > 20)
        #expect(open * 10 <= reported)
    }

    private static func tally(_ seed: UInt64) -> Tally {
        var tally = Tally()
        var random = Random(state: seed)
        for number in 0..<each {
            // Two systems, three, or one that needs several events to come round.
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
