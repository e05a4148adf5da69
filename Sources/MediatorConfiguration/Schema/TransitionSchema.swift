// The rules of transitions.
extension ConfigurationSchema {
    static let always: SchemaNode = .anyOf(
        .reference("alwaysRule"), ["type": "array", "items": .reference("alwaysRule"), "minItems": 1])

    static let alwaysRule: SchemaNode = rule(
        TransitionDecoder.alwaysKeys,
        ["for": SchemaNode.reference("duration").described("The time for which the condition must hold.")])

    static let transition: SchemaNode = .anyOf(
        .reference("rule"), ["type": "array", "items": .reference("rule"), "minItems": 1])

    static let rule: SchemaNode = rule(TransitionDecoder.keys)

    static func rule(_ keys: [String], _ more: [String: SchemaNode] = [:]) -> SchemaNode {
        .anyOf(
            .reference("target"),
            keyed(
                keys, required: [],
                [
                    "when": SchemaNode.reference("condition").described(
                        "A condition: the rule applies only if it is true."),
                    "to": SchemaNode.reference("target").described(
                        "The new state, or stay. Without it, set changes the data of the state in place."),
                    "set": ["type": "object", "propertyNames": .reference("identifier")],
                ].merging(more) { first, _ in first },
                more: [
                    ("oneOf", [["required": ["to"]], ["required": ["set"], "properties": ["to": false]]])
                ]))
    }
}
