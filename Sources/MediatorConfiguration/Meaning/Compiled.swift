import CommonExpression

/// A compiled part, with everything on which it depends beside the text of its file.
struct Compiled<Value> {
    /// The part.
    let value: Value
    /// The things on which it depends.
    let dependencies: Dependencies
    /// A Boolean value that indicates whether a diagnostic was reported.
    let hasDiagnostics: Bool

    /// A Boolean value that indicates whether the next compilation may use the part again without looking at it.
    var isReusable: Bool { !hasDiagnostics && !dependencies.looksElsewhere }
}

/// The things on which a compiled part depends, beside the text of its file.
struct Dependencies: Sendable {
    /// A Boolean value that indicates whether an expression names `state`, so that another state needs another program.
    /// An expression that has the word only within a literal counts, too: then it is compiled once more than needed.
    var mentionsState = false
    /// A Boolean value that indicates whether a value from elsewhere was looked up.
    var looksElsewhere = false
    /// The values from elsewhere that are missing.
    var unavailable: Set<UnavailableValue> = []
    /// The times at which the part is valid; nil: always.
    var validity: TimeSensitivity?

    /// Adds the dependencies of another part.
    mutating func formUnion(_ other: Dependencies) {
        mentionsState = mentionsState || other.mentionsState
        looksElsewhere = looksElsewhere || other.looksElsewhere
        if !other.unavailable.isEmpty { unavailable.formUnion(other.unavailable) }
        guard let validity = other.validity else { return }
        self.validity = self.validity.map { $0.intersection(validity) } ?? validity
    }
}

/// A compiled condition.
struct CompiledCondition {
    let program: Program
    /// A Boolean value that indicates whether it always has the same value, which has been reported. No more warnings
    /// follow from that.
    let isConstant: Bool
}
