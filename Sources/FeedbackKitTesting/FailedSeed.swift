/// A seed for which a test fails: how many seeds behind it fail, too, and how few of its random choices are enough.
///
/// The number of choices is found by bisection, so it is the smallest one only if fewer choices never fail again.
package struct FailedSeed {
    /// The maximum number of seeds behind it that are tried.
    package static let maximumOthers: UInt64 = 20
    /// The maximum number of runs with fewer random choices.
    package static let maximumTries = 20

    package let seed: UInt64
    private let seeds: Range<UInt64>
    private let message: String
    private var failingOthers = 0
    private var tries = 0
    /// With this number of choices the test fails.
    private var failing: Int
    /// With this number of choices the test does not fail; -1 before the first try.
    private var passing = -1
    private let choices: Int

    /// - Parameters:
    ///   - message: The first failure.
    ///   - choices: The number of random choices in the run.
    package init(_ seed: UInt64, among seeds: Range<UInt64>, message: String, choices: Int) {
        self.seed = seed
        self.seeds = seeds
        self.message = message
        self.choices = choices
        failing = choices
    }

    /// The seeds behind it to be tried.
    package var others: Range<UInt64> { seed + 1..<max(seed + 1, min(seeds.upperBound, seed + 1 + Self.maximumOthers)) }

    /// Counts another seed that fails.
    package mutating func noteOther() { failingOthers += 1 }

    /// The next number of random choices to try; `nil` at the end of the search.
    package var nextTry: Int? {
        guard passing < failing - 1, tries < Self.maximumTries else { return nil }
        // Many failures need no random choice at all.
        return passing < 0 ? 0 : passing + (failing - passing) / 2
    }

    /// Takes the result of a try with ``nextTry`` random choices.
    package mutating func note(fails: Bool) {
        guard let count = nextTry else { return }
        tries += 1
        if fails { failing = count } else { passing = count }
    }

    /// The report.
    package var text: String {
        var lines = [
            "seed \(seed) fails, after \(seed - seeds.lowerBound) that do not: \(message)",
            "run it again with Simulation(seed: \(seed)), or with explore(seeds: \(seed)..<\(seed + 1))",
        ]
        if !others.isEmpty { lines.append("failures among the next \(others.count) seeds: \(failingOthers)") }
        if choices > 0 {
            lines.append(
                "its first \(failing) of \(choices) random choices are enough: "
                    + "Simulation(seed: \(seed), randomChoices: \(failing))")
        }
        return lines.joined(separator: "\n")
    }
}
