/// Reads the earlier names of systems, states and fields, and the defaults of fields; shape only.
struct OriginDecoder {
    /// The key of an earlier name.
    static let was = "was"
    /// The keys of a field that is written as a mapping.
    static let fieldKeys = ["type", "default", was]
    private let decoder: Decoder

    /// A decoder for a file.
    init(_ decoder: Decoder) { self.decoder = decoder }

    /// The earlier name of a system; nil after reporting.
    func was(_ node: Node, isTemplate: Bool) -> Scalar? {
        guard let name = decoder.scalar(node, "the earlier name of a system") else { return nil }
        let isName =
            isTemplate
            ? name.text.hasSuffix("@") && Names.isPublicName(String(name.text.dropLast()))
            : Names.isPublicName(name.text) || InstanceName(name.text)?.isValid == true
        if isName { return name }
        decoder.report(
            .invalidName, at: name.span,
            "'\(name.text.prefix(ConfigurationLimits.nameLength))' cannot be the earlier name of a \(isTemplate ? "template" : "system")",
            hint: isTemplate
                ? "the name of a template ends with '@'" : "write the name alone, such as uplink or uplink@eth0")
        return nil
    }

    /// Takes the earlier name of a state out of its entries. An entry of this name with a type is a field.
    func takeWas(from entries: inout [Node.Entry], of state: String) -> Scalar? {
        let place = entries.firstIndex { entry in
            entry.key.text == Self.was && !entry.value.isMapping && !TypeReader.isType(entry.value)
        }
        guard let place else { return nil }
        let entry = entries.remove(at: place)
        guard let name = decoder.scalar(entry.value, "the earlier name of '\(state)'") else { return nil }
        decoder.checkStateName(name)
        return Names.isStateName(name.text) ? name : nil
    }

    /// The fields of a state: types, or mappings with a type. Those without a type are reported and left out.
    func fields(_ entries: [Node.Entry]) -> [WrittenRecord.Field] {
        entries.compactMap { entry in
            decoder.checkIdentifier(entry.key, "a field")
            guard entry.value.isMapping else { return WrittenRecord.Field(name: entry.key, type: entry.value) }
            let what = "the field '\(entry.key.text)'"
            guard var keyed = decoder.keyed(entry.value, what, known: Self.fieldKeys) else { return nil }
            keyed.span = entry.key.span
            guard let type = decoder.required("type", of: keyed, what) else { return nil }
            let was = keyed[Self.was].flatMap { decoder.scalar($0, "the earlier name of '\(entry.key.text)'") }
            if let was { decoder.checkIdentifier(was, "a field") }
            return WrittenRecord.Field(name: entry.key, type: type, was: was, fallback: keyed["default"])
        }
    }

    /// Returns whether an entry of a state is a field that is written as a mapping.
    static func isField(_ entry: Node.Entry) -> Bool { entry.hasOne(of: fieldKeys) }
}
