/// An input of a system, as written.
struct WrittenInput: Sendable {
    var name: Scalar
    /// The type; nil after reporting that it could not be read.
    var type: Node?
    /// The value without a link.
    var initial: Node?
}

// Reads the inputs of a system: shape only.
extension SystemDecoder {
    /// The keys of an input that is written with more than its type.
    static let inputKeys = ["type", "default"]

    /// Reads the inputs. Nil if they have the wrong shape, so that they are unknown.
    func inputs(_ node: Node) -> [WrittenInput]? {
        if node.isNull { return [] }
        guard let entries = decoder.entries(node, "'inputs'", hint: "write inputs: { NAME: bool }") else { return nil }
        guard entries.count <= ConfigurationLimits.fields else {
            decoder.report(
                .tooLarge, at: node.mark,
                "there are more than the \(ConfigurationLimits.fields) inputs that are allowed")
            return nil
        }
        return entries.map(input)
    }

    private func input(_ entry: Node.Entry) -> WrittenInput {
        decoder.checkIdentifier(entry.key, "an input")
        guard case .mapping = entry.value.content else {
            return WrittenInput(name: entry.key, type: entry.value, initial: nil)
        }
        var what: String { "the input '\(entry.key.text)'" }
        guard var keyed = decoder.keyed(entry.value, what, known: Self.inputKeys) else {
            return WrittenInput(name: entry.key, type: nil, initial: nil)
        }
        keyed.span = entry.key.span
        let type = decoder.required("type", of: keyed, what, hint: "write { type: bool, default: false }")
        return WrittenInput(name: entry.key, type: type, initial: keyed["default"])
    }
}
