package import CommonExpression

/// A value that is kept to be shown later: the whole value, or the beginning of a long one.
///
/// A result of a side effect may take 1 MiB, and states and traces keep many results.
package enum Excerpt {
    /// The approximate maximum of bytes in the texts of an excerpt.
    package static let longest = 2048
    /// The maximum number of elements in all lists and maps of an excerpt.
    package static let mostElements = 64

    /// The room that remains.
    private struct Room {
        var bytes = Excerpt.longest
        var elements = Excerpt.mostElements
    }

    /// Returns the excerpt of a value.
    ///
    /// - Complexity: Linear in the size of the excerpt and in the number of fields of the value.
    package static func of(_ value: Value) -> Value {
        var room = Room()
        return excerpt(value, &room)
    }

    private static func excerpt(_ value: Value, _ room: inout Room) -> Value {
        switch value {
        case .string(let text):
            let count = text.utf8.count
            guard count > room.bytes else {
                room.bytes -= count
                return value
            }
            var kept = String()
            for scalar in text.unicodeScalars {
                let width = UTF8.width(scalar)
                guard width <= room.bytes else { break }
                room.bytes -= width
                kept.unicodeScalars.append(scalar)
            }
            room.bytes = 0
            return .string(kept + "…")
        case .bytes(let bytes):
            guard bytes.count > room.bytes else {
                room.bytes -= bytes.count
                return value
            }
            defer { room.bytes = 0 }
            return .bytes(Array(bytes.prefix(room.bytes)))
        case .list(let list):
            var kept: [Value] = []
            for element in list {
                guard room.elements > 0 else { break }
                room.elements -= 1
                kept.append(excerpt(element, &room))
            }
            return .list(kept)
        case .map(let map):
            var kept: [Value: Value] = [:]
            for (key, element) in map {
                guard room.elements > 0 else { break }
                room.elements -= 1
                kept.updateValue(excerpt(element, &room), forKey: excerpt(key, &room))
            }
            return .map(kept)
        case .structure(let structure):
            return .structure(
                Structure(type: structure.type, fields: structure.fields.map { excerpt($0, &room) }))
        default: return value
        }
    }
}
