/// The arguments of a call, with the receiver first, converted to the required types.
struct CallArguments {
    let name: String
    let values: [Value]
    let range: SourceRange

    /// Returns a string and charges the steps for reading it.
    func text(_ index: Int, _ frame: inout Frame) throws(EvaluationError) -> String {
        guard index < values.count, case .string(let text) = values[index] else { throw noOverload() }
        try frame.charge(octets: text.utf8.count, at: range)
        return text
    }

    /// Returns the elements of a list.
    func list(_ index: Int) throws(EvaluationError) -> [Value] {
        guard index < values.count, case .list(let elements) = values[index] else { throw noOverload() }
        return elements
    }

    /// Returns an integer, or the default if there are fewer arguments.
    func int(_ index: Int, default other: Int64) throws(EvaluationError) -> Int64 {
        guard index < values.count else { return other }
        guard case .int(let int) = values[index] else { throw noOverload() }
        return int
    }

    /// Returns a position in a text of that many code points, from 0 to the count.
    func position(_ index: Int, default other: Int, count: Int) throws(EvaluationError) -> Int {
        let position = try int(index, default: Int64(other))
        guard position >= 0, position <= Int64(count) else {
            throw invalid("the position \(position) is out of range for a text of \(count) characters")
        }
        return Int(position)
    }

    func invalid(_ message: String) -> EvaluationError {
        EvaluationError(code: .invalidArgument, message: message, range: range)
    }

    func noOverload() -> EvaluationError {
        EvaluationError(
            code: .noSuchOverload,
            message: "\(name)() does not take \(NameList.text(values.map(\.typeName)))", range: range)
    }
}
