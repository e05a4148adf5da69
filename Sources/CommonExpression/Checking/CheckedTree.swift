/// A syntax tree with the types of its nodes and the meanings of its names. The arrays are parallel to the nodes.
struct CheckedTree: Sendable {
    /// The meaning of the name in a node.
    enum Meaning: Sendable {
        /// The node has no name, or evaluation resolves it.
        case dynamic
        /// A variable of the environment, by its slot.
        case variable(slot: Int)
        /// A constant of the environment.
        case constant(Value)
        /// A field of a known structure type, by its position.
        case field(index: Int, of: StructureType)
        /// None. Evaluation fails, because types were not checked.
        case failure(EvaluationError)
        /// A type as a value.
        case type(ValueType)
        /// A function.
        case function(Function)
    }

    var tree: SyntaxTree
    var types: [StaticType]
    var meanings: [Meaning]
    /// Nodes that are parts of the qualified names of others.
    var covered: Set<SyntaxTree.ID> = []
    /// The variables of the environment, by their slots.
    var variables: [Environment.Variable] = []

    /// The paths that the expression reads, each once: a variable and the fields selected from it in order. Linear in
    /// the number of nodes.
    var reads: [[String]] {
        var reads: [[String]] = []
        // A set costs more than a comparison of a few paths.
        var known: Set<[String]> = []
        func isNew(_ path: [String]) -> Bool {
            guard reads.count >= 16 else { return !reads.contains(path) }
            if known.isEmpty { known.formUnion(reads) }
            return known.insert(path).inserted
        }
        var isWithin = [Bool](repeating: false, count: tree.nodes.count)
        for id in covered { isWithin[id] = true }
        for id in tree.nodes.indices.reversed() where !isWithin[id] {
            // Most nodes are not names.
            var path: [String] = []
            var current = id
            walk: while true {
                if case .variable(let slot) = meanings[current] {
                    path.append(variables[slot].name)
                    path.reverse()
                    if isNew(path) { reads.append(path) }
                    break walk
                }
                switch tree.nodes[current].kind {
                case .select(let operand, let name), .has(let operand, let name),
                    .optionalSelect(let operand, let name):
                    path.append(name.text)
                    isWithin[operand] = true
                    current = operand
                default: break walk
                }
            }
        }
        return reads
    }
}
