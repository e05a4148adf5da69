/// Comparison and search by code points (CEL specification, "String and Bytes Values"). The language does not
/// normalize, so these functions work on UTF-8, whose bytewise order is the order of the code points.
extension String {
    /// Returns whether both texts hold the same code points.
    func hasSameScalars(as other: String) -> Bool {
        let (left, right) = (utf8, other.utf8)
        guard left.count == right.count else { return false }
        let same = left.withContiguousStorageIfAvailable { left in
            right.withContiguousStorageIfAvailable { right in ByteOrder.areEqual(left, right) }
        }
        if let same, let same { return same }
        return left.elementsEqual(right)
    }

    /// Returns the order of two texts by code points.
    func scalarOrder(to other: String) -> Comparison {
        let (left, right) = (utf8, other.utf8)
        let order = left.withContiguousStorageIfAvailable { left in
            right.withContiguousStorageIfAvailable { right in ByteOrder.compare(left, right) }
        }
        if let order, let order { return order }
        return ByteOrder.compare(Array(left), Array(right))
    }

    /// Returns whether the text begins with the code points of another.
    func beginsWithScalars(of prefix: String) -> Bool {
        utf8.starts(with: prefix.utf8)
    }

    /// Returns whether the text ends with the code points of another.
    func endsWithScalars(of suffix: String) -> Bool {
        let (text, end) = (utf8, suffix.utf8)
        return text.count >= end.count && text.suffix(end.count).elementsEqual(end)
    }

    /// Returns whether the text contains the code points of another in a row. Linear in the sum of both lengths.
    func containsScalars(of part: String) -> Bool {
        SequenceSearch.first(Array(part.utf8), in: Array(utf8)) != nil
    }
}

/// The outcome of a comparison; `unordered` if one side is not a number.
enum Comparison: UInt8, Sendable {
    case less = 1
    case equal = 2
    case greater = 4
    case unordered = 8
}

/// Comparison of sequences of octets.
enum ByteOrder {
    /// Returns whether two buffers of the same length hold the same octets.
    static func areEqual(_ left: UnsafeBufferPointer<UInt8>, _ right: UnsafeBufferPointer<UInt8>) -> Bool {
        guard let leftBase = left.baseAddress, let rightBase = right.baseAddress else { return left.isEmpty }
        let (leftBytes, rightBytes) = (UnsafeRawPointer(leftBase), UnsafeRawPointer(rightBase))
        var index = 0
        while index + 8 <= left.count {
            let leftWord = leftBytes.loadUnaligned(fromByteOffset: index, as: UInt64.self)
            let rightWord = rightBytes.loadUnaligned(fromByteOffset: index, as: UInt64.self)
            if leftWord != rightWord { return false }
            index += 8
        }
        while index < left.count {
            if left[index] != right[index] { return false }
            index += 1
        }
        return true
    }

    /// Returns the lexicographic order of two sequences of octets.
    static func compare<Bytes: RandomAccessCollection<UInt8>>(_ left: Bytes, _ right: Bytes) -> Comparison {
        for (leftByte, rightByte) in zip(left, right) where leftByte != rightByte {
            return leftByte < rightByte ? .less : .greater
        }
        if left.count == right.count { return .equal }
        return left.count < right.count ? .less : .greater
    }
}
