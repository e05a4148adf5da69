package import CommonExpression

/// The way in which a state of another definition, such as a saved one, becomes a state of a definition.
///
/// A state keeps its data if the definition has a state of its name, or one that had this name earlier. Each field takes
/// the value of the field of its name and type, or else of its earlier name, or else its default.
package struct StateFit: Sendable, Hashable {
    /// The source of a field.
    private enum Source: Sendable, Hashable {
        /// The field of an index.
        case field(Int)
        case value(Value)
    }

    /// The reason why a state does not fit.
    package enum Misfit: Error, Hashable {
        case noState(String)
        /// A field is new, and has no default.
        case noField(String, of: String)
        case otherType(String, of: String, old: ValueType, new: ValueType)

        /// The reason as a clause.
        ///
        /// - Parameter verb: `is` or `was`.
        package func text(_ verb: String) -> String {
            switch self {
            case .noState(let state): "it \(verb) in the state '\(state)', which there is no more"
            case .noField(let field, let state):
                "it \(verb) in the state '\(state)', whose fields have changed: '\(field)' is new and has no default"
            case .otherType(let field, let state, let old, let new):
                "it \(verb) in the state '\(state)', whose fields have changed: '\(field)' was \(old) and is \(new)"
            }
        }
    }

    /// The index of the state in the definition.
    package let state: Int
    private var sources: [Source] = []
    /// The differences, as clauses. Empty if the state and its fields are the same, in the same order.
    package private(set) var changes: [String] = []

    /// Finds the state of a definition that another state becomes.
    ///
    /// - Parameter type: The type of the data of that state, with its name.
    /// - Throws: The reason why the definition has none.
    /// - Complexity: O(n·m) for n states and m fields.
    package init(_ type: StructureType, in definition: SystemDefinition) throws(Misfit) {
        let match =
            definition.states.firstIndex { $0.name == type.name }
            ?? definition.states.firstIndex { $0.origin?.was == type.name }
        guard let match else { throw .noState(type.name) }
        state = match
        let new = definition.states[match]
        guard new.type != type else {
            sources = type.fields.indices.map(Source.field)
            return
        }
        if new.name != type.name { changes.append("its state '\(type.name)' is '\(new.name)' now") }
        for field in new.type.fields {
            let earlier = new.origin?.fields[field.name]
            if let index = type.index(of: field.name) ?? earlier.flatMap({ type.index(of: $0) }) {
                let old = type.fields[index]
                guard old.type == field.type else {
                    throw .otherType(field.name, of: type.name, old: old.type, new: field.type)
                }
                if old.name != field.name { changes.append("'\(old.name)' is '\(field.name)' now") }
                sources.append(.field(index))
            } else if let value = new.origin?.defaults[field.name] {
                changes.append("'\(field.name)' has its default")
                sources.append(.value(value))
            } else {
                throw .noField(field.name, of: type.name)
            }
        }
        let used = Set(sources.compactMap { if case .field(let index) = $0 { index } else { nil } })
        for (index, field) in type.fields.enumerated() where !used.contains(index) {
            changes.append("'\(field.name)' is dropped")
        }
        if changes.isEmpty { changes.append("its fields have another order") }
    }

    /// Returns the data for the state, from the data of the other one.
    package func fields(from others: [Value]) -> [Value] {
        sources.map { source in
            switch source {
            case .field(let index): others[index]
            case .value(let value): value
            }
        }
    }

    /// The differences in one text; `nil` without any.
    package var text: String? { changes.isEmpty ? nil : changes.joined(separator: ", ") }
}

extension SavedSystem {
    /// Returns the state as a definition has it.
    ///
    /// - Throws: The reason why the definition has no such state.
    package func fitted(to definition: SystemDefinition) throws(StateFit.Misfit) -> (state: SavedSystem, fit: StateFit)
    {
        let fit = try StateFit(state, in: definition)
        let type = definition.states[fit.state].type
        return (SavedSystem(state: type, fields: fit.fields(from: fields), since: since), fit)
    }
}
