/// Choosing parts of a configuration by name.
extension MergedConfiguration {
    /// The keys of a document whose entries have names.
    private static let sections = ["buses", "links", "instances"]

    /// The names by which parts can be chosen: systems, buses, links, instances, and files.
    public var names: [String] {
        var names: Set<String> = []
        for document in documents {
            names.insert(Self.name(ofFile: document.file))
            if let system = document.system { names.insert(system) }
            guard document.system == nil else { continue }
            for section in Self.sections { names.formUnion(document.root[section]?.entries.map(\.key) ?? []) }
        }
        return names.sorted()
    }

    /// Only what has one of some names: a system, a bus, a link, an instance with its template, a file with or without
    /// its directories; and the names that nothing has.
    public func selecting(_ names: [String]) -> (selection: MergedConfiguration, unknown: [String]) {
        var found: Set<String> = []
        var wanted = Set(names)
        for name in names {
            if let parts = InstanceName(name), !parts.instance.isEmpty { wanted.insert(parts.template) }
        }
        var selection = MergedConfiguration(documents: [], diagnostics: diagnostics)
        for document in documents {
            let whole = [document.file, Self.name(ofFile: document.file), document.system].compactMap(\.self)
            if whole.contains(where: wanted.contains) {
                found.formUnion(whole)
                selection.documents.append(document)
                continue
            }
            guard document.system == nil else { continue }
            var part = document
            part.root.content = .mapping(
                document.root.entries.compactMap { section in
                    guard Self.sections.contains(section.key) else { return nil }
                    var section = section
                    let entries = section.value.entries.filter { wanted.contains($0.key) }
                    found.formUnion(entries.map(\.key))
                    section.value.content = .mapping(entries)
                    return entries.isEmpty ? nil : section
                })
            if !part.root.entries.isEmpty { selection.documents.append(part) }
        }
        return (selection, names.filter { !found.contains($0) })
    }

    private static func name(ofFile path: String) -> String {
        path.split(separator: "/").last.map(String.init) ?? path
    }
}
