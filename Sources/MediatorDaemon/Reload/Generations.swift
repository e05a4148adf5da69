/// Values that belong to configurations of a host, by generation. There are one for the active configuration, and
/// another one while a candidate is applied.
package struct Generations<Value> {
    private var values: [Int: Value]

    /// Begins with the value of the first generation.
    package init(_ value: Value, of generation: Int) {
        values = [generation: value]
    }

    /// The value of a generation; nil if that no longer runs.
    package subscript(generation: Int) -> Value? { values[generation] }

    /// The generations of which something is kept, sorted.
    package var known: [Int] { values.keys.sorted() }

    /// Another is applied, and may run from now on.
    package mutating func expect(_ value: Value, of generation: Int) {
        values[generation] = value
    }

    /// It is decided which one runs.
    ///
    /// - Returns: The values that are no longer needed.
    package mutating func settle(on generation: Int) -> [Value] {
        let old = values.filter { $0.key != generation }
        for key in old.keys { values[key] = nil }
        return Array(old.values)
    }
}
