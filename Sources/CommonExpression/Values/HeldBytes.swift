extension Value {
    /// The number of bytes after which measuring a value stops.
    package static let mostHeldBytes = 32 << 20
    /// The size of the allocation header of a text or list.
    private static let header = 32

    /// The approximate number of bytes of memory that the value holds outside itself. Shared memory counts in full.
    ///
    /// - Complexity: O(size), bounded by ``mostHeldBytes``.
    package var heldBytes: Int { heldBytes(upTo: Self.mostHeldBytes) }

    /// Returns the same number; a result above the limit means only that the value holds more than the limit.
    ///
    /// - Complexity: O(size), bounded by the limit.
    package func heldBytes(upTo limit: Int) -> Int {
        var room = limit
        take(from: &room)
        return limit - room
    }

    /// Subtracts the held bytes from the remaining room, and stops when the room is used up.
    private func take(from room: inout Int) {
        switch self {
        case .null, .bool, .int, .uint, .double, .timestamp, .duration, .typeValue: break
        case .string(let string):
            let count = string.utf8.count
            // A short text is stored in the value itself.
            if count > 15 { room -= Self.header + count }
        case .bytes(let bytes): if !bytes.isEmpty { room -= Self.header + bytes.count }
        case .list(let list): Self.take(list, from: &room)
        case .structure(let structure): Self.take(structure.fields, from: &room)
        case .map(let map):
            room -= Self.header + 2 * map.capacity * MemoryLayout<Value>.stride
            for (key, value) in map {
                guard room >= 0 else { return }
                key.take(from: &room)
                value.take(from: &room)
            }
        case .optional(let value):
            room -= MemoryLayout<Value>.stride
            value?.take(from: &room)
        }
    }

    private static func take(_ values: [Value], from room: inout Int) {
        guard !values.isEmpty else { return }
        room -= header + values.count * MemoryLayout<Value>.stride
        for value in values {
            guard room >= 0 else { return }
            value.take(from: &room)
        }
    }
}

extension ValueType {
    /// A Boolean value that indicates whether values of the type may hold other values.
    var mayHoldParts: Bool {
        switch self {
        case .list, .map, .structure, .optional, .dyn: true
        case .null, .bool, .int, .uint, .double, .string, .bytes, .timestamp, .duration, .type: false
        }
    }

    /// A Boolean value that indicates whether values of the type may hold more than a fixed number of bytes.
    package var mayGrow: Bool {
        switch self {
        case .string, .bytes: true
        case .structure(let type): type.fields.contains { $0.type.mayGrow }
        default: mayHoldParts
        }
    }
}
