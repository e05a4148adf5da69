/// The function that the fuzzer calls with each input.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzOneInput(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    FrameSubject.exercise(Array(UnsafeBufferPointer(start: start, count: count)))
    return 0
}
