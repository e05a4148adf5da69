import FeedbackKit
import Testing

/// After random sequences of states, exactly the effects run that the rules require.
@Suite struct TypedPropertyTests {
    struct Seeded: RandomNumberGenerator {
        var state: UInt64
        mutating func next() -> UInt64 {
            // SplitMix64.
            state &+= 0x9E37_79B9_7F4A_7C15
            var z = state
            z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
            z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
            return z ^ (z >> 31)
        }
    }

    /// Returns the labels of the running effects according to a log, and the number of starts of each.
    private static func running(_ log: [String]) -> [String: Int] {
        var running: [String: Int] = [:]
        for line in log {
            let words = line.split(separator: " ")
            running[String(words[1]), default: 0] += words[0] == "start" ? 1 : -1
        }
        return running.filter { $0.value != 0 }
    }

    @Test(arguments: 0..<50 as Range<UInt64>)
    func `the effects that run are those the last states ask for`(_ seed: UInt64) {
        var random = Seeded(state: seed)
        let probes = (0..<4).map { _ in TypedProbe<Set<Int>>() }
        let loop = system(
            initial: Set<Int>(), reduce: { (state: inout Set<Int>, new: Set<Int>) in state = new },
            feedbacks: [
                Feedback(skippingRepeated: { $0.min() }) { probes[0].effect($0) },
                Feedback(predicate: { $0.count > 1 }) { probes[1].effect($0.reduce(0, +)) },
                Feedback(firstValueAfterNil: { $0.max() }) { probes[2].effect($0) },
                .react(requests: { $0 }) { probes[3].effect($0) },
            ], executor: .sendersThread
        ).makeLoop()
        loop.start()
        var first: Int?
        var sum: Int?
        var starts = (min: 0, predicate: 0, first: 0, react: 0)
        var before: Set<Int> = []
        for _ in 0..<30 {
            let new = Set(
                (0..<Int.random(in: 0...3, using: &random)).map { _ in Int.random(in: 0..<5, using: &random) })
            loop.send(new)
            if new.min() != nil, new.min() != before.min() { starts.min += 1 }
            if new.count > 1, before.count <= 1 { starts.predicate += 1 }
            if !new.isEmpty, before.isEmpty { starts.first += 1 }
            starts.react += new.subtracting(before).count
            first = new.max() == nil ? nil : first ?? new.max()
            sum = new.count > 1 ? sum ?? new.reduce(0, +) : nil
            before = new
            #expect(Self.running(probes[0].log) == Self.expected(new.min().map { [$0] } ?? []))
            #expect(Self.running(probes[1].log) == Self.expected(sum.map { [$0] } ?? []))
            #expect(Self.running(probes[2].log) == Self.expected(first.map { [$0] } ?? []))
            #expect(Self.running(probes[3].log) == Self.expected(new))
            #expect(
                loop.snapshot.feedbacks.map(\.running) == [
                    new.isEmpty ? 0 : 1, sum == nil ? 0 : 1, first == nil ? 0 : 1, new.count,
                ])
        }
        let counts = probes.map { $0.log.count { $0.hasPrefix("start") } }
        #expect(counts == [starts.min, starts.predicate, starts.first, starts.react])
        loop.cancel()
        for probe in probes { #expect(Self.running(probe.log).isEmpty) }
        #expect(loop.phase == .stopped)
    }

    private static func expected(_ labels: Set<Int>) -> [String: Int] {
        Dictionary(uniqueKeysWithValues: labels.map { ("\($0)", 1) })
    }
}
