extension Linker {
    /// The limits of memory, which only one place may set.
    func limits() -> MemoryLimits {
        let written = files.flatMap(\.written.limits)
        guard let first = written.first else { return .standard }
        for other in written.dropFirst() {
            diagnostics.report(
                .duplicateName, in: other.source, at: other.span,
                "'limits' is already defined in \(first.source.location(at: first.span.start))",
                hint: "write all limits in one place")
        }
        return first.limits
    }

    /// Returns the part of a system that survives the end of the process by default; nil: not written. Only one place may set it.
    func storeDefault() -> Persistence? {
        let written = files.flatMap(\.written.stores)
        guard let first = written.first else { return nil }
        for other in written.dropFirst() {
            diagnostics.report(
                .duplicateName, in: other.source, at: other.span,
                "'store' is already defined in \(first.source.location(at: first.span.start))",
                hint: "write 'store' in one place")
        }
        return first.standard
    }

    /// The groups; of one with a mistake, what is right of it.
    func groups(_ systems: [String: WiringCompiler.System]) -> [GroupDefinition] {
        var taken: [String: String] = [:]
        let named = unique(places(\.groups) { ($0.name, $0.source) }, "group")
        for place in named.others where !mayHideSystems {
            let written = files[place.file].written.groups[place.index]
            for name in written.systems where systems[name.text] == nil {
                Lookup(context: context, source: written.source).report(
                    .unknownSystem, at: name.span, "there is no system '\(name.text)'",
                    hint: Names.hint(for: name.text, among: systems.keys.sorted()))
            }
        }
        return named.kept.map { place in
            let written = files[place.file].written.groups[place.index]
            let lookup = Lookup(context: context, source: written.source)
            var members: [Int] = []
            for name in written.systems {
                if let group = taken.updateValue(written.name.text, forKey: name.text) {
                    lookup.report(
                        .duplicateName, at: name.span,
                        group == written.name.text
                            ? "the system '\(name.text)' stands twice in this group"
                            : "the system '\(name.text)' is in the group '\(group)' already, and can be in one only")
                } else if let system = systems[name.text] {
                    members.append(system.index)
                } else if !mayHideSystems {
                    lookup.report(
                        .unknownSystem, at: name.span, "there is no system '\(name.text)'",
                        hint: Names.hint(for: name.text, among: systems.keys.sorted()))
                }
            }
            return GroupDefinition(
                name: written.name.text, source: written.source.location(at: written.name.span.start),
                strategy: written.strategy, systems: members)
        }
    }
}
