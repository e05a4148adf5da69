/// One HTTP/1.1 request with its options. Redirects are not followed.
struct HTTPRequest: Sendable {
    /// The URL, with the scheme `http` or `https`.
    var url: String
    /// The path of the UNIX socket to connect to, instead of the host in ``url``.
    var socket: String?
    /// The addresses of the host in ``url`` as libcurl reads them: `host:port:address,…`.
    var addresses: String?
    var method: String
    /// The fields of the header. No two names differ only in case.
    var headers: [String: String]
    var body: [UInt8]?
    /// A Boolean value that indicates whether the server's certificate is verified.
    var verifies = true
    /// The certificates to trust instead of the system's, in PEM.
    var authorities: [UInt8]?
    /// The most bytes of the answer's body that are kept.
    var bodyLimit: Int
    /// A Boolean value that indicates whether the transfer ends after the header of a redirect.
    var endsAtRedirect = false
}

/// The answer to one request while it arrives: a value that takes the lines of the header and the pieces of the body.
///
/// Several fields of one name are joined with `, ` (RFC 9110, section 5.3). Interim answers (status 100 to 199) and the
/// fields after a body are read and discarded.
package struct HTTPResponse: Sendable {
    /// The treatment of the rest of the transfer.
    package enum Step: Sendable {
        case goOn
        case end
    }

    /// The reason why the transfer ended before the answer was complete.
    package enum Ending: Sendable {
        case redirect
        case largeHeader
        case largeBody
    }

    private enum Stage: Sendable {
        case start
        case fields
        case body
    }

    /// The most bytes in a header, and in the fields after a body.
    package static let headerLimit = 81_920
    /// The most fields in a header.
    package static let fieldLimit = 256
    /// The statuses of redirects.
    package static let redirects: Set<Int> = [301, 302, 303, 307, 308]

    package private(set) var status = 0
    /// The fields by their names in lowercase.
    package private(set) var headers: [String: String] = [:]
    package private(set) var body: [UInt8] = []
    package private(set) var ending: Ending?
    /// A Boolean value that indicates whether the whole header has been read.
    package var hasHeader: Bool { stage == .body }

    /// A Boolean value that indicates whether only the end of the connection ends the body (RFC 9112, section 6.3).
    package var endsWithConnection: Bool {
        hasHeader && headers["content-length"] == nil && headers["transfer-encoding"] == nil && status != 204
            && status != 304
    }

    private let bodyLimit: Int
    private let endsAtRedirect: Bool
    private var stage = Stage.start
    private var headerSize = 0
    private var fieldCount = 0

    package init(bodyLimit: Int, endsAtRedirect: Bool = false) {
        self.bodyLimit = bodyLimit
        self.endsAtRedirect = endsAtRedirect
    }

    /// Takes a line of a header, with its end.
    package mutating func take(line: some Collection<UInt8>) -> Step {
        let text = Substring(decoding: line, as: UTF8.self).trimmed
        if stage != .body, text.hasPrefix("HTTP/") {
            status = text.split(separator: " ", maxSplits: 2).dropFirst().first.flatMap { Int($0) } ?? 0
            (headers, headerSize, fieldCount, stage) = ([:], 0, 0, .fields)
        }
        headerSize += line.count
        fieldCount += 1
        // The status line and the empty line also count as fields here.
        guard headerSize <= Self.headerLimit, fieldCount <= Self.fieldLimit + 2 else { return end(.largeHeader) }
        guard stage == .fields else { return .goOn }
        guard text.isEmpty else {
            note(text)
            return .goOn
        }
        if (100..<200).contains(status) {
            stage = .start
            return .goOn
        }
        (stage, headerSize, fieldCount) = (.body, 0, 0)
        let leadsElsewhere = Self.redirects.contains(status) && headers["location"] != nil
        return endsAtRedirect && leadsElsewhere ? end(.redirect) : .goOn
    }

    /// Takes a piece of the body.
    package mutating func take(body piece: some Collection<UInt8>) -> Step {
        let room = bodyLimit - body.count
        body += piece.prefix(room)
        return piece.count > room ? end(.largeBody) : .goOn
    }

    private mutating func note(_ field: Substring) {
        guard let colon = field.firstIndex(of: ":"), !field.hasPrefix("HTTP/") else { return }
        let name = field[..<colon].lowercased()
        let value = field[field.index(after: colon)...].trimmed
        headers[name] = headers[name].map { "\($0), \(value)" } ?? String(value)
    }

    private mutating func end(_ ending: Ending) -> Step {
        self.ending = ending
        return .end
    }
}

extension Substring {
    /// The text without white space at its ends (RFC 9110, section 5.6.3) and without the end of the line.
    fileprivate var trimmed: Substring {
        let isBlank = { (character: Character) in
            character == " " || character == "\t" || character == "\r\n" || character == "\r" || character == "\n"
        }
        guard let last = lastIndex(where: { !isBlank($0) }) else { return "" }
        return self[...last].drop(while: isBlank)
    }
}
