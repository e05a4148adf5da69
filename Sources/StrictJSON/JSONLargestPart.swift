extension JSONValue {
    /// The deepest level of the search.
    private static let deepestPart = 16

    /// Returns the path of the part that makes a text long, such as `systems[3] 'door'.state.data.list`. The search
    /// descends while one part is more than half of its parent.
    ///
    /// - Complexity: O(size), once for each level.
    package static func largestPart(of members: JSONObject) -> String {
        var path = ""
        var present = JSONValue.object(members)
        for _ in 0..<deepestPart {
            guard let part = present.largestChild, part.length * 2 > present.roughLength else { break }
            path += part.name.hasPrefix("[") || path.isEmpty ? part.name : ".\(part.name)"
            present = part.value
        }
        return path
    }

    private var largestChild: (name: String, value: JSONValue, length: Int)? {
        switch self {
        case .array(let elements):
            return elements.enumerated().map { index, element in
                var name = "[\(index)]"
                if let own = element.objectValue?["name"]?.stringValue { name += " '\(own)'" }
                return (name, element, element.roughLength)
            }.max { $0.length < $1.length }
        case .object(let members):
            return members.map { ($0.key, $0.value, $0.value.roughLength) }.max { $0.length < $1.length }
        default: return nil
        }
    }

    /// The approximate length of its text.
    package var roughLength: Int {
        switch self {
        case .null, .bool, .int, .uint, .double: 8
        case .string(let text): text.utf8.count + 3
        case .array(let elements): elements.reduce(2) { $0 + $1.roughLength }
        case .object(let members): members.reduce(2) { $0 + $1.key.utf8.count + 4 + $1.value.roughLength }
        }
    }
}
