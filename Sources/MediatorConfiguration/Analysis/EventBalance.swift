/// Whether events that cause each other can go on for ever, by counting them.
///
/// Each step uses up an event, moves a system from one state to another, and makes events. In a run without end some steps
/// happen again and again. Taken as often as they do in the long run, they make at least as many events of each sort as they
/// use up, and leave each state as often as they enter it. That is a system of linear inequalities; if only zeros solve it,
/// no run is without end, however many events there are at first and in whatever order they are taken. (For Petri nets:
/// T. Murata, "Petri nets: Properties, analysis and applications", 1989, on structural repetitiveness.)
///
/// Whether there is another solution is found by the simplex method (G. Dantzig) in floating point. That there is none is
/// believed only with a proof, which is checked in whole numbers: a weight for each event and state such that every step
/// makes the sum of the weights less, or leaves it as it is.
struct EventBalance {
    /// What happens at once.
    struct Step {
        /// The sort of event that is used up; nil: none is needed.
        var uses: Int?
        /// The sorts of events that are made.
        var makes: [Int]
        /// The state that is left, and the one that is entered, by numbers that are different for each system; nil: none is.
        var move: (from: Int, to: Int)?
        /// Whether it counts: steps that do not may well go on for ever, as long as those that do end.
        var counts: Bool
    }

    /// What it comes to.
    enum Verdict {
        /// No step that counts happens for ever.
        case ends
        /// These may, by their indices.
        case goesOn([Int])
        /// It was given up.
        case undecided
    }

    /// The most numbers of a table.
    private static let largestTable = 4_000_000
    /// How many numbers are computed at the most.
    private static let longestWork = 100_000_000
    /// What counts as zero.
    private static let epsilon = 1e-9
    /// After so many pivots the rule that never goes in circles takes over (R. Bland, 1977).
    private static let hastyPivots = 2_000

    private let steps: [Step]
    /// By row, which are events and then states, the steps with the number of times they use it up.
    private var rows: [[(step: Int, factor: Int64)]] = []

    /// - Parameters:
    ///   - steps: The steps that there are.
    init(_ steps: [Step]) {
        self.steps = steps
        var events: [Int: Int] = [:]
        var states: [Int: Int] = [:]
        func row(_ key: Int, _ table: inout [Int: Int]) -> Int {
            if let known = table[key] { return known }
            table[key] = rows.count
            rows.append([])
            return rows.count - 1
        }
        for (index, step) in steps.enumerated() {
            var factors: [Int: Int64] = [:]
            if let event = step.uses { factors[row(event, &events), default: 0] += 1 }
            for event in step.makes { factors[row(event, &events), default: 0] -= 1 }
            if let move = step.move, move.from != move.to {
                factors[row(move.from, &states), default: 0] += 1
                factors[row(move.to, &states), default: 0] -= 1
            }
            for (row, factor) in factors where factor != 0 { rows[row].append((index, factor)) }
        }
    }

    /// Decides it.
    func verdict() -> Verdict {
        guard steps.contains(where: \.counts) else { return .ends }
        guard (rows.count + 1) * steps.count <= Self.largestTable else { return .undecided }
        // If every step makes the sum of the weights less, which is so as a rule, that need not be exact to be proved.
        let all = solved(steps.map { $0.uses == nil ? 0 : 1 })
        if let all, isProof(all.weights) { return .ends }
        if let all, let going = going(all) { return .goesOn(going) }
        guard let table = solved(steps.map { $0.counts ? 1 : 0 }) else { return .undecided }
        if isProof(table.weights) { return .ends }
        return going(table).map { .goesOn($0) } ?? .undecided
    }

    /// The steps of a solution, if it is more than a disturbance and one that counts is among them.
    private func going(_ table: Solved) -> [Int]? {
        guard table.value > 0.5 else { return nil }
        let going = table.solution.indices.filter { table.solution[$0] > 1e-4 }
        return going.contains { steps[$0].counts } ? going : nil
    }

    // The simplex method

    private struct Solved {
        var value: Double
        /// By step, how often it happens.
        var solution: [Double]
        /// By row, its weight.
        var weights: [Double]
    }

    /// Makes a sum of steps as large as possible, up to 1. Nil if that takes too long.
    ///
    /// - Parameter factors: by step, how much it adds to the sum.
    private func solved(_ factors: [Double]) -> Solved? {
        let (height, width) = (rows.count + 1, steps.count)
        // The last row limits the sum.
        var table = Array(repeating: 0.0, count: height * width)
        for (row, entries) in rows.enumerated() {
            for entry in entries { table[row * width + entry.step] = Double(entry.factor) }
        }
        var costs = factors
        for (step, cost) in costs.enumerated() { table[(height - 1) * width + step] = cost }
        var limits = (0..<height).map(Self.disturbance)
        limits[height - 1] = 1
        // Variables: the steps, then what is left over in each row.
        var columns = Array(0..<width)
        var bases = Array(width..<(width + height))
        var value = 0.0
        var work = 0
        var pivots = 0
        while let entering = Self.entering(costs, columns, isHasty: pivots < Self.hastyPivots) {
            var leaving: Int?
            for row in 0..<height where table[row * width + entering] > Self.epsilon {
                guard let best = leaving else {
                    leaving = row
                    continue
                }
                let ratio = limits[row] / table[row * width + entering]
                let least = limits[best] / table[best * width + entering]
                if ratio < least - Self.epsilon || (ratio < least + Self.epsilon && bases[row] < bases[best]) {
                    leaving = row
                }
            }
            // The sum is limited, so there is one, but for errors of rounding.
            guard let leaving else { return nil }
            let filled = (0..<width).filter { table[leaving * width + $0] != 0 && $0 != entering }
            let pivot = table[leaving * width + entering]
            for column in filled { table[leaving * width + column] /= pivot }
            table[leaving * width + entering] = 1 / pivot
            limits[leaving] /= pivot
            for row in 0..<height where row != leaving {
                let factor = table[row * width + entering]
                guard factor != 0 else { continue }
                for column in filled {
                    let entry = table[row * width + column] - factor * table[leaving * width + column]
                    table[row * width + column] = abs(entry) < Self.epsilon ? 0 : entry
                }
                table[row * width + entering] = -factor / pivot
                limits[row] -= factor * limits[leaving]
                work += filled.count
            }
            let cost = costs[entering]
            for column in filled { costs[column] -= cost * table[leaving * width + column] }
            costs[entering] = -cost / pivot
            value += cost * limits[leaving]
            (columns[entering], bases[leaving]) = (bases[leaving], columns[entering])
            pivots += 1
            work += height + width
            guard work < Self.longestWork else { return nil }
        }
        var solution = Array(repeating: 0.0, count: width)
        for (row, variable) in bases.enumerated() where variable < width { solution[variable] = limits[row] }
        var weights = Array(repeating: 0.0, count: height)
        for (column, variable) in columns.enumerated() where variable >= width {
            weights[variable - width] = -costs[column]
        }
        return Solved(value: value, solution: solution, weights: weights)
    }

    /// What a row may use up too much. Nothing, it should be; but then the method would stand still at zero for long, and
    /// weights that prove something do so whatever is allowed here (A. Charnes, 1952).
    private static func disturbance(_ row: Int) -> Double {
        var mixed = UInt64(truncatingIfNeeded: row) &* 0x9E37_79B9_7F4A_7C15
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        return 1e-7 * (1 + Double(mixed >> 40) / Double(1 << 24))
    }

    private static func entering(_ costs: [Double], _ columns: [Int], isHasty: Bool) -> Int? {
        let candidates = costs.indices.filter { costs[$0] > epsilon }
        if isHasty { return candidates.max { costs[$0] < costs[$1] } }
        return candidates.min { columns[$0] < columns[$1] }
    }

    // The proof

    /// Whether no step makes the sum of weights more, and each that counts makes it less.
    private func isProof(_ weights: [Double]) -> Bool {
        let weights = Array(weights.prefix(rows.count))
        if let whole = Self.whole(weights, times: 1 << 20), isProof(whole) { return true }
        return Self.wholeMultiples(weights).map(isProof) ?? false
    }

    private func isProof(_ weights: [Int64]) -> Bool {
        guard weights.allSatisfy({ $0 >= 0 }) else { return false }
        var losses = Array(repeating: Int64(0), count: steps.count)
        for (row, entries) in rows.enumerated() where weights[row] > 0 {
            for entry in entries {
                let (product, isTooLarge) = weights[row].multipliedReportingOverflow(by: entry.factor)
                let (sum, isTooMuch) = losses[entry.step].addingReportingOverflow(product)
                if isTooLarge || isTooMuch { return false }
                losses[entry.step] = sum
            }
        }
        return zip(steps, losses).allSatisfy { step, loss in loss >= (step.counts ? 1 : 0) }
    }

    /// Whole numbers near to multiples of some.
    private static func whole(_ numbers: [Double], times factor: Int64) -> [Int64]? {
        let multiples = numbers.map { ($0 * Double(factor)).rounded() }
        return multiples.allSatisfy { abs($0) < 1e15 } ? multiples.map { Int64($0) } : nil
    }

    /// Whole numbers in the same proportion, as far as these are fractions with small denominators; nil if they are not.
    private static func wholeMultiples(_ numbers: [Double]) -> [Int64]? {
        var common: Int64 = 1
        for number in numbers {
            guard let denominator = (1...Int64(4_096)).first(where: { isWhole(number * Double($0)) }) else {
                return nil
            }
            var (larger, smaller) = (common, denominator)
            while smaller != 0 { (larger, smaller) = (smaller, larger % smaller) }
            common = common / larger * denominator
            guard common < 1 << 40 else { return nil }
        }
        return whole(numbers, times: common)
    }

    private static func isWhole(_ number: Double) -> Bool {
        abs(number) < 1e9 && abs(number - number.rounded()) < 1e-6
    }
}
