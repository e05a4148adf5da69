import Glibc

/// The address of a service, as text that other implementations of Varlink also understand.
///
/// | text | meaning |
/// |---|---|
/// | `unix:/run/example`, `/run/example` | a path |
/// | `unix:@example`, `@example` | a name in the abstract namespace |
///
/// The part after a `;` of an address with `unix:` is for other implementations and is ignored. A path that begins with
/// `@` can be written as `./@…`.
public enum VarlinkAddress: Sendable, Hashable, CustomStringConvertible {
    /// A path of the file system.
    case path(String)
    /// A name in the abstract namespace of UNIX sockets (unix(7)), without the leading NUL.
    case abstract(String)

    /// Reads an address.
    ///
    /// - Throws: ``VarlinkError`` (`invalidPath`) if the text is not an address.
    public init(_ text: String) throws(VarlinkError) {
        var rest = text[...]
        if text.hasPrefix("unix:") {
            rest = text.dropFirst("unix:".count).prefix { $0 != ";" }
        } else if let colon = text.firstIndex(of: ":"), !text[..<colon].contains("/"), !text.hasPrefix("@") {
            throw VarlinkError(
                .invalidPath,
                "'\(text)' is not an address of a UNIX socket, such as 'unix:/run/example' or 'unix:@example'"
            )
        }
        self = rest.hasPrefix("@") ? .abstract(String(rest.dropFirst())) : .path(String(rest))
        try check()
    }

    /// The address with `unix:`.
    public var description: String {
        switch self {
        case .path(let path): "unix:\(path)"
        case .abstract(let name): "unix:@\(name)"
        }
    }

    /// Checks that the address fits into the address of a socket.
    func check() throws(VarlinkError) {
        switch self {
        case .path(let path): _ = try SocketPath.address(path)
        case .abstract(let name): _ = try AbstractSocket.address(name)
        }
    }
}
