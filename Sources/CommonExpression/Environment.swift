/// The variables an expression may use, in slot order, the functions of the host, and the limits for checking and
/// evaluating it.
public struct Environment: Sendable {
    /// A variable's declaration.
    public struct Variable: Sendable, Hashable {
        /// The name. It may be qualified, as in `a.b`; the longest declared prefix of a qualified name wins (CEL
        /// specification, "Name Resolution").
        public let name: String
        /// The type of its values.
        public let type: ValueType

        /// Declares a variable.
        public init(name: String, type: ValueType) {
            self.name = name
            self.type = type
        }
    }

    /// A name for one value, known when an expression is checked.
    public struct Constant: Sendable {
        /// The name, without a dot.
        public let name: String
        /// The type with which expressions are checked; the value is of it.
        public let type: ValueType
        /// The value.
        public let value: Value

        /// Names a value.
        public init(name: String, type: ValueType, value: Value) {
            self.name = name
            self.type = type
            self.value = value
        }
    }

    /// The variables; evaluation takes one value for each, in this order. Of two with one name the first counts.
    public var variables: [Variable]
    /// The constants: what depends on nothing else is computed once, when the expression is compiled. A variable of the
    /// same name hides one.
    public var constants: [Constant] = []
    /// The limits.
    public var limits: Limits

    /// The functions of the host; of two with one name the first counts.
    public var functions: [Function]

    /// Creates an environment.
    public init(variables: [Variable] = [], limits: Limits = .default, functions: [Function] = []) {
        self.variables = variables
        self.limits = limits
        self.functions = functions
    }
}

/// What bounds reading, checking and evaluating an expression, so that no source and no value can exhaust the process.
public struct Limits: Sendable, Hashable {
    /// The longest source, in UTF-8 bytes.
    public var sourceLength: Int
    /// The deepest nesting: of parentheses, brackets, braces, arguments and conditionals in the source, of the tree
    /// of operations, and of the lists and maps an expression builds. Sequences such as `a + b + c` and `a.b.c` count
    /// as one level however long they are. The CEL specification requires 32; the default is safe on a thread with a
    /// stack of 512 KiB in an unoptimized build, where a level takes at most 5 KiB.
    public var nesting: Int
    /// The most nodes of the syntax tree: literals, names, operators, calls.
    public var nodes: Int
    /// The most steps of one evaluation. A step is a node evaluated, an element looked at or created, or 16 bytes
    /// of text or octets compared, converted or created.
    public var cost: Int
    /// The largest value evaluation may create: UTF-8 bytes of a string, octets of bytes, elements of a list or map.
    public var valueSize: Int
    /// The most bytes a result may hold, all that it is made of counted as often as it is in it.
    public var resultSize: Int
    /// The most bytes a regular expression may use, for itself and while it matches.
    public var patternMemory: Int
    /// The most regular expressions that are literals in one expression, 64 at most. As many that are constants are kept
    /// compiled; what is beyond is compiled at each evaluation.
    public var patterns: Int

    /// Creates limits.
    public init(
        sourceLength: Int = 65_536,
        nesting: Int = 64,
        nodes: Int = 10_000,
        cost: Int = 1_000_000,
        valueSize: Int = 1_048_576,
        resultSize: Int = 16_777_216,
        patternMemory: Int = 1_048_576,
        patterns: Int = 64
    ) {
        self.sourceLength = sourceLength
        self.nesting = nesting
        self.nodes = nodes
        self.cost = cost
        self.valueSize = valueSize
        self.resultSize = resultSize
        self.patternMemory = patternMemory
        self.patterns = patterns
    }

    /// 64 KiB of source, 64 levels, 10 000 nodes, 1 000 000 steps, values of 1 MiB, results of 16 MiB, 64 patterns of 1 MiB.
    public static let `default` = Limits()
}
