/// Reads what belongs to states with states inside; shape only.
struct CompoundDecoder {
    private let decoder: Decoder

    /// A decoder for a file.
    init(_ decoder: Decoder) {
        self.decoder = decoder
    }

    /// The states inside compound states to which rules lead that name these; nil after reporting.
    func initials(_ node: Node) -> [(compound: Scalar, child: Scalar)]? {
        if let scalar = node.scalar, !scalar.isNull {
            decoder.report(
                .wrongShape, at: scalar.span,
                "'initial' says for each compound state which state inside is entered, and is no single name",
                hint: "the state that the system starts in is initialState: \(scalar.text)")
            return nil
        }
        let hint = "write initial: { Running: Copying }"
        guard let entries = decoder.entries(node, "'initial'", hint: hint) else { return nil }
        // A key that is no name has been reported, and is empty.
        let named = entries.filter { !$0.key.text.isEmpty }
        let initials = named.compactMap { entry in
            decoder.scalar(entry.value, "the name of the state inside '\(entry.key.text)'").map {
                (compound: entry.key, child: $0)
            }
        }
        return initials.count == entries.count ? initials : nil
    }

    /// Reports states that stand below another one, in the place of its fields. Returns whether it has reported some.
    func complainOfStates(in fields: [Node.Entry], of state: String) -> Bool {
        let inner = fields.first {
            $0.value.isMapping && $0.key.text.first?.isUppercase == true && !OriginDecoder.isField($0)
        }
        guard let inner, Names.isIdentifier(inner.key.text) else { return false }
        decoder.report(
            .wrongShape, at: inner.key.span,
            "a field needs a type, and '\(inner.key.text)' of '\(state)' is a mapping",
            hint: "a state inside is written beside it: \(state).\(inner.key.text): {}")
        return true
    }

    /// Checks the names of states, and that those around others are there.
    func check(_ states: [WrittenRecord]) {
        let known = Dictionary(
            states.map { ($0.name.text, $0) }, uniquingKeysWith: { first, _ in first })
        var missing: Set<String> = []
        for state in states where Names.isStateName(state.name.text) {
            let parts = state.name.text.split(separator: ".").map(String.init)
            if let word = parts.first(where: { $0 == Names.history || (parts.count > 1 && Self.reserved.contains($0)) })
            {
                decoder.report(
                    .reservedName, at: state.name.span, "a state cannot be named '\(state.name.text)'",
                    hint: "in transitions '\(word)' has a meaning of its own")
            }
            var inner = state.name.text
            while let outer = Names.around(inner) {
                inner = outer
                guard known[outer] == nil else { continue }
                if missing.insert(outer).inserted {
                    decoder.report(
                        .unknownState, at: state.name.span,
                        "'\(state.name.text)' lies in '\(outer)', which is not among the states",
                        hint: "write \(outer): {} above it")
                }
                break
            }
            checkFields(of: state, known)
        }
    }

    private static let reserved: Set<String> = [Names.any, Names.stay, Names.always]

    /// Reports fields that a state around has already.
    private func checkFields(of state: WrittenRecord, _ known: [String: WrittenRecord]) {
        var inner = state.name.text
        while let outer = Names.around(inner) {
            inner = outer
            guard let record = known[outer] else { continue }
            let names = Set(record.fields.map(\.name.text))
            for field in state.fields where names.contains(field.name.text) {
                decoder.report(
                    .duplicateName, at: field.name.span,
                    "'\(state.name.text)' has the field '\(field.name.text)' from '\(outer)' already",
                    hint: "the fields of a compound state belong to all states inside; leave it out here")
            }
        }
    }
}

extension Decoder {
    /// Checks the name of a state.
    func checkStateName(_ name: Scalar) {
        guard !Names.isStateName(name.text) else { return }
        guard name.text.contains(".") else { return checkIdentifier(name, "a state") }
        let parts = name.text.split(separator: ".", omittingEmptySubsequences: false)
        report(
            .invalidName, at: name.span, "'\(name.text.prefix(ConfigurationLimits.nameLength))' cannot name a state",
            hint: parts.count > ConfigurationLimits.stateNesting
                ? "states lie at most \(ConfigurationLimits.stateNesting) deep in each other"
                : "names with dots between them, such as Running.Copying, each a letter, then letters, digits and '_'; "
                    + "at most \(ConfigurationLimits.nameLength) characters")
    }
}
