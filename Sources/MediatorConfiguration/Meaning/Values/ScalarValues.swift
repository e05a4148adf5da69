import CommonExpression

extension DataCompiler {
    /// A fixed scalar as a value of a type, or nil after reporting why not.
    func value(
        _ resolved: CoreSchema, _ text: String, as type: ValueType, _ what: Subject, at span: Span,
        _ scope: VariableScope
    ) -> Value? {
        let value = Self.converted(resolved, text, as: type)
        if value == nil { complain(resolved, text, type, what, span, scope) }
        return value
    }

    /// A fixed text as a value of a type, or nil if it is none.
    static func converted(_ resolved: CoreSchema, _ text: String, as type: ValueType) -> Value? {
        switch (type, resolved) {
        case (.string, .text): return .string(text)
        case (.bool, .bool(let value)): return .bool(value)
        case (.int, .int(let isNegative, let magnitude)):
            if !isNegative { return Int64(exactly: magnitude).map { .int($0) } }
            guard magnitude <= UInt64(Int64.max) + 1 else { return nil }
            return .int(Int64(truncatingIfNeeded: 0 &- magnitude))
        case (.uint, .int(let isNegative, let magnitude)):
            return !isNegative || magnitude == 0 ? .uint(magnitude) : nil
        case (.double, .int), (.double, .hugeInt), (.double, .float):
            return double(resolved, text).map { .double($0) }
        case (.duration, .text): return TimeSpan(text: text).map { .duration($0) }
        case (.timestamp, .text): return Timestamp(rfc3339: text).map { .timestamp($0) }
        default: return nil
        }
    }

    static func double(_ resolved: CoreSchema, _ text: String) -> Double? {
        switch resolved {
        case .float(let value): value
        case .int(let isNegative, let magnitude): isNegative ? -Double(magnitude) : Double(magnitude)
        case .hugeInt: Double(text).flatMap { $0.isFinite ? $0 : nil }
        default: nil
        }
    }

    private func complain(
        _ resolved: CoreSchema, _ text: String, _ type: ValueType, _ what: Subject, _ span: Span, _ scope: VariableScope
    ) {
        let shown = String(text.prefix(60).map { $0.isNewline ? " " : $0 })
        switch (type, resolved) {
        case (.int, .int), (.int, .hugeInt), (.uint, .int), (.uint, .hugeInt), (.double, .hugeFloat),
            (.double, .hugeInt):
            report(.outOfRange, at: span, "\(what) is of type \(type), which cannot hold \(shown)")
            return
        default: break
        }
        var hint: String?
        switch (type, resolved) {
        case (_, .text) where Self.isExpression(text, scope, context.constants):
            let isPlain = text.utf8.count <= 60 && !text.contains { "\"${}\n".contains($0) }
            let expression = Self.named(text, scope, context.constants) ?? (isPlain ? text : nil)
            hint = expression.map { "write \"${\($0)}\"" } ?? "write an expression between \"${ and }\""
        case (.string, .null): hint = "write \"\" for an empty text"
        case (.string, _): hint = "write \"\(shown)\""
        case (.duration, _): hint = DurationText.hint(for: text)
        case (.timestamp, .text) where text == "now": hint = "write \"${now}\""
        case (.timestamp, _): hint = "write a time such as 2026-11-21T10:00:00Z"
        case (.list, _):
            let list = resolved == .null ? "[]" : ListText.suggestion(for: text, isCommand: isCommand)
            hint = "write a list: \(list)"
        case (.structure(let structure), _): hint = "write its fields: { \(Self.list(structure)) }"
        case (.bool, .text) where ["on", "yes"].contains(text.lowercased()): hint = "write true"
        case (.bool, .text) where ["off", "no"].contains(text.lowercased()): hint = "write false"
        case (.int, .text) where text.hasSuffix("%"), (.uint, .text) where text.hasSuffix("%"),
            (.double, .text) where text.hasSuffix("%"):
            let number = String(text.dropLast())
            if Self.fits(CoreSchema(plain: number), type) { hint = "write \(number)" }
        case (.int, .text), (.uint, .text), (.double, .text), (.bool, .text):
            // A quoted number or truth value is text.
            if Self.fits(CoreSchema(plain: text), type) { hint = "write \(shown) without quotes" }
        default: break
        }
        report(.wrongType, at: span, "\(what) is of type \(type), but \(Self.word(resolved, shown))", hint: hint)
    }

    private static func fits(_ resolved: CoreSchema, _ type: ValueType) -> Bool {
        switch (type, resolved) {
        case (.int, .int), (.uint, .int(false, _)), (.double, .int), (.double, .float), (.bool, .bool): true
        default: false
        }
    }

    private static func word(_ resolved: CoreSchema, _ shown: String) -> String {
        switch resolved {
        case .null: shown.isEmpty ? "there is nothing" : "'\(shown)' is nothing"
        case .bool: "'\(shown)' is a bool"
        case .int, .hugeInt, .float, .hugeFloat: "\(shown) is a number"
        case .text: shown.isEmpty ? "there is an empty text" : "'\(shown)' is text"
        }
    }
}
