/// The times that commits took, in classes whose upper bounds are powers of two.
package struct CommitDurations: Sendable, Hashable {
    /// The binary logarithm of the first bound in nanoseconds, about 66 µs.
    private static let first = 16
    /// The upper bounds in nanoseconds. The last one is about 34 seconds. Longer commits form one more class.
    package static let bounds: [Int64] = (first..<36).map { 1 << $0 }

    /// The number of commits in each class of ``bounds``, and in the class of longer ones.
    package private(set) var counts = Array(repeating: UInt64(0), count: bounds.count + 1)
    /// The sum of the times in nanoseconds.
    package private(set) var total: Int64 = 0

    package init() {}

    /// Counts a commit that took a time in nanoseconds.
    package mutating func add(_ time: Int64) {
        let time = max(0, time)
        // The number of bits of time - 1 is the exponent of the lowest bound that is not less than the time.
        let exponent = Int64.bitWidth - max(0, time - 1).leadingZeroBitCount
        counts[min(max(0, exponent - Self.first), Self.bounds.count)] += 1
        total &+= time
    }

    /// Returns the upper bound, in nanoseconds, of the class that has the given share of all commits in it or below it.
    ///
    /// - Parameter share: The share, above 0 and up to 1.
    /// - Returns: `nil` before the first commit, and if the share ends in the class without a bound.
    package func bound(of share: Double) -> Int64? {
        let all = counts.reduce(0, +)
        guard all > 0 else { return nil }
        var sum: UInt64 = 0
        for (bound, count) in zip(Self.bounds, counts) {
            sum += count
            if Double(sum) >= share * Double(all) { return bound }
        }
        return nil
    }
}
