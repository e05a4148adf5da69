/// An error of a kind of systems that cannot be offered, or that cannot make a system from its parameters.
package struct KindError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The flaws, each as a sentence without a full stop. There is at least one.
    package let flaws: [String]

    /// The flaws, one per line.
    package var description: String { flaws.joined(separator: "\n") }

    /// Creates an error with one flaw.
    package init(_ description: String) {
        flaws = [description]
    }

    /// Creates an error from any other error, and puts the place before each flaw.
    init(_ error: any Error, in place: String) {
        let reason: String
        switch error {
        case let error as KindError:
            self.init(flaws: error.flaws.map { "\(place): \($0)" })
            return
        case DecodingError.keyNotFound(let key, let context):
            reason = Self.path(context.codingPath + [key]) + "is missing"
        case DecodingError.typeMismatch(_, let context), DecodingError.valueNotFound(_, let context),
            DecodingError.dataCorrupted(let context):
            reason = Self.path(context.codingPath) + context.debugDescription
        case EncodingError.invalidValue(_, let context):
            reason = Self.path(context.codingPath) + context.debugDescription
        default: reason = "\(error)"
        }
        self.init("\(place): \(reason)")
    }

    private init(flaws: [String]) {
        self.flaws = flaws
    }

    /// A collector of flaws from several places, so that one error reports all of them.
    package struct Collector {
        private var flaws: [String] = []

        /// Creates an empty collector.
        package init() {}

        /// Adds a flaw.
        package mutating func add(_ flaw: String) { flaws.append(flaw) }

        /// Returns the result of a body. If the body throws, collects its flaws and returns `nil`.
        package mutating func attempt<Result>(_ body: () throws(KindError) -> Result) -> Result? {
            do {
                return try body()
            } catch {
                flaws += error.flaws
                return nil
            }
        }

        /// - Throws: The collected flaws, if the collector is not empty.
        package func check() throws(KindError) {
            if !flaws.isEmpty { throw KindError(flaws: flaws) }
        }
    }

    private static func path(_ path: [any CodingKey]) -> String {
        var text = ""
        for key in path {
            if let index = key.intValue {
                text += "[\(index)]"
            } else {
                text += (text.isEmpty ? "" : ".") + key.stringValue
            }
        }
        return path.isEmpty ? "" : "the field '\(text)': "
    }
}
