/// A value with named fields, in the order of its type. A copy costs two reference counts, and access by index takes
/// constant time.
public struct Structure: Sendable, Hashable {
    /// The type, which names the fields.
    public let type: StructureType
    /// One value per field of the type, in its order. Reading a field without a value fails with `noSuchField`. Surplus
    /// values are unreachable.
    public var fields: [Value]

    /// Creates a structure.
    /// - Parameters:
    ///   - type: The type.
    ///   - fields: One value per field of the type, in its order.
    public init(type: StructureType, fields: [Value]) {
        self.type = type
        self.fields = fields
    }

    /// The value of the field with that name, or nil if the type has no such field. Linear in the number of fields.
    public subscript(name: String) -> Value? {
        guard let index = type.index(of: name), index < fields.count else { return nil }
        return fields[index]
    }
}

/// A type with named, ordered fields. Two types are equal if their names and fields are equal.
///
/// The declaration is behind a reference. Copies are therefore cheap, and comparing a type with itself compares
/// addresses.
public struct StructureType: Sendable {
    /// A field's declaration.
    public struct Field: Sendable, Hashable {
        /// The field's name.
        public let name: String
        /// The type of its values.
        public let type: ValueType

        /// Declares a field.
        public init(name: String, type: ValueType) {
            self.name = name
            self.type = type
        }
    }

    /// The shared declaration.
    final class Declaration: Sendable {
        let name: String
        let fields: [Field]

        init(name: String, fields: [Field]) {
            self.name = name
            self.fields = fields
        }
    }

    let declaration: Declaration

    /// Declares a type.
    /// - Parameters:
    ///   - name: The name in messages; empty for an anonymous type.
    ///   - fields: The fields, in order. Of two fields with one name only the first is reachable.
    public init(name: String, fields: [Field]) {
        declaration = Declaration(name: name, fields: fields)
    }

    /// The name in messages; empty for an anonymous type.
    public var name: String { declaration.name }

    /// The fields, in order.
    public var fields: [Field] { declaration.fields }

    /// Returns the position of the field with that name, or nil if the type has no such field. Linear in the number of
    /// fields.
    public func index(of name: String) -> Int? {
        declaration.fields.firstIndex { $0.name.hasSameScalars(as: name) }
    }
}

extension StructureType: Hashable {
    /// Returns whether both types have the same name and the same fields.
    public static func == (left: StructureType, right: StructureType) -> Bool {
        left.declaration === right.declaration
            || (left.declaration.name == right.declaration.name && left.declaration.fields == right.declaration.fields)
    }

    /// Feeds name and field names to the hasher.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(declaration.name)
        for field in declaration.fields { hasher.combine(field.name) }
    }
}
