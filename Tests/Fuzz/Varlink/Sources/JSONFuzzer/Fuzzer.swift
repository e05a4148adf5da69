import StrictJSON
import Varlink

/// Parses the input as JSON; what is read is written, and read as the same again.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzOneInput(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = Array(UnsafeBufferPointer(start: start, count: count))
    // JSON that is accepted at a depth is accepted, and is the same, at every greater depth.
    let shallow = try? JSONValue(parsing: bytes.span, maximumDepth: 4)
    guard let value = try? JSONValue(parsing: bytes.span) else {
        precondition(shallow == nil)
        return 0
    }
    precondition(shallow == nil || shallow == value)
    precondition(depth(of: value) <= JSONValue.defaultMaximumDepth)
    precondition((depth(of: value) <= 4) == (shallow != nil))
    let written = value.serialized()
    precondition(!written.contains { $0 < 0x20 || $0 == 0x7F })
    guard let again = try? JSONValue(parsing: written.span) else { preconditionFailure("not read again") }
    precondition(again == value && again.serialized() == written)
    return 0
}

private func depth(of value: JSONValue) -> Int {
    switch value {
    case .array(let elements): 1 + (elements.map(depth).max() ?? 0)
    case .object(let members): 1 + (members.values.map(depth).max() ?? 0)
    default: 0
    }
}
