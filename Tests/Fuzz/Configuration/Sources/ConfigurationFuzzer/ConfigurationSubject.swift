import MediatorConfiguration

/// Compiles an input as a file of a configuration: as one, and as two that it is cut into.
///
/// The fuzzer calls it with new inputs, and `StoredInputTests` with the stored ones.
enum ConfigurationSubject {
    static func exercise(_ bytes: [UInt8]) {
        check([ConfigurationFile(path: "a.yaml", contents: bytes)])
        if bytes.count % 8 == 0 {
            let halves = [bytes.prefix(bytes.count / 2), bytes.suffix(bytes.count / 2)]
            check(halves.enumerated().map { ConfigurationFile(path: "\($0).yaml", contents: Array($1)) })
        }
    }

    /// Compiles files, and checks the promises on which every caller relies.
    private static func check(_ files: [ConfigurationFile]) {
        let result = ConfigurationCompiler.compile(files: files)
        precondition((result.graph == nil) == result.diagnostics.contains { $0.severity == .error })
        precondition(result.diagnostics == result.diagnostics.sorted())
        for diagnostic in result.diagnostics {
            let text = diagnostic.rendered()
            precondition(!text.utf8.contains { $0 < 0x20 && $0 != 0x0A }, text)
            precondition(diagnostic.message.unicodeScalars.count <= 1_000, text)
            precondition(diagnostic.code.meaning != diagnostic.code.rawValue, text)
            precondition((diagnostic.severity == .warning) == diagnostic.code.isWarning, text)
            if let excerpt = diagnostic.excerpt {
                precondition(diagnostic.caretOffset <= excerpt.unicodeScalars.count, text)
            }
        }
    }
}
