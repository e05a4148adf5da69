/// A syntax tree with the types of its nodes and what its names stand for. The arrays run parallel to the nodes.
struct CheckedTree: Sendable {
    /// What the name in a node stands for.
    enum Meaning: Sendable {
        /// The node has no name, or it is resolved at evaluation.
        case dynamic
        /// A variable of the environment, by its slot.
        case variable(slot: Int)
        /// A constant of the environment.
        case constant(Value)
        /// A field of a known structure type, by its position.
        case field(index: Int, of: StructureType)
        /// Nothing: its evaluation fails, because types were not checked.
        case failure(EvaluationError)
        /// A type as a value.
        case type(ValueType)
        /// A function.
        case function(Function)
    }

    var tree: SyntaxTree
    var types: [StaticType]
    var meanings: [Meaning]
    /// The paths that are read: a variable and the fields selected from it, one after the other.
    var references: Set<[String]> = []
}
