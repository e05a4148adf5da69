import CommonExpression

/// Compiles the earlier names of a system's states and of their fields, and the defaults of fields.
struct OriginCompiler {
    private let scope: SystemScope
    private let written: WrittenSystem
    private let context: CompilationContext
    private let lookup: Lookup

    init(_ scope: SystemScope, _ written: WrittenSystem, _ context: CompilationContext) {
        self.scope = scope
        self.written = written
        self.context = context
        lookup = Lookup(context: context, source: written.source)
    }

    /// The origins by the index of their state; nil after reporting.
    func origins() -> [Int: StateOrigin]? {
        let records = (written.states ?? []).filter { $0.was != nil || $0.fields.contains(where: \.hasOrigin) }
        if records.isEmpty { return [:] }
        var isWhole = areStatesSound(records)
        var origins: [Int: StateOrigin] = [:]
        for record in records {
            let name = record.name.text
            let inside = scope.states.indices.filter { Names.isState(scope.states[$0].name, in: name) }
            // The states around have their fields in it, too.
            let outer = records.filter { $0.name.text != name && Names.isState(name, in: $0.name.text) }
            guard let fields = origin(ofFields: record, inside.map { scope.states[$0].type }, beside: outer) else {
                isWhole = false
                continue
            }
            for state in inside {
                var origin = origins[state] ?? StateOrigin()
                if scope.states[state].name == name { origin.was = record.was?.text }
                origin.fields.merge(fields.fields) { first, _ in first }
                origin.defaults.merge(fields.defaults) { first, _ in first }
                origins[state] = origin
            }
        }
        return isWhole ? origins : nil
    }

    /// Returns whether the earlier names of states are sound. Reports if they are not.
    private func areStatesSound(_ records: [WrittenRecord]) -> Bool {
        let names = Set((written.states ?? []).map(\.name.text))
        var isSound = true
        var seen: Set<String> = []
        for record in records {
            guard let was = record.was else { continue }
            let name = record.name.text
            if scope.compounds.definitions.contains(where: { $0.name == name }) {
                lookup.report(
                    .conflictingKeys, at: was.span, "'\(name)' has states inside, so no saved state is only in it",
                    hint: "write 'was' at the states inside")
            } else if names.contains(was.text) {
                lookup.report(
                    .conflictingKeys, at: was.span,
                    "'\(was.text)' cannot be the earlier name of '\(name)', because there is a state of this name",
                    hint: "remove 'was', or that state")
            } else if !seen.insert(was.text).inserted {
                lookup.report(
                    .duplicateName, at: was.span, "'\(was.text)' is the earlier name of two states",
                    hint: "keep one of them")
            } else {
                continue
            }
            isSound = false
        }
        return isSound
    }

    /// The earlier names and the defaults of the fields of a state; nil after reporting.
    ///
    /// - Parameters:
    ///   - types: The type of the state, or of those inside it.
    ///   - outer: The states around it.
    private func origin(
        ofFields record: WrittenRecord, _ types: [StructureType], beside outer: [WrittenRecord]
    ) -> StateOrigin? {
        guard let type = types.first else { return nil }
        var origin = StateOrigin()
        var isWhole = true
        var seen = Set(outer.flatMap { $0.fields.compactMap(\.was?.text) })
        for field in record.fields {
            let name = field.name.text
            if let was = field.was {
                if types.contains(where: { $0.index(of: was.text) != nil }) {
                    lookup.report(
                        .conflictingKeys, at: was.span,
                        "'\(was.text)' cannot be the earlier name of '\(name)', because there is a field of this name",
                        hint: "remove 'was', or that field")
                    isWhole = false
                } else if !seen.insert(was.text).inserted {
                    lookup.report(
                        .duplicateName, at: was.span, "'\(was.text)' is the earlier name of two fields",
                        hint: "keep one of them")
                    isWhole = false
                }
                origin.fields[name] = was.text
            }
            guard let node = field.fallback, let place = type.index(of: name) else { continue }
            let fieldType = type.fields[place].type
            // The type is a mistake, which has been reported.
            guard fieldType != .dyn else { continue }
            let value = DataCompiler(context, written.source).constant(
                node, as: fieldType, Subject("the default of the field", name))
            if let value { origin.defaults[name] = value } else { isWhole = false }
        }
        return isWhole ? origin : nil
    }
}

extension WrittenRecord.Field {
    fileprivate var hasOrigin: Bool { was != nil || fallback != nil }
}
