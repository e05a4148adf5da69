/// The variables and host functions that an expression may use, and the limits for checking and evaluating it.
/// Variables are in the order of their slots.
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

    /// A named value that is known when an expression is checked.
    public struct Constant: Sendable {
        /// The name, without a dot.
        public let name: String
        /// The type with which expressions are checked; the value is of it.
        public let type: ValueType
        /// The value.
        public let value: Value

        /// Creates a constant.
        public init(name: String, type: ValueType, value: Value) {
            self.name = name
            self.type = type
            self.value = value
        }
    }

    /// The variables. Evaluation takes one value for each, in this order. Of two variables with one name, the first
    /// counts.
    public var variables: [Variable]
    /// The constants. The compiler evaluates parts that depend on nothing else. A variable hides a constant of the same
    /// name.
    public var constants: [Constant] = []
    /// The limits.
    public var limits: Limits

    /// The functions of the host. Of two functions with one name, the first counts.
    public var functions: [Function]

    /// Creates an environment.
    public init(variables: [Variable] = [], limits: Limits = .default, functions: [Function] = []) {
        self.variables = variables
        self.limits = limits
        self.functions = functions
    }
}

/// The limits for parsing, checking and evaluating an expression. They keep every source and every value from
/// exhausting the process.
public struct Limits: Sendable, Hashable {
    /// The longest source, in UTF-8 bytes.
    public var sourceLength: Int
    /// The deepest nesting. It applies to parentheses, brackets, braces, arguments and conditionals in the source, to
    /// the tree of operations, and to the lists and maps that an expression builds.
    ///
    /// Chains such as `a + b + c` and `a.b.c` count as one level, whatever their length. The CEL specification requires
    /// 32 levels. A level takes at most 5 KiB of stack in an unoptimized build, so the default is safe on a thread with
    /// a stack of 512 KiB.
    public var nesting: Int
    /// The most nodes of the syntax tree: literals, names, operators, calls.
    public var nodes: Int
    /// The most steps of one evaluation. A step is a node evaluated, an element read or created, or 16 bytes of text or
    /// octets compared, converted or created.
    public var cost: Int
    /// The largest value that evaluation may create: UTF-8 bytes of a string, octets of bytes, or elements of a list or
    /// map.
    public var valueSize: Int
    /// The most bytes that a result may hold. A part that occurs several times counts each time.
    public var resultSize: Int
    /// The most bytes that a regular expression may use, both compiled and while it matches.
    public var patternMemory: Int
    /// The most literal patterns in one expression, 64 at most. The compiler keeps as many constant patterns compiled;
    /// it compiles further ones at each evaluation.
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
