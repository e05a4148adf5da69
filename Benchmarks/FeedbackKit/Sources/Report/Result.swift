/// The result of all rounds for a row.
struct Result {
    let row: Row
    /// Medians over the rounds; `nil`: not measured.
    let ours: Double?
    let theirs: Double?
    let ratio: Double?
    /// The least and the greatest ratio of a round.
    let spread: (least: Double, greatest: Double)?
    /// Nanoseconds of processor time a turn of ours; 0 where that means nothing.
    let processor: Double

    /// Whether the target is met; `nil` without a target or a measurement.
    var isMet: Bool? {
        guard let target = row.target, let ratio else { return nil }
        return ratio >= target
    }

    /// Puts together what each round measured.
    init(_ row: Row, rounds: [[Figure: (value: Double, processor: Double)]]) {
        self.row = row
        ours = Self.median(rounds.compactMap { $0[row.ours]?.value })
        theirs = Self.median(rounds.compactMap { $0[row.theirs]?.value })
        processor = Self.median(rounds.compactMap { $0[row.ours]?.processor }) ?? 0
        // A ratio is formed within a round, where both ran one after the other, and the median taken afterwards.
        let ratios = rounds.compactMap { round -> Double? in
            guard let ours = round[row.ours]?.value, let theirs = round[row.theirs]?.value, ours > 0, theirs > 0 else {
                return nil
            }
            return row.unit == .bytes ? theirs / ours : ours / theirs
        }
        ratio = Self.median(ratios)
        if let least = ratios.min(), let greatest = ratios.max() {
            spread = (least, greatest)
        } else {
            spread = nil
        }
    }

    private static func median(_ values: [Double]) -> Double? {
        guard !values.isEmpty else { return nil }
        let sorted = values.sorted()
        let middle = sorted.count / 2
        return sorted.count % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
    }
}
