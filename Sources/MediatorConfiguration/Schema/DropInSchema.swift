extension ConfigurationSchema {
    /// The keywords about a mapping as a whole. They mean nothing for a part of it.
    private static let wholes: Set<String> = [
        "required", "dependentRequired", "dependentSchemas", "oneOf", "allOf", "not", "if", "then", "else",
        "minProperties",
    ]

    /// The schema of drop-ins, made from that of files: each key is optional, and may be null to remove a value.
    static func dropIn(_ root: SchemaNode) -> SchemaNode {
        guard case .object(let members) = root else { return root }
        return .object(
            members.map { key, value in
                switch key {
                case "$id": (key, .string(dropInIdentifier))
                case "title": (key, "mediatord drop-in")
                case "description": (key, "One document: what changes in a system, or in buses, links and instances.")
                case "$defs": (key, each(value, partial))
                // Which of both it is has to be known of a drop-in too.
                default: (key, value)
                }
            })
    }

    /// The schema of a part of what a schema describes.
    private static func partial(_ node: SchemaNode) -> SchemaNode {
        guard case .object(let members) = node else { return node }
        return .object(
            members.filter { !wholes.contains($0.0) }.map { key, value in
                switch key {
                case "properties": (key, each(value, removable))
                case "additionalProperties": (key, removable(value))
                case "anyOf": (key, items(value, partial))
                default: (key, value)
                }
            })
    }

    /// A schema that also accepts null, unless the value must be absent.
    private static func removable(_ node: SchemaNode) -> SchemaNode {
        if case .bool(false) = node { return node }
        guard case .object(let members) = node else { return node }
        let rest = members.filter { $0.0 != "description" }
        // A schema that accepts everything accepts null as well.
        guard !rest.isEmpty else { return node }
        return .object(
            members.filter { $0.0 == "description" } + [("anyOf", [partial(.object(rest)), ["type": "null"]])])
    }

    private static func each(_ node: SchemaNode, _ change: (SchemaNode) -> SchemaNode) -> SchemaNode {
        guard case .object(let members) = node else { return node }
        return .object(members.map { ($0.0, change($0.1)) })
    }

    private static func items(_ node: SchemaNode, _ change: (SchemaNode) -> SchemaNode) -> SchemaNode {
        guard case .array(let items) = node else { return node }
        return .array(items.map(change))
    }
}
