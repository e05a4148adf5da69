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

    /// The masked file that has this name, or in which something has it; it is read for that.
    public func maskedFile(of name: String) -> ConfigurationLayers.MaskedFile? {
        masked.first { file in
            if file.name == name || file.mask == name || file.paths.contains(name) { return true }
            for path in file.paths {
                guard case .file(let contents)? = try? ConfigurationDirectory.entry(path) else { continue }
                return ConfigurationCompiler.merged(files: [ConfigurationFile(path: path, contents: contents)]).names
                    .contains(name)
            }
            return false
        }
    }

    /// The definition of a link or bus that exists once for each instance.
    private struct Maker {
        var name: String
        var template: String
    }

    /// The link or bus that makes one of this name, for an instance that there is.
    private func maker(of name: String) -> Maker? {
        guard let parts = InstanceName(name), !parts.instance.isEmpty, !parts.isEvery else { return nil }
        let wirings = documents.filter { $0.system == nil }.map(\.root)
        func makes(_ node: MergedNode?) -> String? {
            guard let text = node?.text, let every = InstanceName(text), every.isEvery else { return nil }
            let instance = every.template + parts.instance
            return wirings.contains { $0["instances"]?[instance] != nil } ? every.template : nil
        }
        let link = String(parts.template.dropLast())
        let bus = parts.template + InstanceName.every
        for root in wirings {
            if let node = root["links"]?[link], let template = makes(node["attach"]) ?? makes(node["toSystem"]) {
                return Maker(name: link, template: template)
            }
            if let template = makes(root["buses"]?[bus]?["for"]) { return Maker(name: bus, template: template) }
        }
        return nil
    }

    /// Selects the definitions of some names, and returns the unknown names. A name may mean a system, a bus, a link,
    /// an instance with its template, all instances with their template (`template@*`), or a file with or without its
    /// directories. A link or bus that exists once for each instance is represented by its definition, with a remark.
    public func selecting(_ names: [String]) -> (selection: MergedConfiguration, unknown: [String]) {
        var found: Set<String> = []
        var wanted = Set(names)
        var remarks: [String] = []
        // By template, the name that stands for all its instances.
        var every: [String: String] = [:]
        for name in names {
            if let parts = InstanceName(name), !parts.instance.isEmpty {
                wanted.insert(parts.template)
                if parts.isEvery { every[parts.template] = name }
            }
            if let maker = maker(of: name) {
                found.insert(name)
                wanted.insert(maker.name)
                remarks.append("'\(name)' is made of '\(maker.name)', as one for each instance of '\(maker.template)'")
            }
        }
        var selection = MergedConfiguration(documents: [], diagnostics: diagnostics, remarks: remarks)
        for document in documents {
            let whole = [document.file, Self.name(ofFile: document.file), document.system].compactMap(\.self)
            if whole.contains(where: wanted.contains) {
                found.formUnion(whole)
                if let name = document.system.flatMap({ every[$0] }) { found.insert(name) }
                selection.documents.append(document)
                continue
            }
            guard document.system == nil else { continue }
            var part = document
            part.root.content = .mapping(
                document.root.entries.compactMap { section in
                    guard Self.sections.contains(section.key) else { return nil }
                    var section = section
                    let entries = section.value.entries.filter { entry in
                        if wanted.contains(entry.key) { return true }
                        guard section.key == "instances", let parts = InstanceName(entry.key) else { return false }
                        return every[parts.template] != nil
                    }
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
