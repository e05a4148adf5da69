/// A parsed expression: nodes in one array, every child before its parent.
///
/// The flat form lets checker and compiler walk the tree front to back without recursion. It also lets a tree of any
/// shape be destroyed in constant stack space.
struct SyntaxTree: Sendable {
    /// A node's position in ``nodes``.
    typealias ID = Int

    struct Node: Sendable {
        var kind: Kind
        /// The source of the node with all its operands and the surrounding parentheses.
        var range: SourceRange
        /// The levels of evaluation that the node needs; see ``SyntaxTree/spine(of:)``.
        let height: Int
        /// The number of operators in the chain along the left operand, including this one; 0 for other nodes.
        let spine: Int
        var isParenthesized = false
    }

    enum Kind: Sendable {
        /// A part with a reported problem, or a node whose operands another node took over. Evaluation never reaches
        /// it.
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
        /// A Boolean value that indicates whether the element is written `?value`. Such an element is an optional
        /// value, and an empty one is left out.
        let isOptional: Bool
    }

    /// An entry of a map literal.
    struct Entry: Sendable {
        let key: ID
        let value: ID
        /// A Boolean value that indicates whether the entry is written `?key: value`. Its value is optional, and an
        /// empty one is left out.
        let isOptional: Bool
    }

    /// A name for a value within another expression.
    struct Bind: Sendable {
        let slot: Int
        let value: ID
        let body: ID
    }

    /// A transformation of an optional value that is not empty.
    struct OptionalMap: Sendable {
        let slot: Int
        let operand: ID
        let body: ID
        /// A Boolean value that indicates whether the body returns an optional value itself.
        let isFlat: Bool
        let nameRange: SourceRange
    }

    /// A macro that iterates over a list or map.
    struct Comprehension: Sendable {
        let macro: Macro
        let macroRange: SourceRange
        let range: ID
        /// The slot of its first variable. The second variable has the next slot.
        let slot: Int
        let hasTwoVariables: Bool
        /// The condition of `filter` and of the forms of `map` and similar macros with a condition.
        let filter: ID?
        /// The predicate or the transformation; nil for `filter`.
        let body: ID?
        /// The steps that one iteration costs.
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
            /// A name for the content of an optional value.
            case unwrapped
        }

        let slot: Int
        let role: Role
        /// The list, map or value that the macro iterates over or names.
        let range: ID
    }

    /// The longest chain of operators along the left operand, such as `a + b + c` or `a.b.c`, that nested calls
    /// evaluate. A loop evaluates longer chains, so that they need no more stack.
    static let longestNestedSpine = 8

    var nodes: [Node] = []
    var bindings: [Binding] = []
    /// The number of slots that the variables of macros need.
    var slots = 0
    var root: ID = 0

    /// The largest parts that compute something from literals alone. Such a part always has the same value, or always
    /// fails.
    ///
    /// The operands of `a && b` and `c ? a : b` count separately, because evaluation may skip some of them.
    var computedConstants: [ID] {
        // The innermost of these parts computes with literals, and most expressions have no such part.
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

    /// Returns the operands of a node in the order of the source, except that the range of a macro comes first.
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

/// The macros that iterate over a list or map (CEL specification, "Macros", the two-variable forms of its extension, and
/// `sortBy` of the extension for lists).
enum Macro: String, Sendable, CaseIterable {
    case all
    case exists
    case existsOne = "exists_one"
    case existsOneTwoVariables = "existsOne"
    case map
    case filter
    case sortBy
    case transformList
    case transformMap
    case transformMapEntry

    /// The form of a call in messages.
    var form: String {
        switch self {
        case .all, .exists, .existsOne, .existsOneTwoVariables, .filter: "\(rawValue)(x, condition)"
        case .map: "map(x, value)"
        case .sortBy: "sortBy(x, key)"
        case .transformList, .transformMap: "\(rawValue)(key, x, value)"
        case .transformMapEntry: "transformMapEntry(key, x, {newKey: value})"
        }
    }
}
