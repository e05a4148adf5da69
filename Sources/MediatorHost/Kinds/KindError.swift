/// Why a kind of systems cannot be offered, or cannot make a system of the parameters it was given.
package struct KindError: Error, Sendable, Hashable, CustomStringConvertible {
    /// What is wrong, each in a sentence without a full stop; at least one.
    package let flaws: [String]

    /// The same, a line each.
    package var description: String { flaws.joined(separator: "\n") }

    /// An error of this message.
    package init(_ description: String) {
        flaws = [description]
    }

    /// What is wrong, in the words of an error of whatever kind.
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

    /// Collects what is wrong in several places, so that all of it is told at once.
    package struct Collector {
        private var flaws: [String] = []

        package init() {}

        /// Adds something that is wrong.
        package mutating func add(_ flaw: String) { flaws.append(flaw) }

        /// What a body makes, or nil where something is wrong with it.
        package mutating func attempt<Result>(_ body: () throws(KindError) -> Result) -> Result? {
            do {
                return try body()
            } catch {
                flaws += error.flaws
                return nil
            }
        }

        /// - Throws: what has been collected, if there is something.
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
