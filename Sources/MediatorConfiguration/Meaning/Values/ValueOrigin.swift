import CommonExpression

/// The origin of a fixed value. A value with several origins has the greatest of them.
enum ValueOrigin: Int, Comparable, Sendable {
    /// It is written in the configuration.
    case written
    /// It was found elsewhere, or contains such a value. It is hidden.
    case elsewhere
    /// It is a sample in place of a missing value, or contains one. The real value is unknown.
    case missing

    static func < (one: ValueOrigin, other: ValueOrigin) -> Bool { one.rawValue < other.rawValue }
}

/// The constants that the expressions of an instance may use beside variables.
struct InstanceConstants: Sendable {
    /// `instance` and `parameters`.
    var all: [Environment.Constant] = []
    /// The origins of the parameters that are not written in the configuration.
    var origins: [String: ValueOrigin] = [:]

    /// The values of the parameters.
    var parameters: Structure {
        for constant in all where constant.name == "parameters" {
            if case .structure(let structure) = constant.value { return structure }
        }
        return Structure(type: StructureType(name: "", fields: []), fields: [])
    }
}

extension CompilationContext {
    /// The origin of a fixed value as written.
    func origin(_ node: Node) -> ValueOrigin {
        switch node.content {
        case .scalar(let scalar): origin(scalar)
        case .external(let reference): origin(reference)
        case .sequence(let items): items.map { origin($0) }.max() ?? .written
        case .mapping(let entries): entries.map { origin($0.value) }.max() ?? .written
        }
    }

    /// The origin of a text: that of the parameters that its expressions name.
    func origin(_ scalar: Scalar) -> ValueOrigin {
        guard !origins.isEmpty, literal(scalar) == nil else { return .written }
        let greatest = origins.values.max() ?? .written
        guard let references = constantReferences(scalar) else { return greatest }
        return references.map { path in
            guard path.first == "parameters" else { return .written }
            // An expression with the whole may use any part of it.
            return path.count > 1 ? origins[path[1]] ?? .written : greatest
        }.max() ?? .written
    }

    /// The source of a fixed value that is not written in the configuration, in words.
    func sourceInWords(_ node: Node) -> String {
        switch node.content {
        case .external(let reference):
            return "the \(reference.kind.words) '\(fixedName(reference) ?? reference.name.text)'"
        case .scalar(let scalar):
            let names = (constantReferences(scalar) ?? []).filter { path in
                path.count > 1 && path[0] == "parameters" && (origins[path[1]] ?? .written) != .written
            }.map { "'\($0[1])'" }.sorted()
            guard let last = names.last else { return "the value" }
            guard names.count > 1 else { return "the parameter \(last)" }
            return "the parameters \(names.dropLast().joined(separator: ", ")) and \(last)"
        case .sequence, .mapping: return "the value"
        }
    }

    private func origin(_ reference: ExternalReference) -> ValueOrigin {
        guard !isGeneric, let name = fixedName(reference) else { return .elsewhere }
        do throws(ExternalValues.Failure) {
            _ = try value(reference.kind, name)
            return .elsewhere
        } catch {
            guard error.isMissing else { return .elsewhere }
            return reference.fallback.map { origin($0) } ?? .missing
        }
    }
}
