package import CommonExpression

/// What is kept of a value that is only to be told later: all of it, or of a long one its beginning.
///
/// Results of side effects may be a mebibyte long, and states and traces keep many.
package enum Excerpt {
    /// How many bytes of texts are kept, about.
    package static let longest = 2048
    /// How many elements are kept, in all lists and maps.
    package static let mostElements = 64

    /// What is left of the room there is.
    private struct Room {
        var bytes = Excerpt.longest
        var elements = Excerpt.mostElements
    }

    /// The excerpt of a value. Linear in what is kept of it, and in the number of its fields.
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
