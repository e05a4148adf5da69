import StrictJSON

/// The functions that write and read JSON (RFC 8259). CEL has none for that.
enum JSONExtension {
    /// All functions of JSON.
    static let all: [Function] = [
        Function(
            "toJson", [Function.Overload(isMember: false, parameters: [.any], result: .string)],
            unary: { value, range, frame throws(EvaluationError) in
                var writer = JSONText(range: range)
                try writer.write(value, &frame)
                return .string(String(decoding: writer.bytes, as: UTF8.self))
            }),
        Function("parseJson", [.function(.string, result: .dyn)], unary: parse),
    ]

    /// Reads a text that is not longer than a created text may be, and charges the steps for reading the value as well.
    private static let parse: Function.Unary = { value, range, frame throws(EvaluationError) in
        guard case .string(let text) = value else {
            throw CallArguments(name: "parseJson", values: [value], range: range).noOverload()
        }
        try frame.create(octets: text.utf8.count, at: range)
        let parsed: Value
        do throws(JSONSyntaxError) {
            parsed = try Value(parsingJSON: text.utf8)
        } catch {
            throw EvaluationError(
                code: .invalidConversion, message: "the text is not JSON: \(error.reason)", range: range)
        }
        try frame.charge(reading: parsed, at: range)
        return parsed
    }
}

/// A JSON text on one line that grows within the limits of an evaluation. Names are in the order of their code points.
private struct JSONText {
    /// A list, map or structure whose elements are being written. A stack of these replaces recursion, so that a deep
    /// value needs no stack space.
    private struct Container {
        let values: [Value]
        /// The names of the values; empty for a list.
        var names: [String] = []
        var next = 0
    }

    let range: SourceRange
    private(set) var bytes: [UInt8] = []
    private var open: [Container] = []

    init(range: SourceRange) {
        self.range = range
    }

    mutating func write(_ value: Value, _ frame: inout Frame) throws(EvaluationError) {
        try begin(value, &frame)
        while let container = open.last {
            let index = container.next
            guard index < container.values.count else {
                try append(container.names.isEmpty ? "]" : "}", &frame)
                open.removeLast()
                continue
            }
            open[open.count - 1].next += 1
            if index > 0 { try append(",", &frame) }
            if !container.names.isEmpty {
                try append(quoted: container.names[index], &frame)
                try append(":", &frame)
            }
            try begin(container.values[index], &frame)
        }
    }

    /// Writes a value, or only the beginning of one that has elements.
    private mutating func begin(_ value: Value, _ frame: inout Frame) throws(EvaluationError) {
        try frame.charge(1, at: range)
        switch value {
        case .null, .optional(nil): try append("null", &frame)
        case .bool(let bool): try append(bool ? "true" : "false", &frame)
        case .int(let int): try append(String(int), &frame)
        case .uint(let uint): try append(String(uint), &frame)
        case .double(let double):
            guard double.isFinite else {
                throw EvaluationError(
                    code: .invalidConversion, message: "JSON has no number \(DoubleText.text(of: double))", range: range
                )
            }
            try append(double.description, &frame)
        case .string(let text): try append(quoted: text, &frame)
        case .timestamp(let timestamp): try append(quoted: timestamp.description, &frame)
        case .duration(let span): try append(quoted: span.description, &frame)
        case .typeValue(let type): try append(quoted: type.denotation, &frame)
        case .bytes(let octets):
            for (index, octet) in octets.enumerated() { try append("\(index == 0 ? "[" : ",")\(octet)", &frame) }
            try append(octets.isEmpty ? "[]" : "]", &frame)
        case .list(let elements): try begin(Container(values: elements), "[", &frame)
        case .map(let entries): try begin(try members(of: entries, &frame), &frame)
        case .structure(let structure):
            if let text = NetworkExtension.text(of: structure) { return try append(quoted: text, &frame) }
            try begin(zip(structure.type.fields, structure.fields).map { (name: $0.name, value: $1) }, &frame)
        case .optional(.some): try begin(try content(of: value, &frame), &frame)
        }
    }

    /// Returns the content of an optional value, also if that is optional.
    private func content(of value: Value, _ frame: inout Frame) throws(EvaluationError) -> Value {
        var content = value
        while case .optional(let inner?) = content {
            try frame.charge(1, at: range)
            content = inner
        }
        return content
    }

    private mutating func begin(
        _ members: [(name: String, value: Value)], _ frame: inout Frame
    ) throws(EvaluationError) {
        guard !members.isEmpty else { return try append("{}", &frame) }
        let members = members.sorted { $0.name.scalarOrder(to: $1.name) == .less }
        try begin(Container(values: members.map(\.value), names: members.map(\.name)), "{", &frame)
    }

    private mutating func begin(
        _ container: Container, _ bracket: String, _ frame: inout Frame
    ) throws(EvaluationError) {
        guard open.count < Value.deepestLevel else {
            throw EvaluationError(
                code: .valueTooLarge, message: "the value is nested more than \(Value.deepestLevel) levels deep",
                range: range)
        }
        try append(bracket, &frame)
        open.append(container)
    }

    /// Returns the entries of a map with their keys as text. Two keys with the same text are an error.
    private func members(
        of entries: [Value: Value], _ frame: inout Frame
    ) throws(EvaluationError) -> [(name: String, value: Value)] {
        var members: [(name: String, value: Value)] = []
        var names: Set<Value> = []
        for (key, value) in entries {
            try frame.charge(1, at: range)
            try frame.charge(key: key, at: range)
            let name = key.text ?? ""
            guard names.insert(.string(name)).inserted else {
                throw EvaluationError(
                    code: .duplicateKey,
                    message: "two keys of the map have the text \(ValueExcerpt.text(of: .string(name)))", range: range)
            }
            members.append((name, value))
        }
        return members
    }

    private mutating func append(_ text: String, _ frame: inout Frame) throws(EvaluationError) {
        try hold(adding: text.utf8.count, &frame)
        bytes += text.utf8
    }

    /// Appends a string with its quotes. Its escapes take at most six bytes for each byte.
    private mutating func append(quoted text: String, _ frame: inout Frame) throws(EvaluationError) {
        try hold(adding: text.utf8.count + 2, &frame)
        let start = bytes.count
        JSONValue.write(text, to: &bytes)
        try frame.create(octets: bytes.count, at: range, beyond: start + text.utf8.count + 2)
    }

    /// Charges the steps for a number of further bytes, and throws if the text becomes too large.
    private func hold(adding count: Int, _ frame: inout Frame) throws(EvaluationError) {
        try frame.create(octets: bytes.count + count, at: range, beyond: bytes.count)
    }
}
