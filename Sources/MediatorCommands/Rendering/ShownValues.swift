import CommonExpression
import MediatorControl
import StrictJSON

// Values for people. A time is shown as the clocks on the wall show it, since it travels with nanoseconds and in UTC.
extension TextStyle {
    /// A value in few letters, as ``PlainText/value(_:)`` writes it.
    func value(_ value: JSONValue) -> String {
        if case .string(let text) = value, let clock = clock(ofMoment: text) { return clock }
        return PlainText.value(withClocks(value))
    }

    /// Fields with their values: `percent=97 since=14:02:11`.
    func fields(_ data: JSONObject) -> String {
        data.sorted { $0.key < $1.key }.map { "\(PlainText.cleaned($0.key))=\(value($0.value))" }
            .joined(separator: " ")
    }

    /// The value of a parameter, as one writes it.
    func value(of parameter: Parameter) -> String {
        if parameter.isConcealed { return "(not shown)" }
        guard let value = parameter.value else { return "" }
        if parameter.type == "duration", case .string(let text) = value, let span = TimeSpan(text: text) {
            return span.brief
        }
        return self.value(value)
    }

    /// A text with the time in each `timestamp("…")` in the place of the whole.
    func withClocks(in text: String) -> String {
        let opening = "timestamp(\""
        var result = ""
        var rest = text[...]
        while let start = rest.firstRange(of: opening) {
            let inner = rest[start.upperBound...]
            guard let end = inner.firstRange(of: "\")"),
                let clock = clock(ofMoment: String(inner[..<end.lowerBound]))
            else {
                result += rest[..<start.upperBound]
                rest = inner
                continue
            }
            result += rest[..<start.lowerBound]
            result += clock
            rest = inner[end.upperBound...]
        }
        return result + rest
    }

    /// The time on the clock of a time as it travels; nil if the text is none.
    private func clock(ofMoment text: String) -> String? {
        guard text.hasSuffix("Z") else { return nil }
        return Timestamp.seconds(text).map(clock)
    }

    /// A value with the times within it as on the clock.
    private func withClocks(_ value: JSONValue) -> JSONValue {
        switch value {
        case .string(let text): .string(clock(ofMoment: text) ?? text)
        case .array(let elements): .array(elements.map(withClocks))
        case .object(let entries): .object(entries.mapValues(withClocks))
        default: value
        }
    }
}
