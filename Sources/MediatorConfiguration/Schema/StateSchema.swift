// The fields of states.
extension ConfigurationSchema {
    /// The fields of a state, and its earlier name. A field `was` has a type.
    static let stateFields: SchemaNode = [
        "type": ["object", "null"], "propertyNames": .reference("identifier"),
        "properties": [
            OriginDecoder.was: SchemaNode.anyOf(.reference("type"), .reference("state"), stateField)
                .described("The earlier name of the state.")
        ],
        // The earlier name may stand beside the fields.
        "additionalProperties": .anyOf(.reference("type"), stateField),
        "maxProperties": .int(ConfigurationLimits.fields),
    ]

    /// A field that is written as a mapping.
    private static let stateField = keyed(
        OriginDecoder.fieldKeys, required: ["type"],
        [
            "type": SchemaNode.reference("type").described("The type of its values."),
            "default": .object([("description", "Its value for a saved state without the field.")]),
            OriginDecoder.was: SchemaNode.reference("identifier").described("The earlier name of the field."),
        ])

    /// The name of a system, an instance or a template.
    static let systemPart = name(pattern: "^[A-Za-z][A-Za-z0-9._-]*(@[A-Za-z0-9:._-]*)?$")
}
