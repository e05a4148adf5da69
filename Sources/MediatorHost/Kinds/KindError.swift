/// Why a kind of systems cannot be offered, or cannot make a system of the parameters it was given.
package struct KindError: Error, Sendable, Hashable, CustomStringConvertible {
    /// What is wrong, in a sentence without a full stop.
    package let description: String

    /// An error of this message.
    package init(_ description: String) {
        self.description = description
    }

    /// What is wrong, in the words of an error of whatever kind.
    init(_ error: any Error, in place: String) {
        let reason: String
        switch error {
        case let error as KindError: reason = error.description
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
