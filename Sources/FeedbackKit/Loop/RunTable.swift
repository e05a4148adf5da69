/// The runs of a loop by their numbers.
///
/// Numbers only grow, so the runs are in an array, in the order of their start. A removed run leaves a gap. When
/// there are sixteen more gaps than runs, all gaps are removed.
@usableFromInline
package struct RunTable<Run: Sendable>: Sendable {
    @usableFromInline
    struct Entry: Sendable {
        @usableFromInline let number: UInt64
        /// The run, or `nil` for a gap.
        @usableFromInline var run: Run?

        @inlinable
        init(number: UInt64, run: Run) {
            self.number = number
            self.run = run
        }
    }

    @usableFromInline var entries: [Entry] = []
    /// The number of runs.
    @usableFromInline package var count = 0

    @inlinable
    package init() {}

    /// The number of runs and gaps.
    package var places: Int { entries.count }

    /// The numbers of the runs, in the order of their start.
    @usableFromInline package var keys: [RunID] {
        entries.compactMap { $0.run == nil ? nil : RunID(rawValue: $0.number) }
    }

    /// Adds a run, whose number must be larger than all earlier ones.
    ///
    /// - Complexity: O(1) on average.
    @inlinable
    package mutating func append(_ run: Run, as id: RunID) {
        assert(entries.last.map { $0.number < id.rawValue } ?? true, "run \(id.rawValue) is older than another one")
        entries.append(Entry(number: id.rawValue, run: run))
        count += 1
    }

    /// Removes a run.
    ///
    /// - Complexity: O(log *n*) on average.
    @inlinable
    package mutating func remove(_ id: RunID) {
        guard let index = index(of: id.rawValue), entries[index].run != nil else { return }
        entries[index].run = nil
        count -= 1
        // A few gaps are not worth a pass.
        if count == 0, entries.count <= 32 {
            entries.removeAll(keepingCapacity: true)
        } else if entries.count > 2 * count + 16 {
            entries.removeAll { $0.run == nil }
        }
    }

    /// The run with a number, or `nil` for any other number. A run that is not in the table cannot be set.
    ///
    /// - Complexity: O(log *n*).
    @inlinable
    package subscript(id: RunID) -> Run? {
        _read {
            if let index = index(of: id.rawValue) { yield entries[index].run } else { yield nil }
        }
        _modify {
            if let index = index(of: id.rawValue) {
                yield &entries[index].run
            } else {
                var none: Run?
                yield &none
            }
        }
    }

    @inlinable
    func index(of number: UInt64) -> Int? {
        var (low, high) = (0, entries.count)
        while low < high {
            let middle = (low + high) / 2
            if entries[middle].number < number { low = middle + 1 } else { high = middle }
        }
        return low < entries.count && entries[low].number == number ? low : nil
    }
}
