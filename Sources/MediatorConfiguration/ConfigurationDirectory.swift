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
    /// The files `*.yaml` and `*.yml` of a directory, sorted by name. Hidden files, directories below, and links to
    /// `/dev/null` are passed over.
    ///
    /// - Throws: The first of what ``ConfigurationCompiler/compile(directory:effects:)`` would report: the directory
    ///   is missing, is none or cannot be read, has too many files, or a file cannot be read or is too large.
    public static func read(_ path: String) throws(Diagnostic) -> [ConfigurationFile] {
        let (files, diagnostics) = contents(of: path)
        if let first = diagnostics.min() { throw first }
        return files
    }

    /// The readable files of a directory, and what is wrong with the others.
    static func contents(of path: String) -> (files: [ConfigurationFile], diagnostics: [Diagnostic]) {
        guard let directory = opendir(path) else {
            return ([], [problem(path, doing: "read the directory", errno, isFile: false)])
        }
        defer { closedir(directory) }
        var names: [String] = []
        while let entry = readdir(directory) {
            let name = withUnsafeBytes(of: entry.pointee.d_name) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            guard !name.hasPrefix("."), name.hasSuffix(".yaml") || name.hasSuffix(".yml") else { continue }
            names.append(name)
            guard names.count <= ConfigurationLimits.files else {
                let message = "'\(path)' has more than the \(ConfigurationLimits.files) files that are allowed"
                return ([], [Diagnostic(code: .tooLarge, message: message)])
            }
        }
        var files: [ConfigurationFile] = []
        var diagnostics: [Diagnostic] = []
        for name in names.sorted() {
            let file = path.hasSuffix("/") ? path + name : path + "/" + name
            do {
                if let contents = try contents(ofFile: file) {
                    files.append(ConfigurationFile(path: file, contents: contents))
                }
            } catch {
                diagnostics.append(error)
            }
        }
        return (files, diagnostics)
    }

    /// A regular file's bytes; nil for a directory or a link to `/dev/null`.
    static func contents(ofFile path: String) throws(Diagnostic) -> [UInt8]? {
        // Without O_NONBLOCK, opening a named pipe would wait for its writer.
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { throw problem(path, doing: "open", errno, isFile: true) }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw problem(path, doing: "open", errno, isFile: true) }
        var null = stat()
        switch status.st_mode & S_IFMT {
        case S_IFREG: break
        case S_IFDIR: return nil
        case S_IFCHR where stat("/dev/null", &null) == 0 && null.st_rdev == status.st_rdev: return nil
        default:
            let location = SourceLocation(file: path, line: 1, column: 1)
            throw Diagnostic(code: .unreadable, location: location, message: "this is not a regular file")
        }
        let limit = ConfigurationLimits.fileSize
        var contents: [UInt8] = []
        var isAtEnd = false
        while !isAtEnd, contents.count <= limit {
            // One more than the file is long, so that the first reading usually finds its end.
            let room = min(limit + 1, max(Int(status.st_size) + 1, contents.count + 4_096)) - contents.count
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
        return contents
    }

    private static func problem(_ path: String, doing: String, _ code: Int32, isFile: Bool) -> Diagnostic {
        let reason = strerror(code).map { String(cString: $0) } ?? "error \(code)"
        let hint: String? =
            switch code {
            case ENOENT: "is the path right?"
            case EACCES: "may this user read it?"
            case ENOTDIR: "give the directory that holds the files"
            default: nil
            }
        return Diagnostic(
            code: .unreadable, location: isFile ? SourceLocation(file: path, line: 1, column: 1) : nil,
            message: "cannot \(doing) '\(path)': \(reason)", hint: hint)
    }
}

extension ConfigurationCompiler {
    /// Reads a directory and compiles its files; what cannot be read is reported with everything else.
    ///
    /// - Parameter now: The time at which initial states are computed, to see that they can be; nil: they are not.
    public static func compile(
        directory: String, effects: [EffectSchema] = EffectSchema.builtin, now: Timestamp? = nil
    ) -> CompilationResult {
        let (files, diagnostics) = ConfigurationDirectory.contents(of: directory)
        return compile(files: files, effects: effects, unreadable: diagnostics, now: now)
    }
}
