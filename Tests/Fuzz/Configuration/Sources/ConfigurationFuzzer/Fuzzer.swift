import MediatorConfiguration

/// Compiles the input as a file of a configuration: as one, and as two that it is cut into.
///
/// The compiler's coverage counters are in this module only where the library is built with `-sanitize=fuzzer` too,
/// which `run.sh` sees to.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzOneInput(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = Array(UnsafeBufferPointer(start: start, count: count))
    check([ConfigurationFile(path: "a.yaml", contents: bytes)])
    if count % 8 == 0 {
        let halves = [bytes.prefix(count / 2), bytes.suffix(count / 2)]
        check(halves.enumerated().map { ConfigurationFile(path: "\($0).yaml", contents: Array($1)) })
    }
    return 0
}

/// Compiles files, and checks the promises on which every caller relies.
private func check(_ files: [ConfigurationFile]) {
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

/// The entry point the package manager expects of an executable; hands over to the fuzzer's own `main`.
@_cdecl("ConfigurationFuzzer_main")
public func main(
    _ count: CInt, _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?
) -> CInt {
    var (count, arguments) = (count, arguments)
    return runDriver(&count, &arguments, fuzzOneInput)
}

@_silgen_name("LLVMFuzzerRunDriver")
private func runDriver(
    _ count: UnsafeMutablePointer<CInt>,
    _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?>,
    _ test: @convention(c) (UnsafePointer<UInt8>?, Int) -> CInt
) -> CInt
