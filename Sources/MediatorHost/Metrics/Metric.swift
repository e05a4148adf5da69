/// A figure of what runs, in the terms of Prometheus' data model: a name, what it is about, and a sample for each thing it
/// is about.
public struct Metric: Sendable, Hashable {
    /// What kind of figure it is.
    public enum Kind: String, Sendable, Hashable {
        /// It only grows, from the start of what it is about.
        case counter
        /// It goes up and down.
        case gauge
        /// How often something was within which bounds.
        case histogram
    }

    /// One value.
    public struct Sample: Sendable, Hashable {
        /// What follows the metric's name: `_bucket`, `_sum` and `_count` of a histogram, else nothing.
        public var suffix = ""
        /// What it is about: names and values, in the order in which they are printed.
        public var labels: [Label]
        /// The value.
        public var value: Double
    }

    /// What a sample is about.
    public struct Label: Sendable, Hashable {
        /// The name, such as `system`.
        public var name: String
        /// The value, any text.
        public var value: String

        /// A label.
        public init(_ name: String, _ value: String) {
            self.name = name
            self.value = value
        }
    }

    /// Its name, by Prometheus' rules, with the unit and, of a counter, `_total` at its end.
    public let name: String
    /// What it is, in a sentence.
    public let help: String
    /// What kind of figure it is.
    public let kind: Kind
    /// The values.
    public private(set) var samples: [Sample] = []

    /// A metric without values.
    public init(_ name: String, _ kind: Kind, _ help: String) {
        self.name = name
        self.kind = kind
        self.help = help
    }

    /// Adds a value.
    public mutating func add(_ value: Double, _ labels: [Label] = [], suffix: String = "") {
        samples.append(Sample(suffix: suffix, labels: labels, value: value))
    }

    /// Adds a count.
    public mutating func add(_ value: UInt64, _ labels: [Label] = []) { add(Double(value), labels) }
}

extension [Metric] {
    /// Prometheus' text format, version 0.0.4; metrics without values are left out.
    ///
    /// Source: Prometheus, "Exposition formats".
    public var prometheusText: String {
        var text = ""
        for metric in self where !metric.samples.isEmpty {
            text += "# HELP \(metric.name) \(Self.escaped(metric.help, isQuoted: false))\n"
            text += "# TYPE \(metric.name) \(metric.kind.rawValue)\n"
            for sample in metric.samples {
                text += metric.name + sample.suffix
                var separator = "{"
                for label in sample.labels {
                    text += separator
                    text += label.name
                    text += "=\""
                    text += Self.escaped(label.value, isQuoted: true)
                    text += "\""
                    separator = ","
                }
                text += sample.labels.isEmpty ? " " : "} "
                text += Self.text(sample.value)
                text += "\n"
            }
        }
        return text
    }

    private static func escaped(_ text: String, isQuoted: Bool) -> String {
        let isPlain = text.utf8.allSatisfy { byte in
            byte != UInt8(ascii: "\\") && byte != UInt8(ascii: "\n") && byte != UInt8(ascii: "\"")
        }
        if isPlain { return text }
        var escaped = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\\": escaped += "\\\\"
            case "\n": escaped += "\\n"
            case "\"" where isQuoted: escaped += "\\\""
            default: escaped.unicodeScalars.append(scalar)
            }
        }
        return escaped
    }

    /// A number as Go reads it, whole ones without a point.
    private static func text(_ value: Double) -> String {
        if value.isInfinite { return value > 0 ? "+Inf" : "-Inf" }
        if value.isNaN { return "NaN" }
        if let whole = Int64(exactly: value), abs(whole) < 1 << 53 { return "\(whole)" }
        return "\(value)"
    }
}
