/// A configuration as its files combine, before its meaning is checked: the documents, and the place of each value.
public struct MergedConfiguration: Sendable {
    /// One document of a file, with what its drop-ins changed.
    public struct Document: Sendable {
        /// The file it is in.
        public var file: String
        /// The drop-ins of which something is in it, in the order in which they were applied.
        public var dropIns: [String]
        /// The system's name; nil for a document of buses and links.
        public var system: String?
        /// The contents.
        public var root: MergedNode
    }

    /// The documents, by file.
    public var documents: [Document]
    /// Errors in reading and merging.
    public var diagnostics: [Diagnostic]
    /// Remarks about the selection, in lines for people.
    public var remarks: [String] = []
    /// The files that another one masks; nothing of them is among the documents.
    public var masked: [ConfigurationLayers.MaskedFile] = []
}

/// A part of a configuration with the place where it was written.
public struct MergedNode: Sendable {
    /// The contents of a node.
    public enum Content: Sendable {
        /// A plain scalar: what YAML's core schema makes of it.
        case plain(String)
        /// A scalar in quotes or of several lines: text.
        case text(String)
        /// A value that is found elsewhere, and not shown.
        case external(kind: UnavailableValue.Kind, name: String, fallback: String?)
        /// A list.
        case list([MergedNode])
        /// A mapping, in its order.
        case mapping([Entry])
    }

    /// A key of a mapping with its value.
    public struct Entry: Sendable {
        /// The key.
        public var key: String
        /// A Boolean value that indicates whether the key is a list of states in brackets.
        public var isList = false
        /// The value.
        public var value: MergedNode
    }

    /// The contents.
    public var content: Content
    /// The place where it was written.
    public var source: SourceLocation

    /// The entries of a mapping; none for anything else.
    public var entries: [Entry] {
        if case .mapping(let entries) = content { entries } else { [] }
    }

    /// The text of a scalar; nil for anything else.
    var text: String? {
        switch content {
        case .plain(let text), .text(let text): text
        case .external, .list, .mapping: nil
        }
    }

    /// The value of a key of a mapping.
    public subscript(key: String) -> MergedNode? { entries.first { $0.key == key }?.value }
}

extension ConfigurationCompiler {
    /// Reads files and merges their drop-ins into them, as compiling does.
    public static func merged(files: [ConfigurationFile]) -> MergedConfiguration {
        merged(files: files, unreadable: [])
    }

    /// Reads layers of directories and merges their files, as a compilation does.
    public static func merged(layers: ConfigurationLayers) -> MergedConfiguration {
        let contents = layers.read()
        var configuration = merged(files: contents.files, unreadable: contents.diagnostics)
        configuration.masked = contents.masked
        return configuration
    }

    private static func merged(files: [ConfigurationFile], unreadable: [Diagnostic]) -> MergedConfiguration {
        let diagnostics = DiagnosticsCollector()
        for diagnostic in unreadable { diagnostics.report(diagnostic) }
        var documents: [MergedConfiguration.Document] = []
        for file in files.sorted(by: { $0.path < $1.path }) {
            for document in LayeredReader.read(file, diagnostics).documents {
                let root = MergedNode(document.root, document.source)
                var written: Set<String> = []
                root.collectFiles(&written)
                documents.append(
                    MergedConfiguration.Document(
                        file: file.path,
                        dropIns: file.orderedDropIns.map(\.path).filter(written.contains),
                        system: DropInMerger.systemName(document.root), root: root))
            }
        }
        return MergedConfiguration(documents: documents, diagnostics: diagnostics.sorted())
    }
}

extension MergedNode {
    /// A node as others see it. It lies no deeper in itself than a document may.
    init(_ node: Node, _ text: SourceText) {
        source = text.location(at: node.span.start)
        switch node.content {
        case .scalar(let scalar): content = scalar.style == .plain ? .plain(scalar.text) : .text(scalar.text)
        case .external(let reference):
            content = .external(
                kind: reference.kind, name: reference.name.text, fallback: reference.fallback?.text)
        case .sequence(let items): content = .list(items.map { MergedNode($0, text) })
        case .mapping(let entries):
            content = .mapping(
                entries.map {
                    Entry(key: $0.key.text, isList: $0.key.style == .list, value: MergedNode($0.value, text))
                })
        }
    }

    /// Adds the files in which something of it was written.
    func collectFiles(_ files: inout Set<String>) {
        files.insert(source.file)
        switch content {
        case .list(let items): for item in items { item.collectFiles(&files) }
        case .mapping(let entries): for entry in entries { entry.value.collectFiles(&files) }
        default: break
        }
    }
}
