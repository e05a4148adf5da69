/// What was parsed: nodes in one array, every child before its parent.
///
/// The flat form lets checker and compiler walk the tree front to back without recursion, and lets a tree of any shape
/// be destroyed in constant stack space.
struct SyntaxTree: Sendable {
    /// A node's position in ``nodes``.
    typealias ID = Int

    struct Node: Sendable {
        var kind: Kind
        /// The source of the node with all its operands, and the parentheses around it.
        var range: SourceRange
        /// The levels of evaluation the node needs; see ``SyntaxTree/spine(of:)``.
        let height: Int
        /// The number of operators in a row along the left operand, this one included; 0 for other nodes.
        let spine: Int
        var isParenthesized = false
    }

    enum Kind: Sendable {
        /// A part that was reported, or a node whose operands another took over. Evaluation never reaches it.
        case none
        case literal(Value)
        case variable(name: String)
        /// The variable of a macro, by its position in ``SyntaxTree/bindings``.
        case binding(Int)
        case select(operand: ID, name: Name)
        /// `has(operand.name)`.
        case has(operand: ID, name: Name)
        case index(operand: ID, index: ID)
        /// `operand.?name`.
        case optionalSelect(operand: ID, name: Name)
        /// `operand[?index]`.
        case optionalIndex(operand: ID, index: ID)
        /// A call; the receiver of a member call is the first operand.
        case call(function: Name, hasReceiver: Bool, operands: [ID])
        case unary(UnaryOperator, operand: ID)
        case binary(BinaryOperator, left: ID, right: ID, operatorRange: SourceRange)
        /// `a && b && c` or `a || b || c`.
        case logic(LogicOperator, operands: [ID])
        case conditional(condition: ID, then: ID, otherwise: ID)
        case list([Element])
        case map([Entry])
        case comprehension(Comprehension)
        /// `cel.bind(name, value, body)`.
        case bind(Bind)
        /// `operand.optMap(name, body)` and `operand.optFlatMap(name, body)`.
        case optionalMap(OptionalMap)
    }

    struct Name: Sendable {
        let text: String
        let range: SourceRange
    }

    /// An element of a list literal.
    struct Element: Sendable {
        let value: ID
        /// Whether it is written `?value`: an optional value, of which none is left out.
        let isOptional: Bool
    }

    /// An entry of a map literal.
    struct Entry: Sendable {
        let key: ID
        let value: ID
        /// Whether it is written `?key: value`: an optional value, of which none is left out.
        let isOptional: Bool
    }

    /// A name for a value within another expression.
    struct Bind: Sendable {
        let slot: Int
        let value: ID
        let body: ID
    }

    /// What becomes of an optional value that is there.
    struct OptionalMap: Sendable {
        let slot: Int
        let operand: ID
        let body: ID
        /// Whether the body gives an optional value itself.
        let isFlat: Bool
        let nameRange: SourceRange
    }

    /// A macro that walks over a list or map.
    struct Comprehension: Sendable {
        let macro: Macro
        let macroRange: SourceRange
        let range: ID
        /// The first slot for its variables; a second one follows where there are two.
        let slot: Int
        let hasTwoVariables: Bool
        /// The condition of `filter` and of the longer forms of `map` and its like.
        let filter: ID?
        /// The predicate or the transformation; nil for `filter`.
        let body: ID?
        /// The steps one turn costs.
        let weight: Int
    }

    /// A variable of a macro.
    struct Binding: Sendable {
        enum Role: Sendable {
            /// The only variable: an element of a list or a key of a map.
            case item
            /// The first of two: the position in a list or the key of a map.
            case key
            /// The second of two: the element of a list or the value of a map.
            case value
            /// A name for the value itself.
            case bound
            /// A name for what an optional value holds.
            case unwrapped
        }

        let slot: Int
        let role: Role
        /// What the macro walks over or names.
        let range: ID
    }

    /// Operators in a row along the left operand, such as `a + b + c` or `a.b.c`, are evaluated by nested calls up to
    /// this length, and by a loop beyond it, so that they cost no more stack however long they are.
    static let longestNestedSpine = 8

    var nodes: [Node] = []
    var bindings: [Binding] = []
    /// How many slots the variables of macros need.
    var slots = 0
    var root: ID = 0

    /// The greatest parts that are made of literals alone and compute something: their value is always the same, or none.
    /// Of `a && b` and `c ? a : b` the operands count by themselves, since not all of them are evaluated.
    var computedConstants: [ID] {
        // The innermost of them computes with literals. Most expressions have none.
        guard nodes.indices.contains(where: computesWithLiterals) else { return [] }
        var isConstant: [Bool] = []
        var computes: [Bool] = []
        var parts: Set<ID> = []
        for id in nodes.indices {
            let operands = operands(of: id)
            let areConstant = operands.allSatisfy { isConstant[$0] }
            let compute = operands.contains { computes[$0] }
            switch nodes[id].kind {
            case .literal, .list, .map:
                isConstant.append(areConstant)
                computes.append(compute)
            case .call, .index, .unary, .binary:
                isConstant.append(areConstant)
                computes.append(true)
            default:
                isConstant.append(false)
                computes.append(true)
            }
            guard isConstant[id], computes[id] else { continue }
            parts.subtract(operands)
            parts.insert(id)
        }
        return parts.sorted()
    }

    private func computesWithLiterals(_ id: ID) -> Bool {
        func isLiteral(_ id: ID) -> Bool {
            switch nodes[id].kind {
            case .literal, .list, .map: true
            default: false
            }
        }
        switch nodes[id].kind {
        case .call(_, _, let operands): return operands.allSatisfy(isLiteral)
        case .index(let operand, let index): return isLiteral(operand) && isLiteral(index)
        case .unary(_, let operand): return isLiteral(operand)
        case .binary(_, let left, let right, _): return isLiteral(left) && isLiteral(right)
        default: return false
        }
    }

    /// The operands of a node, in the order of the source but for a macro's range, which comes first.
    func operands(of id: ID) -> [ID] {
        switch nodes[id].kind {
        case .none, .literal, .variable, .binding: []
        case .select(let operand, _), .has(let operand, _), .optionalSelect(let operand, _), .unary(_, let operand):
            [operand]
        case .index(let operand, let index), .optionalIndex(let operand, let index): [operand, index]
        case .call(_, _, let arguments): arguments
        case .binary(_, let left, let right, _): [left, right]
        case .logic(_, let conditions): conditions
        case .conditional(let condition, let then, let otherwise): [condition, then, otherwise]
        case .list(let elements): elements.map(\.value)
        case .map(let entries): entries.flatMap { [$0.key, $0.value] }
        case .comprehension(let comprehension):
            [comprehension.range] + [comprehension.filter, comprehension.body].compactMap { $0 }
        case .bind(let bind): [bind.value, bind.body]
        case .optionalMap(let map): [map.operand, map.body]
        }
    }
}

enum UnaryOperator: Sendable {
    case not, negate

    var symbol: String { self == .not ? "!" : "-" }
}

enum LogicOperator: Sendable {
    case and, or

    var symbol: String { self == .and ? "&&" : "||" }
}

enum BinaryOperator: String, Sendable {
    case add = "+"
    case subtract = "-"
    case multiply = "*"
    case divide = "/"
    case remainder = "%"
    case equal = "=="
    case notEqual = "!="
    case less = "<"
    case lessOrEqual = "<="
    case greater = ">"
    case greaterOrEqual = ">="
    case `in` = "in"

    var symbol: String { rawValue }

    /// The outcomes of a comparison for which an ordering or equality operator is true, as a set of bits.
    var outcomes: UInt8 {
        switch self {
        case .equal: Comparison.equal.rawValue
        case .notEqual: Comparison.less.rawValue | Comparison.greater.rawValue | Comparison.unordered.rawValue
        case .less: Comparison.less.rawValue
        case .lessOrEqual: Comparison.less.rawValue | Comparison.equal.rawValue
        case .greater: Comparison.greater.rawValue
        case .greaterOrEqual: Comparison.greater.rawValue | Comparison.equal.rawValue
        case .add, .subtract, .multiply, .divide, .remainder, .in: 0
        }
    }
}

/// The macros that walk over a list or map (CEL specification, "Macros", and the two-variable forms of its extension).
enum Macro: String, Sendable, CaseIterable {
    case all
    case exists
    case existsOne = "exists_one"
    case existsOneTwoVariables = "existsOne"
    case map
    case filter
    case transformList
    case transformMap
    case transformMapEntry

    /// How a call is written, for messages.
    var form: String {
        switch self {
        case .all, .exists, .existsOne, .existsOneTwoVariables, .filter: "\(rawValue)(x, condition)"
        case .map: "map(x, value)"
        case .transformList, .transformMap: "\(rawValue)(key, x, value)"
        case .transformMapEntry: "transformMapEntry(key, x, {newKey: value})"
        }
    }
}
