import Glibc
import Testing

/// Runs a closure on this thread without CAP_FOWNER (capabilities(7)), which is needed to change the permissions of
/// other users' files.
package func withoutOwningFiles(_ body: () throws -> Void) throws {
    typealias Call = @convention(c) (UnsafeRawPointer, UnsafeMutableRawPointer) -> Int32
    let found = (try #require(dlsym(nil, "capget")), try #require(dlsym(nil, "capset")))
    // The C library's capget(2) and capset(2) take two pointers and return an int.
    let get = unsafeBitCast(found.0, to: Call.self)
    let set = unsafeBitCast(found.1, to: Call.self)
    // Version 3 and this thread; then the effective, permitted and inheritable sets, twice 32 bits each.
    let header: [UInt32] = [0x2008_0522, 0]
    var usual = [UInt32](repeating: 0, count: 6)
    try #require(get(header, &usual) == 0)
    var fewer = usual
    fewer[0] &= ~(1 << 3)
    try #require(set(header, &fewer) == 0)
    defer { _ = set(header, &usual) }
    try body()
}
