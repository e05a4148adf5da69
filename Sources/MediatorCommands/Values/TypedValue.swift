package import MediatorControl
package import StrictJSON

/// Values as they are written on the command line, read by the type the daemon declares for them.
package struct TypedValue {
    /// The time that `now` stands for, in seconds since 1970.
    package let now: Int64

    /// A reader at that time.
    package init(now: Int64) {
        self.now = now
    }

    /// Reads a value of a declared type.
    ///
    /// `bool` is true or false; `int`, `uint` and `double` are numbers; `string` is the text itself; `timestamp` is RFC
    /// 3339 or `now`; `duration` is like 1h30m or 500ms. An optional value is written like its content. Everything else
    /// is JSON.
    ///
    /// - Throws: ``CommandError`` with the name of the value and the expected form.
    package func value(_ text: String, type: String, name: String) throws(CommandError) -> JSONValue {
        switch Self.held(type) {
        case "bool":
            guard let value = Bool(text) else { throw Self.mismatch(text, name, "true or false") }
            return .bool(value)
        case "int":
            guard let value = Int64(text) else {
                guard !Self.isWhole(text) else { throw Self.outOfRange(text, name, Int64.min, Int64.max, type) }
                throw Self.mismatch(text, name, "a whole number (int)")
            }
            return .int(value)
        case "uint":
            guard let value = UInt64(text) else {
                guard !Self.isWhole(text) else { throw Self.outOfRange(text, name, UInt64.min, UInt64.max, type) }
                throw Self.mismatch(text, name, "a whole number that is not negative (uint)")
            }
            return JSONValue(value)
        case "double":
            guard let value = Double(text) else { throw Self.mismatch(text, name, "a number (double)") }
            guard value.isFinite || !text.contains(where: \.isNumber) else {
                let limit = Double.greatestFiniteMagnitude
                throw Self.outOfRange(text, name, -limit, limit, type)
            }
            guard value.isFinite else { throw Self.mismatch(text, name, "a number (double)") }
            return .double(value)
        case "string":
            return .string(text)
        case "timestamp":
            if text == "now" { return .string(Timestamp.text(now)) }
            guard Timestamp.seconds(text) != nil else {
                throw Self.mismatch(text, name, "a time like 2026-01-02T03:04:05Z, or now (timestamp)")
            }
            return .string(text)
        case "duration":
            guard Self.isDuration(text) else {
                throw Self.mismatch(text, name, "a time span like 1h30m or 500ms (duration)")
            }
            return .string(text)
        default:
            do throws(JSONSyntaxError) {
                return try JSONValue(parsing: text)
            } catch {
                throw Self.mismatch(text, name, "JSON for \(type)", but: error.reason)
            }
        }
    }

    /// The type that an optional value of a type holds; of any other type itself.
    private static func held(_ type: String) -> String {
        let prefix = "optional("
        return type.hasPrefix(prefix) && type.hasSuffix(")") ? String(type.dropFirst(prefix.count).dropLast()) : type
    }

    /// Reads arguments by the declared fields: `key=value` for each of them, or all as one JSON object.
    ///
    /// - Parameters:
    ///   - owner: whose fields they are, for messages: "the event 'Full'".
    ///   - name: what the object is the value of, for messages: "Full".
    ///   - isWhole: whether every field must be there that is not optional.
    /// - Throws: as ``object(_:fields:owner:isWhole:)`` and ``check(_:fields:owner:isWhole:)``.
    package func fields(
        _ arguments: [String], of fields: [Field], owner: String, name: String, isWhole: Bool = true
    ) throws(CommandError) -> JSONObject {
        guard arguments.count == 1, arguments[0].hasPrefix("{") else {
            return try object(arguments, fields: fields, owner: owner, isWhole: isWhole)
        }
        let values = try value(arguments[0], type: "an object", name: name).objectValue ?? [:]
        try check(values, fields: fields, owner: owner, isWhole: isWhole)
        // An optional null is left out, as it is sent.
        let optional = Set(fields.lazy.filter { Self.held($0.type) != $0.type }.map(\.name))
        return values.filter { !$0.value.isNull || !optional.contains($0.key) }
    }

    /// Reads `key=value` arguments by the declared fields, all of which must be there unless they are optional.
    ///
    /// - Parameter owner: whose fields they are, for messages: "the event 'Full'".
    /// - Throws: ``CommandError`` that names the field, and the nearest one when it does not exist.
    package func object(
        _ arguments: [String], fields: [Field], owner: String, isWhole: Bool = true
    ) throws(CommandError) -> JSONObject {
        var values: JSONObject = [:]
        for argument in arguments {
            guard let equals = argument.firstIndex(of: "="), equals != argument.startIndex else {
                throw CommandError(
                    .usage,
                    "'\(argument)' is not of the form key=value",
                    advice: Self.fieldList(fields, owner)
                )
            }
            let key = String(argument[..<equals])
            guard let field = fields.first(where: { $0.name == key }) else {
                let hint = Nearest.hint(key, among: fields.map(\.name))
                throw CommandError(
                    .refused, "\(owner) has no field '\(key)'\(hint)", advice: Self.fieldList(fields, owner),
                    code: "invalid-value")
            }
            let text = String(argument[argument.index(after: equals)...])
            let value = try value(text, type: field.type, name: key)
            guard values.updateValue(value, forKey: key) == nil else {
                throw CommandError(.usage, "the field '\(key)' is given twice")
            }
        }
        if isWhole { try Self.checkNothingIsMissing(values, fields, owner) }
        return values
    }

    /// Checks an object given as JSON by the declared fields.
    ///
    /// - Throws: ``CommandError`` that names the field, and the nearest one when it does not exist.
    package func check(
        _ values: JSONObject, fields: [Field], owner: String, isWhole: Bool = true
    ) throws(CommandError) {
        for (key, value) in values.sorted(by: { $0.key < $1.key }) {
            guard let field = fields.first(where: { $0.name == key }) else {
                let hint = Nearest.hint(key, among: fields.map(\.name))
                throw CommandError(
                    .refused, "\(owner) has no field '\(key)'\(hint)", advice: Self.fieldList(fields, owner),
                    code: "invalid-value")
            }
            if value == .null, Self.held(field.type) != field.type { continue }
            let isRight =
                switch Self.held(field.type) {
                case "bool": value.boolValue != nil
                case "int": value.intValue != nil
                case "uint": value.uintValue != nil
                case "double": value.doubleValue != nil
                case "string": value.stringValue != nil
                case "timestamp": value.stringValue.flatMap(Timestamp.seconds) != nil
                case "duration": value.stringValue.map(Self.isDuration) ?? false
                default: true
                }
            if !isRight, case .double(let number) = value, number == number.rounded() {
                switch Self.held(field.type) {
                case "int": throw Self.outOfRange(value.description, key, Int64.min, Int64.max, field.type)
                case "uint": throw Self.outOfRange(value.description, key, UInt64.min, UInt64.max, field.type)
                default: break
                }
            }
            guard isRight else { throw Self.mismatch(value.description, key, field.type) }
        }
        if isWhole { try Self.checkNothingIsMissing(values, fields, owner) }
    }

    private static func checkNothingIsMissing(
        _ values: JSONObject,
        _ fields: [Field],
        _ owner: String
    ) throws(CommandError) {
        let missing = fields.filter { values[$0.name] == nil && held($0.type) == $0.type }
        guard !missing.isEmpty else { return }
        let names = missing.map { "\($0.name) (\($0.type))" }.joined(separator: ", ")
        throw CommandError(
            .refused,
            "\(owner) also wants \(names)",
            advice: "Give each as key=value: \(missing.map { "\($0.name)=…" }.joined(separator: " "))",
            code: "invalid-value"
        )
    }

    /// "The event 'Full' has: percent (int)".
    private static func fieldList(_ fields: [Field], _ owner: String) -> String {
        let list = fields.map { "\($0.name) (\($0.type))" }.joined(separator: ", ")
        let subject = owner.prefix(1).uppercased() + owner.dropFirst()
        return fields.isEmpty ? "\(subject) has no fields." : "\(subject) has: \(list)."
    }

    private static func mismatch(
        _ text: String, _ name: String, _ expected: String, but problem: String? = nil
    ) -> CommandError {
        let shown = text.count > 60 ? text.prefix(60) + "…" : text[...]
        let what = "\(expected) is expected" + (problem.map { ", but this is none: \($0)" } ?? "")
        return CommandError(.refused, "'\(shown)' is no value for '\(name)': \(what)", code: "invalid-value")
    }

    /// Whether a text is a whole number, of whatever size.
    private static func isWhole(_ text: String) -> Bool {
        let digits = text.hasPrefix("-") || text.hasPrefix("+") ? text.dropFirst() : text[...]
        return !digits.isEmpty && digits.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
    }

    private static func outOfRange<Number>(
        _ text: String, _ name: String, _ least: Number, _ most: Number, _ type: String
    ) -> CommandError {
        let shown = text.count > 60 ? text.prefix(60) + "…" : text[...]
        return CommandError(
            .refused, "'\(shown)' is out of range for '\(name)': \(held(type)) is from \(least) to \(most)",
            code: "invalid-value")
    }

    /// Numbers with units, one after the other: h, m, s, ms, us, µs, ns; with a sign in front if need be.
    package static func isDuration(_ text: String) -> Bool {
        var rest = text.hasPrefix("-") ? text.dropFirst() : text[...]
        if rest == "0" { return true }
        guard !rest.isEmpty, rest.count <= 64 else { return false }
        while !rest.isEmpty {
            let digits = rest.prefix { ("0"..."9").contains($0) || $0 == "." }
            guard Double(digits) != nil else { return false }
            rest = rest.dropFirst(digits.count)
            guard let unit = ["ns", "us", "µs", "ms", "h", "m", "s"].first(where: rest.hasPrefix) else { return false }
            rest = rest.dropFirst(unit.count)
        }
        return true
    }
}
