public import CommonExpression

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

extension ConfigurationCompiler {
    /// The path that stands for standard input.
    public static let standardInputPath = "-"
    /// What standard input is called in messages.
    public static let standardInputName = "<stdin>"

    /// Reads directories, single files and standard input, and compiles them together; what cannot be read is reported
    /// with everything else. A path given twice counts once. Nothing is written, and nothing is run.
    ///
    /// - Parameters:
    ///   - paths: Directories, files, and `-` for standard input.
    ///   - standardInput: Reads standard input; called at most once. It need not return more than
    ///     ``ConfigurationLimits/fileSize`` bytes and one.
    ///   - effects: The side effects that there are.
    ///   - now: The time at which initial states are computed, to see that they can be; nil: they are not.
    public static func compile(
        paths: [String], standardInput: () -> [UInt8], effects: [EffectSchema] = EffectSchema.builtin,
        now: Timestamp? = nil
    ) -> CompilationResult {
        var files: [String: ConfigurationFile] = [:]
        var diagnostics: [Diagnostic] = []
        var seen: Set<String> = []
        for path in paths where seen.insert(path).inserted {
            if path == standardInputPath {
                files[standardInputName] = ConfigurationFile(path: standardInputName, contents: standardInput())
            } else if isDirectory(path) {
                let (found, problems) = ConfigurationDirectory.contents(of: path)
                for file in found { files[file.path] = file }
                diagnostics += problems
            } else {
                do throws(Diagnostic) {
                    if let contents = try ConfigurationDirectory.contents(ofFile: path) {
                        files[path] = ConfigurationFile(path: path, contents: contents)
                    }
                } catch {
                    diagnostics.append(error)
                }
            }
        }
        return compile(files: Array(files.values), effects: effects, unreadable: diagnostics, now: now)
    }

    private static func isDirectory(_ path: String) -> Bool {
        var status = stat()
        return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
    }
}
