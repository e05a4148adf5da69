/// A URL of the schemes `http`, `https`, `http+unix` and `https+unix`, taken apart (RFC 3986).
///
/// With `http+unix` and `https+unix` the host is the path of a UNIX socket, percent-encoded:
/// `http+unix://%2Frun%2Fapp.sock/health`.
public struct WebAddress: Sendable, Hashable {
    /// The reason why a text is not such a URL, to follow the name of its purpose: `must …`. It contains no part of the
    /// text.
    public struct Problem: Error, Hashable {
        /// The words.
        public let message: String
    }

    /// The largest length in bytes.
    public static let limit = 8_192

    /// The scheme, in small letters.
    public let scheme: String
    /// The host in small letters, without brackets, or the path of the socket.
    public let host: String
    /// The port; that of the scheme if none is written, and 0 for a socket.
    public let port: Int
    /// The whole text as written.
    public let text: String

    /// A Boolean value that indicates whether TLS is spoken.
    public var isSecure: Bool { scheme.hasPrefix("https") }
    /// A Boolean value that indicates whether the host is a UNIX socket.
    public var isSocket: Bool { scheme.hasSuffix("+unix") }

    /// Returns whether both are the same server by RFC 6454: of one scheme, host and port.
    public func hasOrigin(of other: WebAddress) -> Bool {
        scheme == other.scheme && host == other.host && port == other.port
    }

    /// Takes a URL apart.
    public init(_ text: String) throws(Problem) {
        guard text.utf8.count <= Self.limit else {
            throw Problem(message: "must be at most \(Self.limit) bytes long")
        }
        guard let colon = text.firstRange(of: "://"),
            case let scheme = text[..<colon.lowerBound].lowercased(),
            ["http", "https", "http+unix", "https+unix"].contains(scheme)
        else {
            throw Problem(message: "must be a URL: it begins with http://, https://, http+unix:// or https+unix://")
        }
        // RFC 3986 allows no spaces, line breaks and the like anywhere.
        guard text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7f && !#""<>\^`{|}"#.utf8.contains($0) }) else {
            throw Problem(message: "must be a URL whose special characters are percent-encoded: a space is %20")
        }
        let authority = text[colon.upperBound...].prefix { !"/?#".contains($0) }
        guard !authority.contains("@") else {
            throw Problem(message: "must hold no user or password: they belong into the header Authorization")
        }
        self.scheme = scheme
        self.text = text
        if scheme.hasSuffix("+unix") {
            guard let path = Self.decoded(authority), path.utf8.first == UInt8(ascii: "/"), !path.utf8.contains(0),
                path.utf8.count <= EffectSchema.Parameter.Constraint.socketPathLimit
            else {
                throw Problem(
                    message: "must have the percent-encoded path of a socket as its host: %2Frun%2Fapp.sock")
            }
            (host, port) = (path, 0)
        } else {
            (host, port) = try Self.remote(authority, scheme)
        }
    }

    private static func remote(_ authority: Substring, _ scheme: String) throws(Problem) -> (String, Int) {
        let host: Substring
        var rest: Substring
        if authority.first == "[" {
            host = authority.dropFirst().prefix { $0 != "]" }
            rest = authority.dropFirst(host.count + 1)
            guard rest.first == "]", host.contains(":") else { throw noHost }
            rest = rest.dropFirst()
        } else {
            host = authority.prefix { $0 != ":" }
            rest = authority.dropFirst(host.count)
        }
        guard EffectSchema.Parameter.Constraint.isHost(String(host)) else { throw noHost }
        guard !rest.isEmpty else { return (host.lowercased(), scheme == "https" ? 443 : 80) }
        guard rest.first == ":", rest.count <= 6, rest.dropFirst().allSatisfy({ $0.isASCII && $0.isNumber }),
            let port = Int(rest.dropFirst()), (1...65_535).contains(port)
        else { throw Problem(message: "must have a port from 1 to 65535 behind its host, or none") }
        return (host.lowercased(), port)
    }

    private static let noHost = Problem(message: "must be a URL with the name or address of a host")

    /// The text with its percent-encoded bytes decoded; `nil` if it is not encoded so, or not UTF-8.
    private static func decoded(_ text: Substring) -> String? {
        var bytes: [UInt8] = []
        var rest = text.utf8[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            let digits = rest.prefix(2)
            guard digits.count == 2, digits.allSatisfy({ Character(UnicodeScalar($0)).isHexDigit }),
                let value = UInt8(String(decoding: digits, as: UTF8.self), radix: 16)
            else { return nil }
            bytes.append(value)
            rest = rest.dropFirst(2)
        }
        return String(validating: bytes, as: UTF8.self)
    }
}
