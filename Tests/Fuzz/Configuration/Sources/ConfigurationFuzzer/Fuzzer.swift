/// The function that the fuzzer calls with each input.
///
/// The compiler's coverage counters are in this module only where the library is built with `-sanitize=fuzzer` too,
/// which `run.sh` sees to.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzOneInput(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    ConfigurationSubject.exercise(Array(UnsafeBufferPointer(start: start, count: count)))
    return 0
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
