/// Reads variables, fields, keys and elements (CEL specification, "Field Selection").
enum Access {
    // MARK: Variables

    /// Returns the code that reads a variable. The code compares the value with the declared type if that is a scalar.
    static func variable(_ slot: Int, _ type: StaticType, _ range: SourceRange) -> Code {
        switch type {
        case .bool:
            .bool { frame throws(EvaluationError) in
                guard case .bool(let bool) = frame.variables[slot] else {
                    throw Code.mismatch(frame.variables[slot], "bool", range)
                }
                return bool
            }
        case .int:
            .int { frame throws(EvaluationError) in
                guard case .int(let int) = frame.variables[slot] else {
                    throw Code.mismatch(frame.variables[slot], "int", range)
                }
                return int
            }
        case .uint:
            .uint { frame throws(EvaluationError) in
                guard case .uint(let uint) = frame.variables[slot] else {
                    throw Code.mismatch(frame.variables[slot], "uint", range)
                }
                return uint
            }
        case .double:
            .double { frame throws(EvaluationError) in
                guard case .double(let double) = frame.variables[slot] else {
                    throw Code.mismatch(frame.variables[slot], "double", range)
                }
                return double
            }
        case .string:
            .string { frame throws(EvaluationError) in
                guard case .string(let string) = frame.variables[slot] else {
                    throw Code.mismatch(frame.variables[slot], "string", range)
                }
                return string
            }
        default:
            .value { frame throws(EvaluationError) in frame.variables[slot] }
        }
    }

    // MARK: Fields

    /// The location of a field of a variable.
    struct Field: Sendable {
        let slot: Int
        let index: Int
        /// The declared type, and the address that identifies it.
        let type: StructureType
        let identity: ObjectIdentifier
        let name: String
        let range: SourceRange

        init(slot: Int, index: Int, type: StructureType, name: String, range: SourceRange) {
            self.slot = slot
            self.index = index
            self.type = type
            identity = ObjectIdentifier(type.declaration)
            self.name = name
            self.range = range
        }

        /// Reads the field by its position if the variable holds the declared type, otherwise by its name.
        @inline(__always)
        func value(in frame: borrowing Frame) throws(EvaluationError) -> Value {
            if let value = frame.variables.field(index, of: identity, at: slot) { return value }
            return try Access.select(name, from: frame.variables[slot], at: range)
        }
    }

    /// Returns the code that reads a field of a variable.
    static func field(_ field: Field, _ type: StaticType) -> Code {
        let range = field.range
        switch type {
        case .bool:
            return .bool { frame throws(EvaluationError) in
                let value = try field.value(in: frame)
                guard case .bool(let bool) = value else { throw Code.mismatch(value, "bool", range) }
                return bool
            }
        case .int:
            return .int { frame throws(EvaluationError) in
                let value = try field.value(in: frame)
                guard case .int(let int) = value else { throw Code.mismatch(value, "int", range) }
                return int
            }
        case .uint:
            return .uint { frame throws(EvaluationError) in
                let value = try field.value(in: frame)
                guard case .uint(let uint) = value else { throw Code.mismatch(value, "uint", range) }
                return uint
            }
        case .double:
            return .double { frame throws(EvaluationError) in
                let value = try field.value(in: frame)
                guard case .double(let double) = value else { throw Code.mismatch(value, "double", range) }
                return double
            }
        case .string:
            return .string { frame throws(EvaluationError) in
                let value = try field.value(in: frame)
                guard case .string(let string) = value else { throw Code.mismatch(value, "string", range) }
                return string
            }
        default:
            return .value { frame throws(EvaluationError) in try field.value(in: frame) }
        }
    }

    /// Reads a field of a structure or a string key of a map. An optional value gives an optional field.
    static func select(_ name: String, from value: Value, at range: SourceRange) throws(EvaluationError) -> Value {
        switch value {
        case .structure(let structure):
            guard let field = structure[name] else {
                throw EvaluationError(
                    code: .noSuchField, message: "\(value.typeName) has no field '\(name)'", range: range)
            }
            return field
        case .map(let entries):
            guard let entry = entries[.string(name)] else {
                throw EvaluationError(code: .noSuchKey, message: "the map has no key \"\(name)\"", range: range)
            }
            return entry
        case .optional: return try optionalField(name, of: value, at: range)
        default:
            throw EvaluationError(
                code: .noSuchField, message: "\(value.typeName) has no fields, so no '\(name)'", range: range)
        }
    }

    /// Returns whether a map has a string key, or a field of a structure is set. A field is set unless it is null. A
    /// field that the type does not declare is an error.
    static func has(_ name: String, in value: Value, at range: SourceRange) throws(EvaluationError) -> Bool {
        if case .map(let entries) = value { return entries[.string(name)] != nil }
        if case .optional = value {
            guard let value = unwrapped(value) else { return false }
            return try has(name, in: value, at: range)
        }
        return try select(name, from: value, at: range) != .null
    }

    /// Reads a field or key that may be missing, from the content of an optional value. A field of a structure that is
    /// null counts as missing; one that its type does not declare is an error.
    static func optionalField(
        _ name: String, of value: Value, at range: SourceRange
    ) throws(EvaluationError) -> Value {
        guard let value = unwrapped(value) else { return .optional(nil) }
        if case .map(let entries) = value { return .optional(entries[.string(name)]) }
        let field = try select(name, from: value, at: range)
        return .optional(field == .null ? nil : field)
    }

    /// Returns the content of an optional value, also if that is optional; nil if it is empty.
    private static func unwrapped(_ value: Value) -> Value? {
        var value = value
        while case .optional(let wrapped) = value {
            guard let wrapped else { return nil }
            value = wrapped
        }
        return value
    }

    // MARK: Elements

    /// Reads an element or key that may be missing, from the content of an optional value.
    static func optionalElement(
        of container: Value, at index: Value, _ range: SourceRange
    ) throws(EvaluationError) -> Value {
        guard let container = unwrapped(container) else { return .optional(nil) }
        switch container {
        case .list(let elements):
            let position = try position(of: index, range)
            return .optional(position.flatMap { elements.indices.contains($0) ? elements[$0] : nil })
        case .map(let entries): return .optional(MapKeys.value(of: index, in: entries))
        default: return try element(of: container, at: index, range)
        }
    }

    /// Returns a position as an integer, or nil if the number is not an integer.
    private static func position(of index: Value, _ range: SourceRange) throws(EvaluationError) -> Int? {
        switch index {
        case .int(let int): return Int(exactly: int)
        case .uint(let uint): return Int(exactly: uint)
        case .double(let double): return MapKeys.int(of: double).flatMap { Int(exactly: $0) }
        default: throw Code.mismatch(index, "an int index", range)
        }
    }

    /// Reads the element of a list or the value of a key of a map.
    static func element(
        of container: Value, at index: Value, _ range: SourceRange
    ) throws(EvaluationError) -> Value {
        switch container {
        case .list(let elements):
            guard let position = try position(of: index, range), elements.indices.contains(position) else {
                throw EvaluationError(
                    code: .indexOutOfRange,
                    message: "the index \(index) is out of range for a list of \(elements.count)", range: range)
            }
            return elements[position]
        case .map(let entries):
            guard let value = MapKeys.value(of: index, in: entries) else {
                throw EvaluationError(
                    code: .noSuchKey, message: "the map has no key \(ValueExcerpt.text(of: index))", range: range)
            }
            return value
        case .optional: return try optionalElement(of: container, at: index, range)
        default:
            throw EvaluationError(
                code: .noSuchOverload,
                message: "\(container.typeName) has no elements; only lists and maps are indexed", range: range
            )
        }
    }
}
