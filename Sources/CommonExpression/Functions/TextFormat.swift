/// Implements `format()` of the strings extension. It replaces the clauses `%s`, `%d`, `%f`, `%e`, `%b`, `%o`, `%x` and
/// `%X` in a text by the elements of a list in order, and `%%` by `%`. `%f` and `%e` take a precision, as in `%.3f`.
struct TextFormat {
    /// The most digits of a precision.
    static let mostDigits = 1_000

    /// The steps that writing a number by `%f` or `%e` costs.
    static let numberCost = 32

    /// The digits if no precision is given.
    static let usualDigits = 6

    static let format: Function.Binary = { value, list, range, frame throws(EvaluationError) in
        guard case .string(let text) = value, case .list(let values) = list else {
            throw EvaluationError(
                code: .noSuchOverload,
                message: "format() takes a string and a list, not \(value.typeName) and \(list.typeName)", range: range)
        }
        try frame.charge(octets: text.utf8.count, at: range)
        var format = TextFormat(template: Array(text.utf8), values: values, range: range)
        try format.run(&frame)
        return .string(String(decoding: format.output, as: UTF8.self))
    }

    private let template: [UInt8]
    private let values: [Value]
    private let range: SourceRange
    private var output: [UInt8] = []
    private var position = 0
    private var nextValue = 0

    private init(template: [UInt8], values: [Value], range: SourceRange) {
        self.template = template
        self.values = values
        self.range = range
    }

    private mutating func run(_ frame: inout Frame) throws(EvaluationError) {
        let percent = UInt8(ascii: "%")
        while position < template.count {
            let byte = template[position]
            position += 1
            if byte != percent {
                output.append(byte)
            } else if position < template.count, template[position] == percent {
                position += 1
                output.append(percent)
            } else {
                try append(try clause(&frame), &frame)
            }
        }
        try frame.create(octets: output.count, at: range)
    }

    private mutating func append(_ text: String, _ frame: inout Frame) throws(EvaluationError) {
        try frame.create(octets: output.count + text.utf8.count, at: range, beyond: output.count)
        output += text.utf8
    }

    /// Reads the clause after its `%` and formats the next value.
    private mutating func clause(_ frame: inout Frame) throws(EvaluationError) -> String {
        let digits = try precision()
        guard position < template.count else { throw invalid("the format ends within a clause") }
        let letter = template[position]
        position += 1
        let name = String(decoding: [letter], as: UTF8.self)
        guard "sdfeboxX".utf8.contains(letter) else {
            throw invalid(
                "'%\(letter < 0x80 ? name : "…")' is not a format clause; use %s, %d, %f, %e, %b, %o, %x, %X and %%")
        }
        guard nextValue < values.count else {
            throw invalid("the format needs more than the \(values.count) values it is given")
        }
        defer { nextValue += 1 }
        let value = values[nextValue]
        if letter == UInt8(ascii: "f") || letter == UInt8(ascii: "e") { try frame.charge(Self.numberCost, at: range) }
        let text: String? =
            switch letter {
            case UInt8(ascii: "s"): try plain(value, level: 0, &frame)
            case UInt8(ascii: "d"): Self.decimal(value)
            case UInt8(ascii: "f"): Self.number(value).map { DecimalText.fixed($0, digits: digits) }
            case UInt8(ascii: "e"): Self.number(value).map { DecimalText.scientific($0, digits: digits) }
            case UInt8(ascii: "b"): Self.integer(value, radix: 2)
            case UInt8(ascii: "o"): value.isBool ? nil : Self.integer(value, radix: 8)
            default: try hexadecimal(value, isUppercase: letter == UInt8(ascii: "X"), &frame)
            }
        guard let text else {
            throw EvaluationError(
                code: .noSuchOverload, message: "'%\(name)' in format() does not take \(value.typeName)", range: range)
        }
        return text
    }

    /// Reads the precision between `%` and the letter.
    private mutating func precision() throws(EvaluationError) -> Int {
        guard position < template.count, template[position] == UInt8(ascii: ".") else { return Self.usualDigits }
        position += 1
        var digits: Int?
        while position < template.count, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(template[position]) {
            digits = (digits ?? 0) * 10 + Int(template[position] - UInt8(ascii: "0"))
            position += 1
            if let digits, digits > Self.mostDigits {
                throw invalid("a precision is at most \(Self.mostDigits) digits")
            }
        }
        guard let digits else { throw invalid("a precision such as '%.3f' needs a number after the point") }
        return digits
    }

    private func invalid(_ message: String) -> EvaluationError {
        EvaluationError(code: .invalidArgument, message: "in format(): \(message)", range: range)
    }

    // MARK: Clauses

    /// Formats by `%s`: the result of `string()`, null, and lists and maps of these. The entries of a map are sorted by
    /// their keys as text.
    private func plain(_ value: Value, level: Int, _ frame: inout Frame) throws(EvaluationError) -> String? {
        try frame.charge(1, at: range)
        guard level < Value.deepestLevel else { throw invalid("the value is nested too deep") }
        switch value {
        case .null: return "null"
        case .typeValue(let type): return type.denotation
        case .bytes(let bytes):
            try frame.charge(octets: bytes.count, at: range)
            return String(decoding: bytes, as: UTF8.self)
        case .list(let elements):
            var text = "["
            for (index, element) in elements.enumerated() {
                guard let part = try plain(element, level: level + 1, &frame) else { return nil }
                try append(part, after: index > 0 ? ", " : "", to: &text, &frame)
            }
            return text + "]"
        case .map(let entries):
            var texts: [(key: String, value: Value)] = []
            for (key, value) in entries {
                guard let text = try plain(key, level: level + 1, &frame) else { return nil }
                texts.append((text, value))
            }
            var text = "{"
            for (index, entry) in texts.sorted(by: { $0.key.scalarOrder(to: $1.key) == .less }).enumerated() {
                guard let part = try plain(entry.value, level: level + 1, &frame) else { return nil }
                try append(entry.key + ": " + part, after: index > 0 ? ", " : "", to: &text, &frame)
            }
            return text + "}"
        default:
            guard let text = value.text else { return nil }
            try frame.charge(octets: text.utf8.count, at: range)
            return text
        }
    }

    private func append(
        _ part: String, after separator: String, to text: inout String, _ frame: inout Frame
    ) throws(EvaluationError) {
        let count = text.utf8.count
        try frame.create(octets: count + separator.utf8.count + part.utf8.count, at: range, beyond: count)
        text += separator
        text += part
    }

    private static func decimal(_ value: Value) -> String? {
        if case .double(let double) = value { return double.isFinite ? nil : DoubleText.text(of: double) }
        return value.isBool ? nil : integer(value, radix: 10)
    }

    private static func number(_ value: Value) -> Double? {
        switch value {
        case .int(let int): Double(int)
        case .uint(let uint): Double(uint)
        case .double(let double): double
        default: nil
        }
    }

    private static func integer(_ value: Value, radix: Int) -> String? {
        switch value {
        case .bool(let bool): bool ? "1" : "0"
        case .int(let int): String(int, radix: radix)
        case .uint(let uint): String(uint, radix: radix)
        default: nil
        }
    }

    private func hexadecimal(
        _ value: Value, isUppercase: Bool, _ frame: inout Frame
    ) throws(EvaluationError) -> String? {
        let bytes: [UInt8]
        switch value {
        case .int(let int): return String(int, radix: 16, uppercase: isUppercase)
        case .uint(let uint): return String(uint, radix: 16, uppercase: isUppercase)
        case .string(let text): bytes = Array(text.utf8)
        case .bytes(let octets): bytes = octets
        default: return nil
        }
        try frame.create(octets: bytes.count, at: range)
        let digits = Array((isUppercase ? "0123456789ABCDEF" : "0123456789abcdef").utf8)
        return String(decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
    }
}

extension Value {
    /// A Boolean value that indicates whether the value is a `bool`.
    fileprivate var isBool: Bool {
        if case .bool = self { return true }
        return false
    }
}
