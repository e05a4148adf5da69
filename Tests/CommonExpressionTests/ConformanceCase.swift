import CommonExpression
import Foundation

/// One line of the specification's conformance suite.
struct ConformanceCase {
    /// The result of running a case.
    enum Outcome {
        case passed
        /// The expected and the actual result.
        case failed(String)
        /// The feature of the case that this module does not support.
        case outOfScope(String)
    }

    let file: String
    let name: String
    let source: String

    private let object: [String: Any]
    private let disablesCheck: Bool

    init?(line: String) throws {
        guard let object = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any],
            let file = object["file"] as? String, let name = object["name"] as? String,
            let section = object["section"] as? String, let source = object["expr"] as? String
        else { return nil }
        self.file = file
        self.name = "\(section)/\(name)"
        self.source = source
        self.object = object
        disablesCheck = object["disable_check"] as? Bool ?? false
    }

    func run() -> Outcome {
        guard let (environment, variables) = environment() else {
            return .outOfScope("abstract types")
        }
        let program: Program
        do {
            let expression = try Expression(parsing: source)
            program =
                disablesCheck
                ? try expression.unchecked(in: environment) : try expression.checked(in: environment)
        } catch {
            return outcome(of: error)
        }
        if let outcome = outcome(ofType: program.type) { return outcome }
        do {
            let value = try program.evaluate(variables)
            if object["eval_error"] != nil { return .failed("an error was expected, but the value is \(value)") }
            guard let expected = expectedValue() else { return .outOfScope("values this reader does not know") }
            return Self.matches(value, expected) ? .passed : .failed("\(expected) was expected, but it is \(value)")
        } catch {
            return object["eval_error"] != nil ? .passed : .failed("evaluation failed: \(error)")
        }
    }

    /// Returns the outcome of a case that the checker rejects.
    private func outcome(of problems: Problems) -> Outcome {
        if problems.problems.contains(where: { $0.code == .unsupported }) { return .outOfScope("not supported yet") }
        return .failed("it was rejected: \(problems)")
    }

    /// Returns the outcome of a case about types; nil if the case continues with evaluation.
    private func outcome(ofType type: ValueType) -> Outcome? {
        guard let typed = object["typed_result"] as? [String: Any] else { return nil }
        guard let deduced = typed["deduced_type"], let expected = Self.type(deduced) else {
            return .outOfScope("abstract types")
        }
        if expected != type { return .failed("the type \(expected) was expected, but it is \(type)") }
        return object["check_only"] != nil ? .passed : nil
    }

    /// Returns the environment and the values; nil if a declaration of the case is not supported.
    private func environment() -> (Environment, [Value])? {
        let bindings = object["bindings"] as? [String: Any] ?? [:]
        var types: [String: ValueType] = [:]
        var functions: [Environment.Function] = []
        for case let declaration as [String: Any] in object["type_env"] as? [Any] ?? [] {
            if let function = Self.function(declaration) {
                functions.append(function)
                continue
            }
            guard let name = declaration["name"] as? String, let ident = declaration["ident"] as? [String: Any],
                let type = ident["type"].flatMap(Self.type)
            else { return nil }
            types[name] = type
        }
        var variables: [Environment.Variable] = []
        var values: [Value] = []
        for name in Set(types.keys).union(bindings.keys).sorted() {
            // A case that expects a value reads no declared variable without a value.
            let binding = (bindings[name] as? [String: Any])?["value"] as? [String: Any]
            variables.append(Environment.Variable(name: name, type: types[name] ?? .dyn))
            values.append(binding.flatMap(Self.value) ?? .null)
        }
        return (Environment(variables: variables, functions: functions), values)
    }

    /// Returns the declaration of a function, which no case calls; nil for other declarations and unsupported types.
    private static func function(_ declaration: [String: Any]) -> Environment.Function? {
        guard let name = declaration["name"] as? String, let content = declaration["function"] as? [String: Any],
            let overloads = content["overloads"] as? [[String: Any]]
        else { return nil }
        var declared: [Environment.Function.Overload] = []
        for overload in overloads {
            let parameters = overload["params"] as? [Any] ?? []
            let types = parameters.compactMap(type)
            guard types.count == parameters.count, let result = overload["result_type"].flatMap(type) else {
                return nil
            }
            declared.append(Environment.Function.Overload(types, result: result) { _ in .null })
        }
        return Environment.Function(name, overloads: declared)
    }

    private func expectedValue() -> Value? {
        if let typed = object["typed_result"] as? [String: Any] {
            return (typed["result"] as? [String: Any]).flatMap(Self.value)
        }
        // The suite omits the value if it is true.
        guard let value = object["value"] as? [String: Any] else { return .bool(true) }
        return Self.value(value)
    }

    /// Returns whether two results are equal. NaN equals NaN.
    private static func matches(_ value: Value, _ expected: Value) -> Bool {
        if case .double(let value) = value, case .double(let expected) = expected {
            return value == expected || (value.isNaN && expected.isNaN)
        }
        return value == expected
    }

    /// Reads the JSON form of `cel.expr.Value`.
    private static func value(_ object: [String: Any]) -> Value? {
        guard let (kind, content) = object.first else { return nil }
        switch kind {
        case "null_value": return .null
        case "bool_value": return (content as? Bool).map { .bool($0) }
        case "int64_value": return (content as? String).flatMap(Int64.init).map { .int($0) }
        case "uint64_value": return (content as? String).flatMap(UInt64.init).map { .uint($0) }
        case "double_value":
            if let text = content as? String { return Double(text).map { .double($0) } }
            return (content as? NSNumber).map { .double($0.doubleValue) }
        case "string_value": return (content as? String).map { .string($0) }
        case "bytes_value":
            return (content as? String).flatMap { Data(base64Encoded: $0) }.map { .bytes(Array($0)) }
        case "type_value":
            return types[content as? String ?? ""].map { .typeValue($0) }
        case "list_value":
            let items = (content as? [String: Any])?["values"] as? [[String: Any]] ?? []
            let values = items.compactMap(value)
            return values.count == items.count ? .list(values) : nil
        case "map_value":
            let entries = (content as? [String: Any])?["entries"] as? [[String: Any]] ?? []
            var map: [Value: Value] = [:]
            for entry in entries {
                guard let key = (entry["key"] as? [String: Any]).flatMap(value),
                    let item = (entry["value"] as? [String: Any]).flatMap(value)
                else { return nil }
                map[key] = item
            }
            return .map(map)
        default: return nil
        }
    }

    /// The types that the suite expects as values, by their names.
    private static let types: [String: ValueType] = [
        "bool": .bool, "int": .int, "uint": .uint, "double": .double, "string": .string, "bytes": .bytes,
        "null_type": .null, "list": .list(.dyn), "map": .map(key: .dyn, value: .dyn), "type": .type,
    ]

    /// Reads the JSON form of `cel.expr.Type`.
    private static func type(_ object: Any) -> ValueType? {
        guard let object = object as? [String: Any], let (kind, content) = object.first else { return nil }
        switch kind {
        case "dyn": return .dyn
        case "null": return .null
        case "primitive":
            return [
                "BOOL": .bool, "INT64": .int, "UINT64": .uint, "DOUBLE": .double, "STRING": .string, "BYTES": .bytes,
            ][
                content as? String ?? ""]
        case "list_type":
            return (content as? [String: Any])?["elem_type"].flatMap(type).map { .list($0) }
        case "map_type":
            guard let content = content as? [String: Any], let key = content["key_type"].flatMap(type),
                let value = content["value_type"].flatMap(type)
            else { return nil }
            return .map(key: key, value: value)
        case "abstract_type":
            guard let content = content as? [String: Any], content["name"] as? String == "optional_type" else {
                return nil
            }
            return (content["parameter_types"] as? [Any])?.first.flatMap(type).map { .optional($0) }
        default: return nil
        }
    }
}
