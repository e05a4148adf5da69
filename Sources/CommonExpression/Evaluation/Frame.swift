/// The state of one evaluation: the variables, the variables of macros, and the remainder of the limits.
struct Frame {
    /// The octets of text or bytes that one step of cost covers.
    static let octetsPerStep = 16

    let variables: VariableSlots
    /// The variables of macros, by slot.
    var bindings: [Value] = []
    private(set) var limits = Limits.default
    /// The recorder of outcomes for an explanation; nil for other evaluations.
    var recorder: Recorder?
    private var remaining = 0

    /// Creates a frame before an evaluation.
    ///
    /// - Parameter variables: One value per variable of the environment.
    @inline(__always)
    init(_ variables: VariableSlots) {
        self.variables = variables
    }

    /// Begins an evaluation.
    ///
    /// - Parameters:
    ///   - slots: The number of slots that the variables of macros need.
    ///   - limits: The limits for cost and size.
    @inline(__always)
    mutating func begin(slots: Int, limits: Limits) {
        if slots > 0 { bindings = Array(repeating: .null, count: slots) }
        self.limits = limits
        remaining = max(0, limits.cost)
    }

    /// The number of steps taken.
    var steps: Int { max(0, limits.cost) - remaining }

    /// Charges steps.
    @inline(__always)
    mutating func charge(_ steps: Int, at range: SourceRange) throws(EvaluationError) {
        remaining -= steps
        if remaining < 0 { throw costExceeded(at: range) }
    }

    /// Charges the steps for reading or writing a number of octets.
    mutating func charge(octets: Int, at range: SourceRange) throws(EvaluationError) {
        try charge(1 + octets / Self.octetsPerStep, at: range)
    }

    /// Charges the steps for looking up a key.
    mutating func charge(key: Value, at range: SourceRange) throws(EvaluationError) {
        if case .string(let text) = key { try charge(octets: text.utf8.count, at: range) }
    }

    /// Charges the steps for a new value of a number of octets. Throws if it exceeds the largest size.
    mutating func create(octets: Int, at range: SourceRange) throws(EvaluationError) {
        try holdToSize(octets, "bytes", at: range)
        try charge(octets: octets, at: range)
    }

    /// Charges the steps for a text that grows to a number of octets. Throws if it exceeds the largest size.
    mutating func create(octets: Int, at range: SourceRange, beyond count: Int) throws(EvaluationError) {
        try holdToSize(octets, "bytes", at: range)
        try charge(octets: octets - count, at: range)
    }

    /// Charges the step for one more element of a list. Throws if the list exceeds the largest size.
    mutating func grow(elements: Int, at range: SourceRange) throws(EvaluationError) {
        try holdToSize(elements, "elements", at: range)
        try charge(1, at: range)
    }

    private func holdToSize(_ size: Int, _ unit: String, at range: SourceRange) throws(EvaluationError) {
        guard size <= limits.valueSize else {
            throw EvaluationError(
                code: .valueTooLarge,
                message: "the value would have \(size) \(unit), more than \(limits.valueSize), which is the limit",
                range: range)
        }
    }

    /// Charges the steps for a list or map of a number of elements. Throws if it exceeds the largest size.
    mutating func create(elements: Int, at range: SourceRange) throws(EvaluationError) {
        try holdToSize(elements, "elements", at: range)
        try charge(1 + elements, at: range)
    }

    private func costExceeded(at range: SourceRange) -> EvaluationError {
        EvaluationError(
            code: .costExceeded,
            message: "the evaluation needs more than \(limits.cost) steps, which is the limit",
            range: range)
    }
}
