/// What belongs to the configurations that a host runs, by generation: to the one that runs, and while another is applied,
/// to that too.
package struct Generations<Value> {
    private var values: [Int: Value]

    /// What belongs to the first.
    package init(_ value: Value, of generation: Int) {
        values = [generation: value]
    }

    /// What belongs to one; nil if it runs no longer.
    package subscript(generation: Int) -> Value? { values[generation] }

    /// The generations of which something is kept, sorted.
    package var known: [Int] { values.keys.sorted() }

    /// Another is applied, and may run from now on.
    package mutating func expect(_ value: Value, of generation: Int) {
        values[generation] = value
    }

    /// It is decided which one runs.
    ///
    /// - Returns: What is needed no longer.
    package mutating func settle(on generation: Int) -> [Value] {
        let old = values.filter { $0.key != generation }
        for key in old.keys { values[key] = nil }
        return Array(old.values)
    }
}
