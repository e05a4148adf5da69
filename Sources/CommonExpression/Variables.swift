/// The values of an environment's variables, in its order, for one evaluation after the other.
///
/// Who evaluates several programs at each event makes them once, and allocates nothing for them: the first three lie in it.
public struct Variables: ~Copyable {
    /// What evaluations work with.
    var frame: Frame

    /// Any number of values.
    public init(_ values: [Value]) {
        frame = Frame(VariableSlots(values))
    }

    /// Two values.
    public init(_ first: Value, _ second: Value) {
        frame = Frame(VariableSlots(first, second, .null, count: 2))
    }

    /// Three values.
    public init(_ first: Value, _ second: Value, _ third: Value) {
        frame = Frame(VariableSlots(first, second, third, count: 3))
    }

    /// The value at a position.
    public subscript(slot: Int) -> Value { frame.variables[slot] }

    /// How many steps the last evaluation has taken.
    package var steps: Int { frame.steps }
}

/// The values of variables, in their order.
struct VariableSlots {
    /// A value; of a structure its parts, so that who reads a field of it need not copy the whole.
    private struct Slot {
        let type: StructureType?
        /// The address by which the type is recognised.
        let identity: ObjectIdentifier?
        /// Of a structure.
        let fields: [Value]
        /// What is no structure.
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

        /// The field at a position, if it is a structure of that type.
        @inline(__always)
        func field(_ index: Int, of identity: ObjectIdentifier) -> Value? {
            self.identity == identity && index < fields.count ? fields[index] : nil
        }
    }

    private let first: Slot
    private let second: Slot
    private let third: Value
    /// Those beyond; nil: there are none.
    private let others: [Value]?
    /// How many there are.
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

    /// The field at a position of the structure at another, if it is of a type, which is known by its address.
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
