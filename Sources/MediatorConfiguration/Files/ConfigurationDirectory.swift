public import CommonExpression

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// `read(2)`, whose name ``ConfigurationDirectory/read(_:)`` hides.
private func readBytes(_ descriptor: Int32, _ buffer: UnsafeMutableRawPointer?, _ count: Int) -> Int {
    read(descriptor, buffer, count)
}

/// Reads a directory's configuration files.
public enum ConfigurationDirectory {
    /// The files `*.yaml` and `*.yml` of a directory with their drop-ins, sorted by name. Hidden files, directories
    /// of other names, empty files and links to `/dev/null` are skipped.
    ///
    /// - Throws: The first error that ``ConfigurationCompiler/compile(directory:effects:)`` would report, such as a
    ///   missing directory, too many files, or a file that cannot be read or is too large.
    public static func read(_ path: String) throws(Diagnostic) -> [ConfigurationFile] {
        let contents = ConfigurationLayers([path]).read()
        if let first = contents.diagnostics.filter({ $0.severity == .error }).min() { throw first }
        return contents.files
    }

    /// A directory entry.
    enum Entry {
        /// A file with something in it.
        case file([UInt8])
        /// An empty file or a link to `/dev/null`.
        case mask
        /// A directory.
        case directory
    }

    /// The names in a directory that a function selects; nil if the directory is missing.
    static func names(in path: String, where isWanted: (String) -> Bool) throws(Diagnostic) -> [String]? {
        guard let directory = opendir(path) else {
            if errno == ENOENT { return nil }
            throw problem(path, doing: "read the directory", errno, isFile: false)
        }
        defer { closedir(directory) }
        var names: [String] = []
        while let entry = readdir(directory) {
            let name = DirectoryEntry.name(of: entry)
            guard !name.hasPrefix("."), isWanted(name) else { continue }
            names.append(name)
            guard names.count <= ConfigurationLimits.files else {
                let message = "'\(path)' has more than the \(ConfigurationLimits.files) files that are allowed"
                throw Diagnostic(code: .tooLarge, message: message)
            }
        }
        return names.sorted()
    }

    /// The error about a missing directory.
    static func missing(_ path: String) -> Diagnostic {
        problem(path, doing: "read the directory", ENOENT, isFile: false)
    }

    /// Reads the whole entry at a path.
    ///
    /// - Parameter known: The earlier contents. Equal contents are returned as the same array.
    static func entry(_ path: String, known: [UInt8]? = nil) throws(Diagnostic) -> Entry {
        // Without O_NONBLOCK, opening a named pipe would wait for its writer.
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { throw problem(path, doing: "open", errno, isFile: true) }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw problem(path, doing: "open", errno, isFile: true) }
        var null = stat()
        switch status.st_mode & S_IFMT {
        case S_IFREG: break
        case S_IFDIR: return .directory
        case S_IFCHR where stat("/dev/null", &null) == 0 && null.st_rdev == status.st_rdev: return .mask
        default:
            let location = SourceLocation(file: path, line: 1, column: 1)
            throw Diagnostic(code: .unreadable, location: location, message: "this is not a regular file")
        }
        if let known, Int64(status.st_size) == known.count, isWhole(descriptor, known) { return .file(known) }
        guard known == nil || lseek(descriptor, 0, SEEK_SET) == 0 else {
            throw problem(path, doing: "read", errno, isFile: true)
        }
        let limit = ConfigurationLimits.fileSize
        var contents: [UInt8] = []
        var isAtEnd = false
        while !isAtEnd, contents.count <= limit {
            // One more than the file is long, so that the first reading usually finds its end.
            let expected = contents.isEmpty && status.st_size > 0 ? Int(status.st_size) + 1 : contents.count + 4_096
            let room = min(limit + 1, expected) - contents.count
            var failure: Int32 = 0
            let chunk = [UInt8](unsafeUninitializedCapacity: room) { buffer, count in
                let result = readBytes(descriptor, buffer.baseAddress, room)
                count = max(0, result)
                if result < 0 { failure = errno }
                isAtEnd = result >= 0 && result < room
            }
            if failure == EINTR { continue }
            if failure != 0 { throw problem(path, doing: "read", failure, isFile: true) }
            if contents.isEmpty { contents = chunk } else { contents += chunk }
        }
        guard contents.count <= limit else {
            throw Diagnostic(
                code: .tooLarge, location: SourceLocation(file: path, line: 1, column: 1),
                message: "this file has more than the \(limit) bytes that are allowed")
        }
        return contents.isEmpty ? .mask : .file(contents)
    }

    /// Returns whether all that can be read are some bytes.
    private static func isWhole(_ descriptor: Int32, _ known: [UInt8]) -> Bool {
        // One more, so that one reading finds the end as well.
        withUnsafeTemporaryAllocation(byteCount: known.count + 1, alignment: 1) { buffer in
            guard let read = buffer.baseAddress, readBytes(descriptor, read, buffer.count) == known.count else {
                return false
            }
            return known.withUnsafeBytes { bytes in
                bytes.baseAddress.map { memcmp($0, read, bytes.count) == 0 } ?? true
            }
        }
    }

    private static func problem(_ path: String, doing: String, _ code: Int32, isFile: Bool) -> Diagnostic {
        let reason = strerror(code).map { String(cString: $0) } ?? "error \(code)"
        let hint: String? =
            switch code {
            case ENOENT: "is the path right?"
            case EACCES: "it is read as user \(geteuid()); may that user read it?"
            case ENOTDIR: "give the directory that holds the files"
            default: nil
            }
        return Diagnostic(
            code: .unreadable, location: isFile ? SourceLocation(file: path, line: 1, column: 1) : nil,
            message: "cannot \(doing) '\(path)': \(reason)", hint: hint, errorNumber: code)
    }
}

extension ConfigurationCompiler {
    /// Reads a directory and compiles its files. Errors in reading are among the diagnostics.
    ///
    /// - Parameters:
    ///   - directory: The directory.
    ///   - effects: The available side effects.
    ///   - kinds: The available kinds of systems.
    ///   - values: The source of values from elsewhere.
    ///   - now: The time at which initial states are computed as a check; nil: they are not.
    public static func compile(
        directory: String, effects: [EffectSchema] = EffectSchema.builtin,
        kinds: [SystemKind] = [], values: ExternalValues = .none,
        now: Timestamp? = nil
    ) -> CompilationResult {
        compile(layers: ConfigurationLayers([directory]), effects: effects, kinds: kinds, values: values, now: now)
    }

    /// Reads layers of directories and compiles their files. Errors in reading are among the diagnostics.
    ///
    /// - Parameters:
    ///   - layers: The directories.
    ///   - effects: The available side effects.
    ///   - kinds: The available kinds of systems.
    ///   - values: The source of values from elsewhere.
    ///   - now: The time at which initial states are computed as a check; nil: they are not.
    public static func compile(
        layers: ConfigurationLayers, effects: [EffectSchema] = EffectSchema.builtin,
        kinds: [SystemKind] = [], values: ExternalValues = .none,
        now: Timestamp? = nil
    ) -> CompilationResult {
        let contents = layers.read()
        return compile(
            files: contents.files, effects: effects, kinds: kinds, values: values, unreadable: contents.diagnostics,
            now: now)
    }

    /// Compiles the contents of directories with the changes on top of them.
    ///
    /// - Parameters:
    ///   - contents: The contents.
    ///   - layer: The changes. A change without effect, since its link is no longer written, causes a warning.
    ///   - effects: The available side effects.
    ///   - kinds: The available kinds of systems.
    ///   - values: The source of values from elsewhere.
    ///   - now: The time at which initial states are computed as a check; nil: they are not.
    ///   - known: The cache of the last compilation.
    /// - Returns: The result, and the links whose changes have no effect.
    public static func compile(
        contents: ConfigurationLayers.Contents, layer: TransientLayer, effects: [EffectSchema] = EffectSchema.builtin,
        kinds: [SystemKind] = [], values: ExternalValues = .none, now: Timestamp? = nil,
        reusing known: CompiledParts = CompiledParts()
    ) -> (result: CompilationResult, moot: [String]) {
        let (files, moot) = layer.applied(to: contents.files, known: known)
        let warnings = moot.map { link in
            Diagnostic(
                severity: .warning, code: .unusedDropIn,
                location: SourceLocation(file: LinkChange.fileName(of: link), line: 1, column: 1),
                message: "there is no link '\(link)' any longer that this change could change")
        }
        let result = compile(
            files: files, effects: effects, kinds: kinds, values: values, unreadable: contents.diagnostics + warnings,
            now: now, reusing: known)
        return (result, moot)
    }
}
