import CommonExpression

/// Directories whose files make up one configuration, by systemd's rules (systemd.unit(5), "Unit File Load Path";
/// sysctl.d(5), "Configuration Directories and Precedence").
///
/// A file of an earlier directory replaces one of the same name in a later directory. An empty file or a link to
/// `/dev/null` masks it. A directory `NAME.yaml.d` contains drop-ins, which change the file `NAME.yaml` in whichever
/// directory that is. Drop-ins are gathered from all directories, replace and mask each other by name in the same way,
/// and are applied in the order of their names.
public struct ConfigurationLayers: Sendable, Hashable, CustomStringConvertible {
    /// The directories, the one that overrides all others first.
    public var directories: [String]
    /// A Boolean value that indicates whether a directory that is not there is an error rather than one without files.
    public var mustExist: Bool

    /// Layers of the given directories, the one that overrides all others first.
    public init(_ directories: [String], mustExist: Bool = true) {
        self.directories = directories
        self.mustExist = mustExist
    }

    /// The directories of an installed daemon: the administrator's, those made at run time, those installed beside
    /// packages, those of packages.
    public static let system = ConfigurationLayers(
        ["/etc/mediatord", "/run/mediatord", "/usr/local/lib/mediatord", "/usr/lib/mediatord"], mustExist: false)

    /// The directories, joined by commas.
    public var description: String { directories.joined(separator: ", ") }

    /// The contents of the directories.
    public struct Contents: Sendable {
        /// The files with their drop-ins, sorted by name.
        public var files: [ConfigurationFile]
        /// Errors in reading, and warnings about drop-ins that change nothing.
        public var diagnostics: [Diagnostic]
        /// The files that another one masks.
        public internal(set) var masked: [MaskedFile] = []

        /// Contents of the given files.
        public init(files: [ConfigurationFile], diagnostics: [Diagnostic] = []) {
            self.files = files
            self.diagnostics = diagnostics
        }
    }

    /// A file that does not count, as an empty one of its name, or a link to `/dev/null`, comes before it.
    public struct MaskedFile: Sendable, Hashable {
        /// Its name, without directories.
        public let name: String
        /// The path of the mask.
        public let mask: String
        /// The paths of the masked files, the one with precedence first.
        public let paths: [String]
    }

    /// Reads all files, and touches nothing else.
    ///
    /// - Parameter known: The earlier contents. Equal files share their bytes, so that the compiler recognizes them at
    ///   once.
    public func read(reusing known: Contents? = nil) -> Contents {
        var reader = LayerReader(self, known)
        return reader.read()
    }
}

extension Diagnostic {
    /// The diagnostic about directories and files without a configuration.
    static func noFiles(in places: [String], areEmpty: Bool) -> Diagnostic {
        let message =
            areEmpty
            ? "every configuration file in \(list(places, "and")) is empty"
            : "there is no configuration file in \(list(places, "or")); files must end in .yaml or .yml"
        return Diagnostic(severity: .warning, code: .noFiles, message: message)
    }

    /// The diagnostic about directories with nothing but comments.
    static func onlyComments(in places: [String]) -> Diagnostic {
        Diagnostic(
            severity: .warning, code: .noFiles,
            message: "only comments are in the configuration files of \(list(places, "and"))")
    }

    /// The diagnostic about a file with nothing but comments.
    static func onlyComments(inFile path: String) -> Diagnostic {
        Diagnostic(severity: .warning, code: .noFiles, message: "only comments are in '\(path)'")
    }

    /// Returns paths in quotes, with a word before the last one.
    private static func list(_ paths: [String], _ word: String) -> String {
        let quoted = paths.map { "'\($0)'" }
        guard quoted.count > 1 else { return quoted.joined() }
        return "\(quoted.dropLast().joined(separator: ", ")) \(word) \(quoted[quoted.count - 1])"
    }
}

/// Reads layers.
private struct LayerReader {
    private static let suffixes = [".yaml", ".yml"]
    private let layers: ConfigurationLayers
    private var diagnostics: [Diagnostic] = []
    /// The paths of a file by its name, at least one; that of the directory that overrides comes first.
    private var candidates: [String: [String]] = [:]
    /// By the name of the file they belong to, the same of the directories of drop-ins.
    private var dropInDirectories: [String: [String]] = [:]
    /// Directories that look like those of drop-ins.
    private var strays: [(name: String, path: String)] = []
    private var count = 0
    /// The earlier contents of files, by path.
    private let known: [String: [UInt8]]

    init(_ layers: ConfigurationLayers, _ known: ConfigurationLayers.Contents?) {
        self.layers = layers
        self.known = Dictionary(
            (known?.files ?? []).lazy.map { ($0.path, $0.contents) }, uniquingKeysWith: { first, _ in first })
    }

    private static func isFile(_ name: String) -> Bool { suffixes.contains { name.hasSuffix($0) } }

    private static func path(_ directory: String, _ name: String) -> String {
        directory.hasSuffix("/") ? directory + name : "\(directory)/\(name)"
    }

    mutating func read() -> ConfigurationLayers.Contents {
        for directory in layers.directories { list(directory) }
        var files: [ConfigurationFile] = []
        var masked: [String: String] = [:]
        let sorted = candidates.sorted { $0.key < $1.key }
        guard sorted.count <= ConfigurationLimits.files else { return full() }
        let parts = Concurrency.parts(Concurrency.threads(for: sorted.count))
        let found = Concurrency.map(parts) { part in
            Concurrency.part(part, of: sorted, in: parts).map { entry($0.value[0]) }
        }
        for ((name, _), found) in zip(sorted, found.joined()) {
            switch take(found) {
            case .file(let file): files.append(file)
            case .mask(let path): masked[name] = path
            case .unreadable: break
            }
            if isFull { return full() }
        }
        for index in files.indices where !dropInDirectories.isEmpty {
            guard let directories = dropInDirectories.removeValue(forKey: String(files[index].name)) else { continue }
            files[index].dropIns = dropIns(directories)
            if isFull { return full() }
        }
        complainOfUnused(files, Set(masked.keys))
        if files.allSatisfy(\.holdsNothing), !diagnostics.contains(where: { $0.severity == .error }) {
            diagnostics.append(
                files.isEmpty
                    ? .noFiles(in: layers.directories, areEmpty: !masked.isEmpty)
                    : .onlyComments(in: layers.directories))
        }
        var contents = ConfigurationLayers.Contents(files: files, diagnostics: diagnostics)
        contents.masked = masked.sorted { $0.key < $1.key }.compactMap { name, mask in
            let paths = (candidates[name] ?? []).drop { $0 != mask }.dropFirst()
            return paths.isEmpty ? nil : ConfigurationLayers.MaskedFile(name: name, mask: mask, paths: Array(paths))
        }
        return contents
    }

    private var isFull: Bool { count > ConfigurationLimits.files }

    private func full() -> ConfigurationLayers.Contents {
        let message = "there are more than the \(ConfigurationLimits.files) files that are allowed"
        return ConfigurationLayers.Contents(files: [], diagnostics: [Diagnostic(code: .tooLarge, message: message)])
    }

    private mutating func list(_ directory: String) {
        do throws(Diagnostic) {
            let names = try ConfigurationDirectory.names(in: directory) { Self.isFile($0) || $0.hasSuffix(".d") }
            guard let names else {
                if layers.mustExist { diagnostics.append(ConfigurationDirectory.missing(directory)) }
                return
            }
            for name in names {
                let path = Self.path(directory, name)
                guard name.hasSuffix(".d") else {
                    candidates[name, default: []].append(path)
                    continue
                }
                let owner = String(name.dropLast(2))
                if Self.isFile(owner) {
                    dropInDirectories[owner, default: []].append(path)
                } else {
                    strays.append((owner, path))
                }
            }
        } catch {
            diagnostics.append(error)
        }
    }

    /// The contents of a path.
    private enum Found {
        case file(ConfigurationFile)
        case mask(String)
        /// It hides files of its name in later directories all the same.
        case unreadable(Diagnostic)
    }

    private func entry(_ path: String) -> Found {
        do throws(Diagnostic) {
            switch try ConfigurationDirectory.entry(path, known: known[path]) {
            case .directory:
                return .unreadable(
                    Diagnostic(
                        code: .unreadable, location: SourceLocation(file: path, line: 1, column: 1),
                        message: "this is a directory, not a regular file",
                        hint: "give the directory another name: only files end in .yaml or .yml"))
            case .mask: return .mask(path)
            case .file(let contents): return .file(ConfigurationFile(path: path, contents: contents))
            }
        } catch {
            return .unreadable(error)
        }
    }

    /// Counts a file, and keeps its errors.
    private mutating func take(_ found: Found) -> Found {
        switch found {
        case .file: count += 1
        case .unreadable(let diagnostic): diagnostics.append(diagnostic)
        case .mask: break
        }
        return found
    }

    /// The drop-ins of one file, by name.
    private mutating func dropIns(_ directories: [String]) -> [ConfigurationFile] {
        var paths: [String: [String]] = [:]
        for directory in directories {
            do throws(Diagnostic) {
                let names = try names(inDropIns: directory) { Self.isFile($0) || $0.hasSuffix(".conf") }
                for name in names where Self.isFile(name) {
                    paths[name, default: []].append(Self.path(directory, name))
                }
                // Those of systemd are called so.
                for name in names where !Self.isFile(name) {
                    warn(
                        Self.path(directory, name), "this file is not read",
                        hint: "call it \(name.dropLast(5)).yaml: drop-ins end in .yaml or .yml")
                }
            } catch {
                diagnostics.append(error)
            }
        }
        return paths.sorted { $0.key < $1.key }.compactMap { name in
            if case .file(let file) = take(entry(name.value[0])) { file } else { nil }
        }
    }

    /// The names of the drop-ins in a directory; none where that is no directory.
    private func dropInNames(_ path: String) throws(Diagnostic) -> [String] {
        try names(inDropIns: path, where: Self.isFile)
    }

    private func names(inDropIns path: String, where isWanted: (String) -> Bool) throws(Diagnostic) -> [String] {
        guard case .directory = try ConfigurationDirectory.entry(path) else { return [] }
        return try ConfigurationDirectory.names(in: path, where: isWanted) ?? []
    }

    /// Warns of drop-ins for which there is no file, unless that is masked.
    private mutating func complainOfUnused(_ files: [ConfigurationFile], _ masked: Set<String>) {
        guard !dropInDirectories.isEmpty || !strays.isEmpty else { return }
        let known = files.map { String($0.name) }
        for (owner, directories) in dropInDirectories where !masked.contains(owner) && candidates[owner] == nil {
            for directory in directories {
                guard let first = try? dropInNames(directory).first else { continue }
                warn(
                    Self.path(directory, first), "there is no file '\(owner)' that this drop-in could change",
                    hint: nearestName(to: owner, among: known).map { "did you mean '\($0).d'?" })
            }
        }
        for (name, path) in strays {
            guard let owner = Self.suffixes.map({ name + $0 }).first(where: known.contains),
                case .directory? = try? ConfigurationDirectory.entry(path)
            else { continue }
            warn(path, "this directory's files are not read", hint: "drop-ins of '\(owner)' lie in '\(owner).d'")
        }
    }

    private mutating func warn(_ path: String, _ message: String, hint: String?) {
        diagnostics.append(
            Diagnostic(
                severity: .warning, code: .unusedDropIn, location: SourceLocation(file: path, line: 1, column: 1),
                message: message, hint: hint))
    }
}
