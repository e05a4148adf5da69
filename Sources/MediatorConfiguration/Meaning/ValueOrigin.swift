import CommonExpression

/// Where a fixed value comes from. One that is made of several comes from where the greatest of theirs does.
enum ValueOrigin: Int, Comparable, Sendable {
    /// It is written in the configuration.
    case written
    /// It was found elsewhere, or is made of something that was: it is not to be shown.
    case elsewhere
    /// It is a sample in the place of what was not found, or made of one: nobody knows what it will be.
    case missing

    static func < (one: ValueOrigin, other: ValueOrigin) -> Bool { one.rawValue < other.rawValue }
}

/// What the expressions of an instance may use besides variables.
struct InstanceConstants: Sendable {
    /// `instance` and `parameters`.
    var all: [Environment.Constant] = []
    /// Where those parameters come from that are not written in the configuration.
    var origins: [String: ValueOrigin] = [:]

    /// The values of the parameters.
    var parameters: Structure {
        for constant in all where constant.name == "parameters" {
            if case .structure(let structure) = constant.value { return structure }
        }
        return Structure(type: StructureType(name: "", fields: []), fields: [])
    }
}

extension Session {
    /// Where the fixed value that is written in a place comes from.
    func origin(_ node: Node) -> ValueOrigin {
        switch node.content {
        case .scalar(let scalar): origin(scalar)
        case .external(let reference): origin(reference)
        case .sequence(let items): items.map { origin($0) }.max() ?? .written
        case .mapping(let entries): entries.map { origin($0.value) }.max() ?? .written
        }
    }

    /// Where a text comes from: from where the parameters come that its expressions name.
    func origin(_ scalar: Scalar) -> ValueOrigin {
        guard !origins.isEmpty, literal(scalar) == nil else { return .written }
        let greatest = origins.values.max() ?? .written
        guard let references = constantReferences(scalar) else { return greatest }
        return references.map { path in
            guard path.first == "parameters" else { return .written }
            // Of the whole nobody knows which part is used.
            return path.count > 1 ? origins[path[1]] ?? .written : greatest
        }.max() ?? .written
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
