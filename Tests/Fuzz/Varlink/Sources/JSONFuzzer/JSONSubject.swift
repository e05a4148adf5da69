import StrictJSON
import Varlink

/// Parses an input as JSON; what is read is written, and read as the same again.
///
/// The fuzzer calls it with new inputs, and `StoredInputTests` with the stored ones.
enum JSONSubject {
    static func exercise(_ bytes: [UInt8]) {
        // JSON that is accepted at a depth is accepted, and is the same, at every greater depth.
        let shallow = try? JSONValue(parsing: bytes.span, maximumDepth: 4)
        guard let value = try? JSONValue(parsing: bytes.span) else {
            precondition(shallow == nil)
            return
        }
        precondition(shallow == nil || shallow == value)
        precondition(depth(of: value) <= JSONValue.defaultMaximumDepth)
        precondition((depth(of: value) <= 4) == (shallow != nil))
        let written = value.serialized()
        precondition(!written.contains { $0 < 0x20 || $0 == 0x7F })
        guard let again = try? JSONValue(parsing: written.span) else { preconditionFailure("not read again") }
        precondition(again == value && again.serialized() == written)
    }
}

private func depth(of value: JSONValue) -> Int {
    switch value {
    case .array(let elements): 1 + (elements.map(depth).max() ?? 0)
    case .object(let members): 1 + (members.values.map(depth).max() ?? 0)
    default: 0
    }
}
