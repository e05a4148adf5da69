/// A change of one link, made while a configuration runs.
public struct LinkChange: Sendable, Hashable {
    /// A key of a link with its new value.
    public struct Setting: Sendable, Hashable {
        /// The key; those of mappings within each other are joined by points, such as `emitEvent.Ring.by`.
        public var key: String
        /// The value in YAML; nothing (or `null`) removes the key.
        public var value: String

        /// A key with its new value.
        public init(key: String, value: String) {
            self.key = key
            self.value = value
        }
    }

    /// A change of a link.
    public enum Action: Sendable, Hashable {
        /// It is new: its definition in YAML (or JSON), nil for none, with keys that are set in it.
        case attach(String?, [Setting])
        /// The link was detached, by a change or in our own file, and is as written again.
        case attachAgain
        /// It is taken away.
        case detach
        /// Some of its keys change; the others stay as they are.
        case set([Setting])
    }

    /// The link's name, as it stands under `links`.
    public var link: String
    /// The change.
    public var action: Action

    /// A change of the link of this name.
    public init(link: String, action: Action) {
        self.link = link
        self.action = action
    }
}

/// The reason why a change of a link is impossible. Mistakes in the link itself are found when it is compiled.
public enum LinkChangeError: Error, Sendable, Hashable {
    /// There is no link of this name; the nearest is the most similar one that there is.
    case noSuchLink(String, nearest: String?)
    /// There is a link of this name already, and it is another.
    case exists(String)
    /// The link is written, but was detached.
    case detached(String)
    /// A link exists once for each instance of a template, and only all of them can be changed at once, by this name.
    case oneOfMany(String, link: String)
    /// The name is one under which is listed what a feedback publishes: that is no link that could be changed.
    case published(String)
    /// There are as many changes as there may be (``TransientLayer/limit``).
    case tooMany
    /// The changes are longer together than they may be (``TransientLayer/byteLimit``).
    case tooLarge
    /// The change cannot be read.
    case invalid([Diagnostic])
}

extension LinkChange.Setting {
    /// The keys on the way to the value; nil if the path is empty or too long.
    var path: [String]? {
        let parts = key.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        guard parts.count < ConfigurationLimits.nesting, !parts.contains("") else { return nil }
        return parts
    }
}

extension LinkChange {
    /// The name of a change in messages, as that of a file.
    static func fileName(of link: String) -> String { "<control \(link)>" }

    /// The YAML node of a text; nil if the text is empty.
    static func node(_ text: String, of link: String) throws(LinkChangeError) -> Node? {
        let name = fileName(of: link)
        guard text.utf8.count <= ConfigurationLimits.fileSize else {
            let message = "this is more than the \(ConfigurationLimits.fileSize) bytes that are allowed"
            let location = SourceLocation(file: name, line: 1, column: 1)
            throw .invalid([Diagnostic(code: .tooLarge, location: location, message: message)])
        }
        let source = SourceText(path: name, contents: Array(text.utf8))
        let diagnostics = DiagnosticsCollector()
        let documents = DocumentReader.read(source, diagnostics).documents
        if documents.count > 1 {
            diagnostics.report(
                .syntax, in: source, at: documents[1].root.mark, "one value is wanted, not several documents")
        }
        let sorted = diagnostics.sorted()
        guard !diagnostics.hasErrors else { throw .invalid(sorted) }
        return documents.first?.root
    }

    /// The keys that a definition and a setting give different values; empty if the definition cannot be read.
    public static func contradictions(of settings: [Setting], to definition: String) -> [String] {
        guard let root = try? node(definition, of: "") else { return [] }
        return settings.filter { setting in
            guard let path = setting.path, let value = try? node(setting.value, of: "") ?? .null else { return false }
            var written = root
            for key in path {
                // A mapping would replace any other value.
                guard let entries = written.entries else { return true }
                guard let entry = entries.first(where: { $0.key.text == key }) else { return false }
                written = entry.value
            }
            return !written.says(value)
        }.map(\.key)
    }

    /// A definition with keys set in it.
    ///
    /// - Throws: An error if a key to be removed is missing, or if something cannot be read.
    static func node(_ node: Node, setting settings: [Setting], of link: String) throws(LinkChangeError) -> Node {
        func wrong(_ code: Diagnostic.Code, _ message: String, _ hint: String? = nil) -> LinkChangeError {
            let location = SourceLocation(file: fileName(of: link), line: 1, column: 1)
            return .invalid([Diagnostic(code: code, location: location, message: message, hint: hint)])
        }
        guard settings.count <= ConfigurationLimits.fields else {
            throw wrong(.tooLarge, "these are more than the \(ConfigurationLimits.fields) keys that can be set at once")
        }
        var result = node
        var keys: Set<String> = []
        for setting in settings {
            guard keys.insert(setting.key).inserted else {
                throw wrong(.duplicateKey, "'\(setting.key)' is set twice", "give it one value")
            }
            guard let path = setting.path else {
                throw wrong(
                    .unknownKey, "'\(setting.key)' is no key",
                    "write a key of the link, such as when; a key within it after a point, such as loop.limit")
            }
            let value = try Self.node(setting.value, of: link)
            guard let changed = result.setting(value, at: path[...]) else {
                throw wrong(
                    .nothingToRemove, "there is no '\(setting.key)' here that could be removed",
                    "to add it, write its value behind the '='")
            }
            result = changed
            // A loop without its limit is none.
            if value == nil, path.count > 1, path.first == "loop" { result = result.withoutEmpty("loop") }
        }
        return result
    }
}
