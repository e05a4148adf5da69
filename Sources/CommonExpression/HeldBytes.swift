extension Value {
    /// How many parts of a value are looked at to tell how much it holds.
    private static let mostParts = 100_000
    /// What lies before the contents of a text or a list, and is set aside with them.
    private static let header = 32

    /// About how many bytes of memory it holds beside itself. Of what is shared with others all is counted. Of a value with more
    /// than a hundred thousand parts the rest is counted as if it held nothing beside itself.
    ///
    /// - Complexity: O(size), at most a hundred thousand parts.
    package var heldBytes: Int {
        var parts = Self.mostParts
        return heldBytes(&parts)
    }

    private func heldBytes(_ parts: inout Int) -> Int {
        switch self {
        case .null, .bool, .int, .uint, .double, .timestamp, .duration, .typeValue: return 0
        case .string(let string):
            let count = string.utf8.count
            // Short ones lie in the value itself.
            return count > 15 ? Self.header + count : 0
        case .bytes(let bytes): return bytes.isEmpty ? 0 : Self.header + bytes.count
        case .list(let list): return Self.heldBytes(list, &parts)
        case .structure(let structure): return Self.heldBytes(structure.fields, &parts)
        case .map(let map):
            var bytes = Self.header + 2 * map.capacity * MemoryLayout<Value>.stride
            for (key, value) in map {
                guard parts > 0 else { break }
                parts -= 2
                bytes += key.heldBytes(&parts) + value.heldBytes(&parts)
            }
            return bytes
        case .optional(let value):
            parts -= 1
            return MemoryLayout<Value>.stride + (value?.heldBytes(&parts) ?? 0)
        }
    }

    private static func heldBytes(_ values: [Value], _ parts: inout Int) -> Int {
        var bytes = values.isEmpty ? 0 : header + values.count * MemoryLayout<Value>.stride
        for value in values {
            guard parts > 0 else { break }
            parts -= 1
            bytes += value.heldBytes(&parts)
        }
        return bytes
    }
}
