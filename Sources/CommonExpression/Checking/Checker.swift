/// Computes the type of every node, front to back, and reports parts that cannot be evaluated (CEL specification,
/// "Gradual Type Checking").
///
/// A node with an erroneous operand has the type `error` and is not reported again.
struct Checker {
    var checked: CheckedTree
    private(set) var problems: [Problem] = []
    /// The number of literal patterns.
    var patterns = 0
    /// A Boolean value that indicates whether types are checked. Otherwise all types are `dyn`, and an invalid part
    /// fails at evaluation.
    private let checksTypes: Bool

    private let source: SourceText
    let environment: Environment
    let slots: [String: Int]
    private let constants: [String: Environment.Constant]
    /// The functions of the host by name.
    let hostFunctions: [String: Environment.Function]
    /// The first parts of functions with a namespace.
    let namespaces: Set<String>
    /// The most points in one of those names.
    let namespaceDepth: Int
    /// The most points in a qualified variable name.
    let qualifierDepth: Int
    /// The deepest nesting of lists and maps in the value of each node, not counting the contents of variables.
    private var levels: [Int]

    init(_ tree: SyntaxTree, source: SourceText, environment: Environment, checksTypes: Bool = true) {
        self.checksTypes = checksTypes
        checked = CheckedTree(
            tree: tree,
            types: Array(repeating: .error, count: tree.nodes.count),
            meanings: Array(repeating: .dynamic, count: tree.nodes.count)
        )
        levels = Array(repeating: 0, count: tree.nodes.count)
        self.source = source
        self.environment = environment
        slots = Dictionary(
            environment.variables.enumerated().map { ($0.element.name, $0.offset) },
            uniquingKeysWith: { first, _ in first })
        constants = Dictionary(
            environment.constants.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
        hostFunctions = Dictionary(
            environment.functions.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
        let hostNamespaces = Functions.namespaces(of: hostFunctions.keys)
        namespaces = hostNamespaces.isEmpty ? Functions.namespaces : Functions.namespaces.union(hostNamespaces)
        namespaceDepth = hostNamespaces.reduce(0) { max($0, $1.utf8.count { $0 == UInt8(ascii: ".") }) }
        qualifierDepth = environment.variables.map { $0.name.utf8.count { $0 == UInt8(ascii: ".") } }.max() ?? 0
    }

    /// Checks all nodes and the result's type.
    mutating func run(expecting: ValueType) {
        let qualified = resolveQualifiedNames()
        for id in tree.nodes.indices where !qualified.covered.contains(id) {
            if let slot = qualified.slots[id] {
                setVariable(id, slot: slot)
            } else if let type = qualified.types[id] {
                set(id, .type, .type(type))
            } else if let name = qualified.unknownFunctions[id] {
                reportUnknownFunction(name)
            } else {
                check(id)
            }
            if !checksTypes { postponeProblems(of: id) }
            checkLevel(of: id)
        }
        checkResult(expecting: StaticType(expecting))
        checked.covered = qualified.covered
        checked.variables = environment.variables
    }

    var tree: SyntaxTree { checked.tree }

    func type(of id: SyntaxTree.ID) -> StaticType { checked.types[id] }

    func range(of id: SyntaxTree.ID) -> SourceRange { tree.nodes[id].range }

    /// The source of a node, for messages.
    func snippet(_ id: SyntaxTree.ID) -> String { source.snippet(range(of: id)) }

    mutating func report(
        _ code: Problem.Code, _ statement: String, advice: String? = nil, at range: SourceRange,
        suggestion: String? = nil
    ) {
        guard problems.count < Problems.most else { return }
        problems.append(
            Problem(code: code, statement: statement, advice: advice, range: range, suggestion: suggestion))
    }

    /// Withdraws problems with names in the arguments of a function of another language, because the names also belong
    /// to that language.
    mutating func forgiveNames(within range: SourceRange) {
        problems.removeAll {
            $0.code == .unknownVariable && range.start <= $0.range.start && $0.range.end <= range.end
        }
    }

    mutating func set(_ id: SyntaxTree.ID, _ type: StaticType, _ meaning: CheckedTree.Meaning = .dynamic) {
        checked.types[id] = checksTypes ? type : .dyn
        checked.meanings[id] = meaning
    }

    /// Turns the problems of a node into an error of its evaluation.
    private mutating func postponeProblems(of id: SyntaxTree.ID) {
        guard let problem = problems.last, problem.code != .tooDeep else { return }
        problems.removeAll { $0.code != .tooDeep }
        let codes: [Problem.Code: EvaluationError.Code] = [
            .unknownVariable: .unknownVariable, .unknownFunction: .unknownFunction, .invalidLiteral: .invalidArgument,
        ]
        set(
            id, .dyn,
            .failure(
                EvaluationError(
                    code: codes[problem.code] ?? .noSuchOverload, message: problem.message, range: problem.range)))
    }

    private mutating func check(_ id: SyntaxTree.ID) {
        switch tree.nodes[id].kind {
        case .none: break
        case .literal(let value): set(id, StaticType(value.type))
        case .variable(let name): checkVariable(id, name)
        case .binding(let binding): set(id, type(of: tree.bindings[binding]))
        case .select(let operand, let name): checkSelection(id, operand, name)
        case .has(let operand, let name):
            checkSelection(id, operand, name)
            if type(of: operand) != .error, checksTypes { checked.types[id] = .bool }
        case .index(let operand, let index): checkIndex(id, operand, index)
        case .optionalSelect(let operand, let name): checkOptionalSelection(id, operand, name)
        case .optionalIndex(let operand, let index): checkOptionalIndex(id, operand, index)
        case .call(let function, let hasReceiver, let operands):
            checkCall(id, function, hasReceiver: hasReceiver, operands)
        case .unary(let operation, let operand): checkUnary(id, operation, operand)
        case .binary(let operation, let left, let right, let range):
            checkBinary(id, operation, left, right, range)
        case .logic(let operation, let operands): checkLogic(id, operation, operands)
        case .conditional(let condition, let then, let otherwise):
            checkConditional(id, condition, then, otherwise)
        case .list(let elements):
            var types: [StaticType] = []
            for element in elements { types.append(elementType(element.value, isOptional: element.isOptional)) }
            let element = commonType(of: types)
            set(id, element == .error ? .error : .list(element))
        case .map(let entries): checkMap(id, entries)
        case .comprehension(let comprehension): checkComprehension(id, comprehension)
        case .bind(let bind): set(id, type(of: bind.body))
        case .optionalMap(let map): checkOptionalMap(id, map)
        }
    }

    // MARK: Names

    private mutating func setVariable(_ id: SyntaxTree.ID, slot: Int) {
        set(id, StaticType(environment.variables[slot].type), .variable(slot: slot))
    }

    private mutating func checkVariable(_ id: SyntaxTree.ID, _ name: String) {
        if let slot = slots[name] {
            setVariable(id, slot: slot)
            return
        }
        if let constant = constants[name] {
            set(id, StaticType(constant.type), .constant(constant.value))
            return
        }
        if let type = ValueType.denotations[name] {
            set(id, .type, .type(type))
        } else if let type = structureType(named: name) {
            set(id, .type, .type(.structure(type)))
        } else {
            reportUnknownVariable(name, at: range(of: id))
        }
    }

    private mutating func reportUnknownVariable(_ name: String, at range: SourceRange) {
        let suggestion =
            fieldSuggestion(name) ?? nearestName(to: name, among: Array(slots.keys) + Array(constants.keys))
            ?? Functions.literalLike(name)
        let advice =
            if let suggestion {
                "did you mean '\(suggestion)'?"
            } else if slots.isEmpty, constants.isEmpty {
                "no variables are available here"
            } else {
                "known variables: \(NameList.text(environment.variables.map(\.name) + environment.constants.map(\.name)))"
            }
        report(
            .unknownVariable, "unknown variable '\(Excerpt.of(name))'", advice: advice, at: range,
            suggestion: suggestion)
    }

    /// Returns a field of that name in some variable: `state.failures` if `failures` was written.
    private func fieldSuggestion(_ name: String) -> String? {
        let known = environment.variables.map { ($0.name, $0.type) } + environment.constants.map { ($0.name, $0.type) }
        for case (let variable, .structure(let structure)) in known
        where structure.fields.contains(where: { $0.name == name }) {
            return "\(variable).\(name)"
        }
        return nil
    }

    private func type(of binding: SyntaxTree.Binding) -> StaticType {
        switch (type(of: binding.range), binding.role) {
        case (let type, .bound): type
        case (.optional(let type), .unwrapped): type
        case (.list, .key): .int
        case (.list(let element), _): element
        case (.map(_, let value), .value): value
        case (.map(let key, _), _): key
        case (.dyn, _): .dyn
        case (.open, _): .open
        default: .error
        }
    }

    // MARK: Nesting of values

    /// Bounds the nesting of lists and maps that an expression builds, so that comparing and destroying values and
    /// types needs bounded stack space.
    private mutating func checkLevel(of id: SyntaxTree.ID) {
        levels[id] = level(of: id)
        guard levels[id] > environment.limits.nesting, checked.types[id] != .error else { return }
        levels[id] = 0
        checked.types[id] = .error
        report(
            .tooDeep,
            "the value is nested more than \(environment.limits.nesting) levels deep, which is the limit",
            at: range(of: id))
    }

    private func level(of id: SyntaxTree.ID) -> Int {
        func highest(_ operands: [SyntaxTree.ID]) -> Int { operands.map { levels[$0] }.max() ?? 0 }
        switch tree.nodes[id].kind {
        case .none, .literal, .variable, .has, .unary, .logic: return 0
        case .binding(let binding):
            let binding = tree.bindings[binding]
            return max(0, levels[binding.range] - (binding.role == .bound ? 0 : 1))
        case .select(let operand, _), .index(let operand, _): return max(0, levels[operand] - 1)
        case .optionalSelect(let operand, _), .optionalIndex(let operand, _): return max(1, levels[operand])
        case .call(_, _, let operands):
            guard case .function(let function) = checked.meanings[id] else { return highest(operands) }
            switch function.nesting {
            case .none: return highest(operands)
            case .arguments: return max(highest(Array(operands.prefix(1))), highest(Array(operands.dropFirst())) + 1)
            case .operands: return highest(operands) + 1
            }
        case .bind(let bind): return levels[bind.body]
        case .optionalMap(let map): return levels[map.body] + (map.isFlat ? 0 : 1)
        case .binary(let operation, let left, let right, _):
            return operation == .add ? max(levels[left], levels[right]) : 0
        case .conditional(_, let then, let otherwise): return max(levels[then], levels[otherwise])
        case .list(let elements): return highest(elements.map(\.value)) + 1
        case .map(let entries): return highest(entries.map(\.value)) + 1
        case .comprehension(let comprehension):
            switch comprehension.macro {
            case .all, .exists, .existsOne, .existsOneTwoVariables: return 0
            case .filter, .sortBy: return levels[comprehension.range]
            case .transformMapEntry: return comprehension.body.map { levels[$0] } ?? 0
            case .map, .transformList, .transformMap: return (comprehension.body.map { levels[$0] } ?? 0) + 1
            }
        }
    }

    // MARK: The result

    private mutating func checkResult(expecting: StaticType) {
        let type = type(of: tree.root)
        guard problems.isEmpty, !type.fits(expecting) else { return }
        report(
            .typeMismatch,
            "the result is \(type), but \(expecting) is needed", advice: conversionAdvice(tree.root, to: expecting),
            at: range(of: tree.root))
    }

    /// Returns the conversion of a value to the needed type; nil for a type without one.
    func conversionAdvice(_ id: SyntaxTree.ID, to needed: StaticType) -> String? {
        let type = type(of: id)
        if case .literal(let value) = tree.nodes[id].kind {
            if let literal = Self.literal(value, as: needed) { return "write \(literal)" }
            if type == .string { return nil }
        }
        if needed == .bool, type.isNumeric || type == .string {
            return "compare it, for instance \(snippet(id)) == \(type == .string ? "\"…\"" : "0")"
        }
        if needed == .duration, type == .int || type == .uint {
            return "of a number of seconds write duration(string(\(snippet(id))) + \"s\")"
        }
        guard let name = Functions.conversion(to: needed), Functions.converts(type, with: name) else { return nil }
        return "convert it with \(name)(\(snippet(id)))"
    }

    /// Returns a literal as a literal of another type; nil if the value has no such form.
    static func literal(_ value: Value, as needed: StaticType) -> String? {
        switch (value, needed) {
        case (.int(let int), .double): "\(int).0"
        case (.int(let int), .uint) where int >= 0: "\(int)u"
        case (.int(let int), .string): "\"\(int)\""
        case (.int(let int), .duration): "duration(\"\(int)s\")"
        case (.uint(let uint), .int) where uint <= UInt64(Int64.max): "\(uint)"
        case (.uint(let uint), .double): "\(uint).0"
        case (.double(let double), .int): MapKeys.int(of: double).map { "\($0)" }
        case (.string(let text), .int): Int64(text).map { "\($0)" }
        case (.string(let text), .uint): UInt64(text).map { "\($0)u" }
        case (.string(let text), .double): DoubleText.number(in: text).map { DoubleText.literal(of: $0) }
        case (.string(let text), .duration) where TimeSpan(text: text) != nil: "duration(\(value))"
        case (.string(let text), .timestamp) where Timestamp(rfc3339: text) != nil: "timestamp(\(value))"
        case (.string("true"), .bool): "true"
        case (.string("false"), .bool): "false"
        default: nil
        }
    }
}

/// Lists names in messages.
enum NameList {
    /// The most names shown.
    static let longest = 8

    /// Returns the names with commas, cut off after the eighth.
    static func text(_ names: [String]) -> String {
        let shown = names.prefix(longest).map(Excerpt.of).joined(separator: ", ")
        return names.count > longest ? shown + ", …" : shown
    }
}

/// Shortens texts for messages.
enum Excerpt {
    /// The longest name or number that is shown whole, in code points.
    static let longest = 64

    /// Returns the text, cut off after 64 code points.
    static func of(_ text: String) -> String {
        guard text.unicodeScalars.count > longest else { return text }
        var scalars = String.UnicodeScalarView()
        scalars.append(contentsOf: text.unicodeScalars.prefix(longest))
        return String(scalars) + "…"
    }
}

/// A source that messages quote.
struct SourceText: Sendable {
    /// The longest part that is shown whole.
    static let longestSnippet = 40

    private let bytes: [UInt8]

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    /// The text of a range.
    func text(_ range: SourceRange) -> String {
        let start = min(max(0, range.start), bytes.count)
        return String(decoding: bytes[start..<min(max(start, range.end), bytes.count)], as: UTF8.self)
    }

    /// The text of a range, on one line, cut off after 40 code points.
    func snippet(_ range: SourceRange) -> String {
        var snippet = ""
        for (count, scalar) in text(range).unicodeScalars.enumerated() {
            guard count < Self.longestSnippet else { return snippet + "…" }
            snippet.unicodeScalars.append(scalar == "\n" || scalar == "\r" || scalar == "\t" ? " " : scalar)
        }
        return snippet
    }
}
