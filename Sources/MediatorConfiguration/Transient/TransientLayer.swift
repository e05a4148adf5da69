import CommonExpression

/// The topmost layer of an active configuration: changes of single links at run time, which are in no file.
///
/// For each changed link it has the new definition, a merge patch (RFC 7396), or the removal. ``applied(to:)`` puts it
/// over files as drop-ins and as files named `<control NAME>`, so that all other steps treat it like files.
public struct TransientLayer: Sendable {
    /// The largest number of changed links.
    public static let limit = 1_000
    /// The largest size of all changes in bytes of YAML: one reply of the control interface must be able to list them.
    public static let byteLimit = 1 << 18

    /// The sort of change of a link.
    public enum Kind: String, Sendable, Hashable, CaseIterable {
        /// There is the link because of it.
        case attached
        /// The link is written, and some of its keys are other ones.
        case changed
        /// The link is written, and taken away.
        case detached
    }

    /// One change, for people.
    public struct Listed: Sendable, Hashable {
        /// The link's name.
        public var link: String
        /// The sort of change.
        public var kind: Kind
        /// The change as a drop-in would say it, in YAML.
        public var text: String
    }

    enum Change: Sendable {
        case attached(Node)
        case changed(Node)
        case detached

        var kind: Kind {
            switch self {
            case .attached: .attached
            case .changed: .changed
            case .detached: .detached
            }
        }
    }

    private(set) var changes: [String: Change] = [:]

    /// A layer in which nothing is changed.
    public init() {}

    /// The links that are changed, sorted.
    public var links: [String] { changes.keys.sorted() }

    /// Every change, by link.
    public var list: [Listed] {
        changes.sorted { $0.key < $1.key }.map { name, change in
            Listed(link: name, kind: change.kind, text: Self.text(name, change, isWritten: false))
        }
    }

    /// The sort of change that made a link; nil: it is as written. The links of all instances are changed together.
    public func kind(ofLink name: String) -> Kind? {
        changes[name.split(separator: "@", maxSplits: 1).first.map(String.init) ?? name]?.kind
    }

    /// Returns whether this layer changes a link.
    public func changes(link: String) -> Bool { changes[link] != nil }

    /// Returns whether two layers say the same of a link.
    public func says(_ other: TransientLayer, ofLink link: String) -> Bool {
        switch (changes[link], other.changes[link]) {
        case (nil, nil), (.detached, .detached): true
        case (.attached(let left), .attached(let right)), (.changed(let left), .changed(let right)): left.says(right)
        default: false
        }
    }

    /// Without the change of a link.
    func without(_ link: String) -> TransientLayer {
        var layer = self
        layer.changes[link] = nil
        return layer
    }

    /// Without the changes of some links.
    public func without(_ links: [String]) -> TransientLayer { links.reduce(self) { $0.without($1) } }

    /// The files with this layer on top, and the links whose changes have no effect, since their definitions are gone.
    ///
    /// Linear in the files, which are read for that, unless there is no change.
    ///
    /// - Parameter known: The cache of the last compilation. Its files are not read again.
    public func applied(
        to files: [ConfigurationFile], known: CompiledParts = CompiledParts()
    ) -> (files: [ConfigurationFile], moot: [String]) {
        guard !changes.isEmpty else { return (files, []) }
        let written = WrittenLinks(files, known)
        var result = files
        var moot: [String] = []
        for (name, change) in changes.sorted(by: { $0.key < $1.key }) {
            let place = written.links[name]
            var file = ConfigurationFile(
                path: LinkChange.fileName(of: name), text: Self.text(name, change, isWritten: place != nil))
            file.isTransient = true
            if let place {
                result[place.file].dropIns.append(file)
            } else if case .attached = change {
                result.append(file)
            } else {
                moot.append(name)
            }
        }
        return (result, moot)
    }

    private static func text(_ name: String, _ change: Change, isWritten: Bool) -> String {
        switch change {
        case .attached(let node): LinkText.document([(name, Node(node.content, replaces: isWritten))])
        case .changed(let patch): LinkText.document([(name, patch)])
        case .detached: LinkText.document([(name, .null)])
        }
    }

    /// The layer with one more change. Only the compiler checks the changed link.
    ///
    /// A change without effect is accepted. A change back to the written definition removes the link from the layer.
    ///
    /// - Parameters:
    ///   - files: The files of the active configuration, without this layer.
    ///   - known: The cache of the last compilation. Its files are not read again.
    public func applying(
        _ change: LinkChange, to files: [ConfigurationFile], known: CompiledParts = CompiledParts()
    ) throws(LinkChangeError) -> TransientLayer {
        let written = WrittenLinks(files, known)
        let name = change.link
        let base = written.links[name]?.node
        let present = definition(of: name, base)
        var layer = self
        switch change.action {
        case .attach(let text, let settings):
            let wanted = try Self.attached(text, settings, name)
            if let present {
                guard present.says(wanted) else { throw .exists(name) }
                return self
            }
            layer.changes[name] = base.map { $0.says(wanted) } == true ? nil : .attached(wanted)
        case .attachAgain:
            if present != nil { return self }
            if case .detached = changes[name] {
                layer.changes[name] = nil
                break
            }
            // A file removes the link, and this layer overrides the file.
            let detached = DetachedLinks(files).links
            guard let link = detached[name] else {
                let names = changes.filter { $0.value.kind == .detached }.keys + Array(detached.keys)
                throw noSuchLink(name, among: names.sorted())
            }
            layer.changes[name] = .attached(link.node)
        case .detach:
            guard present != nil else {
                if isDetached(name, in: files) { return self }
                throw noSuchLink(name, among: names(written))
            }
            layer.changes[name] = base == nil ? nil : .detached
        case .set(let settings):
            guard let present else {
                if isDetached(name, in: files) { throw .detached(name) }
                throw noSuchLink(name, among: names(written))
            }
            let wanted = try LinkChange.node(present, setting: settings, of: name)
            if present.says(wanted) { return self }
            if let base, changes[name]?.kind != .attached {
                layer.changes[name] = base.change(to: wanted).map { .changed($0) }
            } else {
                layer.changes[name] = .attached(wanted)
            }
        }
        guard layer.changes.count <= Self.limit else { throw .tooMany }
        guard layer.list.reduce(0, { $0 + $1.text.utf8.count }) <= Self.byteLimit else { throw .tooLarge }
        return layer
    }

    /// The definition of a link with this layer on top of the written one; nil: the link does not exist.
    func definition(of link: String, _ written: Node?) -> Node? {
        switch changes[link] {
        case nil: written
        case .attached(let node): node
        case .changed(let patch): written?.merged(with: patch)
        case .detached: nil
        }
    }

    /// Returns whether a link that is not there was detached, by this layer or by a file of ours.
    private func isDetached(_ link: String, in files: [ConfigurationFile]) -> Bool {
        changes[link]?.kind == .detached || DetachedLinks(files).links[link] != nil
    }

    private func names(_ written: WrittenLinks) -> [String] {
        Set(written.links.keys).union(changes.keys).filter { changes[$0]?.kind != .detached }.sorted()
    }

    private func noSuchLink(_ name: String, among names: [String]) -> LinkChangeError {
        if let mark = name.firstIndex(of: "@"), names.contains(String(name[..<mark])) {
            return .oneOfMany(name, link: String(name[..<mark]))
        }
        guard !name.contains("/") else { return .published(name) }
        return .noSuchLink(name, nearest: nearestName(to: name, among: names))
    }

    private static func attached(
        _ text: String?, _ settings: [LinkChange.Setting], _ name: String
    ) throws(LinkChangeError) -> Node {
        let location = SourceLocation(file: LinkChange.fileName(of: name), line: 1, column: 1)
        guard Names.isPublicName(name) else {
            let shown = name.prefix(ConfigurationLimits.nameLength)
            throw .invalid([
                Diagnostic(
                    code: .invalidName, message: "'\(shown)' cannot name a link",
                    hint: "a letter, then letters, digits, '.', '_' and '-', at most \(ConfigurationLimits.nameLength)")
            ])
        }
        var node = Node(.mapping([]))
        if let text {
            let read = try LinkChange.node(text, of: name)
            guard let read, read.entries != nil else {
                throw .invalid([
                    Diagnostic(
                        code: .wrongShape, location: location,
                        message: "a link must be a mapping, not \(read?.kind ?? "nothing")",
                        hint: "write its keys, such as { attach: SYSTEM, to: BUS, onState: STATE, emitValue: VALUE }")
                ])
            }
            node = read
        }
        return try LinkChange.node(node, setting: settings, of: name)
    }
}

/// The definitions of links with their places, drop-ins included.
struct WrittenLinks {
    /// By name: the number of the file, and the definition.
    private(set) var links: [String: (file: Int, node: Node)] = [:]

    /// Reads files, except for those in the cache. Only the compiler reports mistakes in them. Linear.
    init(_ files: [ConfigurationFile], _ known: CompiledParts = CompiledParts()) {
        let sorted = files.enumerated().map { (offset: $0, element: $1, links: known.compiled($1)?.written.linkNodes) }
            .sorted { $0.element.path < $1.element.path }
        let count = Concurrency.threads(for: sorted.count { $0.links == nil })
        let parts = Concurrency.map(count) { part in
            Concurrency.part(part, of: sorted, in: count).flatMap { file in
                (file.links ?? Self.links(of: file.element)).map { (file.offset, $0) }
            }
        }
        // The first of two with one name counts; the duplicate is a mistake.
        for (index, link) in parts.joined() where links[link.key.text] == nil {
            links[link.key.text] = (index, link.value)
        }
    }

    /// The links of a file, drop-ins included.
    static func links(of file: ConfigurationFile) -> [Node.Entry] {
        LayeredReader.read(file, DiagnosticsCollector()).documents.flatMap { links(of: $0.root) }
    }

    /// The links of a document.
    static func links(of root: Node) -> [Node.Entry] {
        guard DropInMerger.systemName(root) == nil else { return [] }
        return (root.entries ?? []).filter { $0.key.text == "links" }.flatMap { $0.value.entries ?? [] }
    }
}

extension ConfigurationLayers.Contents {
    /// The path of the file that defines a link; nil if no file does.
    ///
    /// - Parameter known: The cache of the last compilation. Its files are not read again.
    public func file(ofLink name: String, known: CompiledParts = CompiledParts()) -> String? {
        WrittenLinks(files, known).links[name].map { files[$0.file].path }
    }
}

/// The links that are written, but removed by a drop-in of ours (``PersistedLink/fileName``).
struct DetachedLinks {
    /// By name: the number of the file, and the definition as it is without our drop-in.
    private(set) var links: [String: (file: Int, node: Node)] = [:]

    /// Reads the files that have such a drop-in.
    init(_ files: [ConfigurationFile]) {
        for (index, file) in files.enumerated() {
            guard let ours = file.dropIns.first(where: \.isOurs) else { continue }
            let removed = Set(WrittenLinks.links(of: ours).filter(\.value.isNull).map(\.key.text))
            guard !removed.isEmpty else { continue }
            let present = Set(WrittenLinks.links(of: file).map(\.key.text))
            for link in WrittenLinks.links(of: file.withoutOurs)
            where removed.contains(link.key.text) && !present.contains(link.key.text) && links[link.key.text] == nil {
                links[link.key.text] = (index, link.value)
            }
        }
    }
}

extension ConfigurationFile {
    /// A Boolean value that indicates whether it is one that is written when changes are persisted.
    var isOurs: Bool { name == PersistedLink.fileName[...] && contents.starts(with: PersistedLink.heading.utf8) }

    /// Without the drop-in that is written when changes are persisted.
    var withoutOurs: ConfigurationFile {
        var file = self
        file.dropIns.removeAll { $0.name == PersistedLink.fileName[...] }
        return file
    }
}
