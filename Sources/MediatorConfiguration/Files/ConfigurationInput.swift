public import CommonExpression

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

extension ConfigurationCompiler {
    /// The path that stands for standard input.
    public static let standardInputPath = "-"
    /// The name of standard input in messages.
    public static let standardInputName = "<stdin>"

    /// Reads directories, single files and standard input, and compiles them together. Errors in reading are among the
    /// diagnostics. A path given twice counts once. Nothing is written, and no program is run.
    ///
    /// - Parameters:
    ///   - paths: Directories, files, and `-` for standard input; none: the layers of ``ConfigurationLayers/system``.
    ///   - standardInput: Reads standard input; called at most once. It need not return more than
    ///     ``ConfigurationLimits/fileSize`` bytes and one.
    ///   - effects: The available side effects.
    ///   - kinds: The available kinds of systems.
    ///   - values: The source of values from elsewhere.
    ///   - now: The time at which initial states are computed as a check; nil: they are not.
    public static func compile(
        paths: [String], standardInput: () -> [UInt8], effects: [EffectSchema] = EffectSchema.builtin,
        kinds: [SystemKind] = [], values: ExternalValues = .none, now: Timestamp? = nil
    ) -> CompilationResult {
        if paths.isEmpty { return compile(layers: .system, effects: effects, kinds: kinds, values: values, now: now) }
        var files: [String: ConfigurationFile] = [:]
        var diagnostics: [Diagnostic] = []
        var seen: Set<String> = []
        for path in paths where seen.insert(path).inserted {
            if path == standardInputPath {
                files[standardInputName] = ConfigurationFile(path: standardInputName, contents: standardInput())
            } else if isDirectory(path) {
                let contents = ConfigurationLayers([path]).read()
                for file in contents.files { files[file.path] = file }
                diagnostics += contents.diagnostics
            } else {
                do throws(Diagnostic) {
                    if case .file(let contents) = try ConfigurationDirectory.entry(path) {
                        let file = ConfigurationFile(path: path, contents: contents)
                        files[path] = file
                        if file.holdsNothing { diagnostics.append(.onlyComments(inFile: path)) }
                    } else {
                        diagnostics.append(.noFiles(in: [path], areEmpty: true))
                    }
                } catch {
                    diagnostics.append(error)
                }
            }
        }
        return compile(
            files: Array(files.values), effects: effects, kinds: kinds, values: values, unreadable: diagnostics,
            now: now)
    }

    private static func isDirectory(_ path: String) -> Bool {
        var status = stat()
        return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
    }
}
