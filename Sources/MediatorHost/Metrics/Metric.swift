/// A metric of the running host, in the data model of Prometheus. It has a name, a description, and a sample for each
/// measured object.
public struct Metric: Sendable, Hashable {
    /// The kind of a metric.
    public enum Kind: String, Sendable, Hashable {
        /// A value that only grows, from the start of the measured object.
        case counter
        /// A value that goes up and down.
        case gauge
        /// The number of observations within each of several bounds.
        case histogram
    }

    /// One value of a metric.
    public struct Sample: Sendable, Hashable {
        /// The suffix of the metric's name: `_bucket`, `_sum` or `_count` for a histogram, otherwise empty.
        public var suffix = ""
        /// The labels that identify the measured object, in the order of printing.
        public var labels: [Label]
        /// The value.
        public var value: Double
    }

    /// A name and a value that identify a measured object.
    public struct Label: Sendable, Hashable {
        /// The name, such as `system`.
        public var name: String
        /// The value, which may be any text.
        public var value: String

        /// Creates a label.
        public init(_ name: String, _ value: String) {
            self.name = name
            self.value = value
        }
    }

    /// The name, by the rules of Prometheus. It contains the unit, and ends with `_total` for a counter.
    public let name: String
    /// The description in one sentence.
    public let help: String
    /// The kind of the metric.
    public let kind: Kind
    /// The samples.
    public private(set) var samples: [Sample] = []

    /// Creates a metric without values.
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
    /// The metrics in the text format of Prometheus, version 0.0.4. Metrics without values are left out.
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

    /// Returns a number in the syntax of Go. A whole number below 2^53 has no decimal point.
    private static func text(_ value: Double) -> String {
        if value.isInfinite { return value > 0 ? "+Inf" : "-Inf" }
        if value.isNaN { return "NaN" }
        if let whole = Int64(exactly: value), abs(whole) < 1 << 53 { return "\(whole)" }
        return "\(value)"
    }
}
