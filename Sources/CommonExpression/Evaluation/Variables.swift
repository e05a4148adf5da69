/// The values of an environment's variables, in its order, for several evaluations.
///
/// A caller that evaluates several programs at each event creates this value once. It allocates nothing for up to three
/// variables.
public struct Variables: ~Copyable {
    /// The state of an evaluation.
    var frame: Frame

    /// Creates any number of values.
    public init(_ values: [Value]) {
        frame = Frame(VariableSlots(values))
    }

    /// Creates two values.
    public init(_ first: Value, _ second: Value) {
        frame = Frame(VariableSlots(first, second, .null, count: 2))
    }

    /// Creates three values.
    public init(_ first: Value, _ second: Value, _ third: Value) {
        frame = Frame(VariableSlots(first, second, third, count: 3))
    }

    /// The value at a position.
    public subscript(slot: Int) -> Value { frame.variables[slot] }

    /// The number of steps of the last evaluation.
    package var steps: Int { frame.steps }
}

/// The values of variables, in their order.
struct VariableSlots {
    /// A value, split into the parts of a structure, so that reading a field does not copy the whole structure.
    private struct Slot {
        let type: StructureType?
        /// The address that identifies the type.
        let identity: ObjectIdentifier?
        /// The fields of a structure.
        let fields: [Value]
        /// A value that is not a structure.
        let other: Value

        @inline(__always)
        init(_ value: Value) {
            if case .structure(let structure) = value {
                type = structure.type
                identity = ObjectIdentifier(structure.type.declaration)
                fields = structure.fields
                other = .null
            } else {
                type = nil
                identity = nil
                fields = []
                other = value
            }
        }

        var value: Value {
            guard let type else { return other }
            return .structure(Structure(type: type, fields: fields))
        }

        /// Returns the field at a position if the value is a structure of that type.
        @inline(__always)
        func field(_ index: Int, of identity: ObjectIdentifier) -> Value? {
            self.identity == identity && index < fields.count ? fields[index] : nil
        }
    }

    private let first: Slot
    private let second: Slot
    private let third: Value
    /// The values after the third; nil if there are at most three.
    private let others: [Value]?
    /// The number of values.
    let count: Int

    @inline(__always)
    init(_ first: Value, _ second: Value, _ third: Value, count: Int) {
        self.first = Slot(first)
        self.second = Slot(second)
        self.third = third
        others = nil
        self.count = count
    }

    init(_ values: [Value]) {
        first = Slot(values.isEmpty ? .null : values[0])
        second = Slot(values.count < 2 ? .null : values[1])
        third = values.count < 3 ? .null : values[2]
        others = values.count > 3 ? Array(values[3...]) : nil
        count = values.count
    }

    /// The value at a position, which must be less than ``count``.
    subscript(slot: Int) -> Value {
        switch slot {
        case 0: first.value
        case 1: second.value
        case 2: third
        default: others?[slot - 3] ?? .null
        }
    }

    /// Returns the field at a position of the structure at a slot if the structure has the type, which its address
    /// identifies.
    @inline(__always)
    func field(_ index: Int, of identity: ObjectIdentifier, at slot: Int) -> Value? {
        switch slot {
        case 0: return first.field(index, of: identity)
        case 1: return second.field(index, of: identity)
        default:
            guard case .structure(let structure) = self[slot], ObjectIdentifier(structure.type.declaration) == identity,
                index < structure.fields.count
            else { return nil }
            return structure.fields[index]
        }
    }
}
