/// The reason why a change of a link cannot be written to a file.
public struct PersistError: Error, Sendable, Hashable {
    /// The file that would be written.
    public var path: String
    /// The reason.
    public var reason: String
    /// The file that would override the written one.
    public var winner: String?
    /// A Boolean value that indicates whether the daemon's user must not write there.
    public var isDenied: Bool

    /// A reason.
    public init(path: String, reason: String, winner: String? = nil, isDenied: Bool = false) {
        self.path = path
        self.reason = reason
        self.winner = winner
        self.isDenied = isDenied
    }
}

/// A file to be written so that a link stays as a layer has it.
public struct PersistedLink: Sendable {
    /// The first line of every written file. A file without it belongs to somebody else.
    static let heading = "# Written by mediatorctl"
    /// The name of every file that is written.
    public static let fileName = "90-mediatorctl.yaml"

    /// The file's path.
    public var path: String
    /// The contents of the file in the active configuration; nil: it did not exist.
    public var previous: [UInt8]?
    /// The contents to be written; nil: the file has no contents left, and is removed.
    public var text: String?
    /// The files of the configuration with it.
    public var files: [ConfigurationFile]
    /// The layer without the link's change, which the file takes the place of.
    public var layer: TransientLayer
    /// The drop-ins that come later and say something of the link too, the last one last.
    public var overriding: [String] = []
}

extension TransientLayer {
    /// The file to be written so that a link stays as this layer has it; nil if the layer does not change it.
    ///
    /// A link that is in no other file is written into ``PersistedLink/fileName`` of the directory. A change of a link
    /// in another file is written into a drop-in of that name for that file.
    ///
    /// - Parameters:
    ///   - directory: The directory of the written files: one of the configuration.
    ///   - files: The files of the active configuration, without this layer.
    ///   - remark: The author and time of the change, for the file; one line.
    ///   - known: The cache of the last compilation. Its files are not read again.
    public func persisting(
        _ link: String, in directory: String, files: [ConfigurationFile], remark: String,
        known: CompiledParts = CompiledParts()
    ) throws(PersistError) -> PersistedLink? {
        guard changes[link] != nil else { return nil }
        let written = WrittenLinks(files, known)
        let wanted = definition(of: link, written.links[link]?.node)
        // A link that our own file has removed is written there.
        let place = written.links[link]?.file ?? DetachedLinks(files).links[link]?.file
        let folder = directory.hasSuffix("/") ? String(directory.dropLast()) : directory
        let own = "\(folder)/\(PersistedLink.fileName)"
        guard let place, files[place].path != own else {
            var after = files
            let index = after.firstIndex { $0.name == PersistedLink.fileName[...] }
            let file = try Self.changed(index.map { files[$0] }, own, link, wanted, remark)
            switch (index, file) {
            case (.some(let index), .some(let file)): after[index].contents = file.contents
            // Drop-ins of a file that is not there do nothing.
            case (.some(let index), nil): after.remove(at: index)
            case (nil, .some(let file)): after.append(file)
            case (nil, nil): break
            }
            return PersistedLink(
                path: own, previous: index.map { files[$0].contents }, text: file.map(Self.text), files: after,
                layer: without(link))
        }
        var owner = files[place]
        let path = "\(folder)/\(owner.name).d/\(PersistedLink.fileName)"
        let index = owner.dropIns.firstIndex { $0.name == PersistedLink.fileName[...] }
        let previous = index.map { owner.dropIns[$0] }
        // The drop-in contains the differences from the definition without it.
        let base = WrittenLinks([owner.withoutOurs]).links[link]?.node
        let patch: Node? =
            switch (base, wanted) {
            case (nil, _): wanted
            case (.some, nil): .null
            case (.some(let base), .some(let wanted)): base.change(to: wanted)
            }
        let file = try Self.changed(previous, path, link, patch, remark)
        let overriding = owner.dropIns.filter { other in
            other.name > PersistedLink.fileName[...]
                && WrittenLinks.links(of: other).contains { $0.key.text == link }
        }
        if let index { owner.dropIns.remove(at: index) }
        if let file { owner.dropIns.append(file) }
        var after = files
        after[place] = owner
        return PersistedLink(
            path: path, previous: previous?.contents, text: file.map(Self.text), files: after, layer: without(link),
            overriding: overriding.sorted { $0.name < $1.name }.map(\.path))
    }

    private static func text(_ file: ConfigurationFile) -> String { String(decoding: file.contents, as: UTF8.self) }

    /// A file of ours with another entry for a link, nil for none; nil if nothing is left in it.
    private static func changed(
        _ file: ConfigurationFile?, _ path: String, _ link: String, _ node: Node?, _ remark: String
    ) throws(PersistError) -> ConfigurationFile? {
        var links: [(name: String, node: Node)] = []
        if let file {
            guard file.path == path else {
                throw PersistError(path: path, reason: "there is '\(file.path)', and only one of the two would count")
            }
            links = try entries(of: file).map { ($0.key.text, $0.value) }
        }
        let index = links.firstIndex { $0.name == link }
        switch (index, node) {
        case (.some(let index), .some(let node)): links[index].node = node
        case (.some(let index), nil): links.remove(at: index)
        case (nil, .some(let node)): links.append((link, node))
        case (nil, nil): break
        }
        guard !links.isEmpty else { return nil }
        let text = """
            \(PersistedLink.heading): links that were changed while mediatord ran.
            # The next such change overwrites this file. Put your own text into another one.
            # \(remark)

            """
        return ConfigurationFile(path: path, text: text + LinkText.document(links.sorted { $0.name < $1.name }))
    }

    /// The links of a file that was written before.
    private static func entries(of file: ConfigurationFile) throws(PersistError) -> [Node.Entry] {
        let foreign = PersistError(
            path: file.path, reason: "somebody else has written it; give the file another name, and reload")
        guard file.contents.starts(with: PersistedLink.heading.utf8) else { throw foreign }
        let diagnostics = DiagnosticsCollector()
        let source = SourceText(path: file.path, contents: file.contents)
        let documents = DocumentReader.read(source, diagnostics, isDropIn: true).documents
        guard !diagnostics.hasErrors, documents.count <= 1 else { throw foreign }
        guard let root = documents.first?.root else { return [] }
        guard let sections = root.entries, sections.count == 1, sections[0].key.text == "links",
            let links = sections[0].value.entries
        else { throw foreign }
        return links
    }
}

extension Graph {
    /// Returns whether two configurations have the same parts, which mean the same.
    public func means(_ other: Graph) -> Bool {
        func parts(_ graph: Graph) -> [[String]] {
            graph.systems.map { [$0.name, $0.fingerprint] } + graph.buses.map { [$0.name, $0.fingerprint] }
                + graph.links.map { [$0.name, $0.fingerprint] }
        }
        return systems.count == other.systems.count && buses.count == other.buses.count && parts(self) == parts(other)
            && access.means(other.access) && limits == other.limits
    }
}
