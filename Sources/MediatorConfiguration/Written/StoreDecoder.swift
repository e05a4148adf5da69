/// The default of a configuration for what survives the end of the process, as written.
struct WrittenStore: Sendable {
    var source: SourceText
    /// The default; nil after reporting that it could not be read.
    var standard: Persistence?
    /// The key under which it stands.
    var span: Span
}

/// Reads what survives the end of the process: shape only.
struct StoreDecoder {
    /// The keys of `store`.
    static let keys = ["default"]
    private static let hint = "write store: { default: state }"

    private let decoder: Decoder

    /// A decoder for a file.
    init(_ decoder: Decoder) { self.decoder = decoder }

    /// Reads the value of `store`. Nil after reporting.
    func store(_ node: Node, at key: Scalar) -> WrittenStore? {
        guard case .mapping = node.content else {
            decoder.report(.wrongShape, at: node.mark, "'store' must be a mapping, not \(node.kind)", hint: Self.hint)
            return nil
        }
        guard let keyed = decoder.keyed(node, "'store'", known: Self.keys) else { return nil }
        guard let value = keyed["default"] else {
            if !keyed.hasForeign {
                decoder.report(.missingKey, at: key.span, "'store' needs 'default'", hint: Self.hint)
            }
            return nil
        }
        return WrittenStore(
            source: decoder.source, standard: decoder.choice(value, "'default' of 'store'"), span: key.span)
    }

    /// Reads `persist` of a bus whose kind is known already. A mistake is reported, and the bus then keeps no value.
    func persist(_ node: Node, at key: Scalar?, _ bus: inout WrittenBus) {
        guard let scalar = decoder.scalar(node, "'persist'", hint: "write persist: true or persist: false") else {
            return
        }
        guard scalar.style == .plain, case .bool(let isPersisted) = CoreSchema(plain: scalar.text) else {
            let isQuoted = scalar.style != .plain && ["true", "false"].contains(scalar.text)
            decoder.report(
                .unknownChoice, at: scalar.span, "'persist' of a bus is true or false, not '\(scalar.text)'",
                hint: isQuoted
                    ? "write it without quotation marks"
                    : Names.choiceMeant(by: scalar.text, among: ["true", "false"]).map { "did you mean '\($0)'?" })
            return
        }
        guard !isPersisted || bus.kind != .passthrough else {
            decoder.report(
                .conflictingKeys, at: key?.span ?? scalar.span,
                "the passthrough bus '\(bus.name.text)' remembers no value, so there is none to keep",
                hint: "leave 'persist' out, or write kind: currentValue and initial:")
            return
        }
        bus.isPersisted = isPersisted
    }
}
