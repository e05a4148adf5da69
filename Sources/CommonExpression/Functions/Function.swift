/// A function of the language: its overloads for the checker, and its implementation.
struct Function: Sendable {
    /// A function of one operand, the receiver or the argument. It takes any value and throws `noSuchOverload` for a
    /// value without an overload.
    typealias Unary = @Sendable (Value, SourceRange, inout Frame) throws(EvaluationError) -> Value
    /// A function of two operands.
    typealias Binary = @Sendable (Value, Value, SourceRange, inout Frame) throws(EvaluationError) -> Value
    /// A function of any number of operands, with the receiver first.
    typealias General = @Sendable ([Value], SourceRange, inout Frame) throws(EvaluationError) -> Value

    /// Makes a function of the first operand alone if the second is a constant; nil if that is not possible.
    typealias Specialize = @Sendable (_ argument: Value, Limits) -> Unary?

    struct Overload: Sendable {
        /// A Boolean value that indicates whether it is called as `receiver.name(…)`.
        let isMember: Bool
        /// The parameters, with the receiver first.
        let parameters: [Parameter]
        /// The type of the result. A type parameter has the same meaning as in the parameters.
        let result: StaticType
        /// Computes the type of the result for a function of any number of operands, whose parameters do not determine
        /// it.
        private let computation: Computation?
        /// The form of that function in messages.
        let form: String?

        typealias Computation = @Sendable (_ operands: [StaticType]) -> StaticType?

        init(isMember: Bool, parameters: [Parameter], result: StaticType) {
            self.isMember = isMember
            self.parameters = parameters
            self.result = result
            computation = nil
            form = nil
        }

        init(isMember: Bool, form: String, computation: @escaping Computation) {
            self.isMember = isMember
            parameters = []
            result = .dyn
            self.computation = computation
            self.form = form
        }

        /// Returns whether the receiver of a member call may be of this type.
        func accepts(receiver: StaticType) -> Bool {
            var assignments = TypeAssignments()
            return parameters.first?.accepts(receiver, &assignments) == true
        }

        /// Returns the type of the result for operands of these types, or nil if they do not fit.
        func result(for operands: [StaticType]) -> StaticType? {
            if let computation { return computation(operands) }
            guard operands.count == parameters.count else { return nil }
            var assignments = TypeAssignments()
            for (parameter, operand) in zip(parameters, operands) where !parameter.accepts(operand, &assignments) {
                return nil
            }
            return assignments.resolve(result)
        }
    }

    /// The operands that an overload takes.
    enum Parameter: Sendable, CustomStringConvertible {
        case type(StaticType)
        case any
        case anyList
        case anyMap

        func accepts(_ type: StaticType, _ assignments: inout TypeAssignments) -> Bool {
            switch (self, type) {
            case (.type(let needed), _): assignments.unify(needed, type)
            case (_, _) where type.isUnknown: true
            case (.any, _), (.anyList, .list), (.anyMap, .map): true
            default: false
            }
        }

        var description: String {
            switch self {
            case .type(let type): type.description
            case .any: "any value"
            case .anyList: "list"
            case .anyMap: "map"
            }
        }
    }

    /// The operands that the result may hold one level deeper.
    enum Nesting: Sendable {
        case none
        /// All operands but the receiver, whose elements stay at their level.
        case arguments
        case operands
    }

    /// The name with its namespace: `size`, `strings.quote`.
    let name: String
    let overloads: [Overload]
    let unary: Unary?
    let binary: Binary?
    let general: General?
    /// The result if the receiver alone determines it. The argument is not evaluated then.
    let shortcut: (@Sendable (_ receiver: Value) -> Value?)?
    let specialize: Specialize?
    let nesting: Nesting
    /// A Boolean value that indicates whether the result may depend on more than the operands. Such a function is called at
    /// evaluation only.
    let isImpure: Bool

    init(
        _ name: String, _ overloads: [Overload], unary: Unary? = nil, binary: Binary? = nil, general: General? = nil,
        shortcut: (@Sendable (_ receiver: Value) -> Value?)? = nil, specialize: Specialize? = nil,
        nesting: Nesting = .none, isImpure: Bool = false
    ) {
        self.name = name
        self.overloads = overloads
        self.unary = unary
        self.binary = binary
        self.general = general
        self.shortcut = shortcut
        self.specialize = specialize
        self.nesting = nesting
        self.isImpure = isImpure
    }
}

extension Function.Overload {
    /// Returns an overload called as `name(…)`.
    static func function(_ parameters: StaticType..., result: StaticType) -> Self {
        Self(isMember: false, parameters: parameters.map { .type($0) }, result: result)
    }

    /// Returns an overload called as `receiver.name(…)`, with the receiver's type first.
    static func member(_ parameters: StaticType..., result: StaticType) -> Self {
        Self(isMember: true, parameters: parameters.map { .type($0) }, result: result)
    }
}

/// The values of an overload's type parameters in one call.
struct TypeAssignments: Sendable {
    private var types: [String: StaticType] = [:]

    /// Returns whether a value of a type may be used where the other is needed. Assigns the type parameters in the
    /// needed type.
    mutating func unify(_ needed: StaticType, _ type: StaticType) -> Bool {
        switch (needed, type) {
        case (.parameter(let name), _):
            guard let joined = (types[name] ?? .open).joined(with: type) else { return false }
            types[name] = joined
            return true
        case (.list(let needed), .list(let element)): return unify(needed, element)
        case (.map(let neededKey, let neededValue), .map(let key, let value)):
            return unify(neededKey, key) && unify(neededValue, value)
        case (.optional(let needed), .optional(let wrapped)): return unify(needed, wrapped)
        default: return type.fits(needed)
        }
    }

    /// Replaces the type parameters in a type. An unassigned parameter becomes a type that fits everywhere.
    func resolve(_ type: StaticType) -> StaticType {
        switch type {
        case .parameter(let name): types[name] ?? .open
        case .list(let element): .list(resolve(element))
        case .map(let key, let value): .map(resolve(key), resolve(value))
        case .optional(let wrapped): .optional(resolve(wrapped))
        default: type
        }
    }
}
