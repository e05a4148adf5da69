import CCurl
import Glibc
import SystemPackage

/// One request while libcurl performs it: its handle, the memory that the handle needs, and the answer so far.
///
/// It belongs to the thread of an ``HTTPClient``.
final class HTTPTransfer {
    /// The longest time that connecting may take.
    static let connectLimit = Duration.seconds(10)

    let handle: UnsafeMutableRawPointer
    private var response: HTTPResponse
    private let hasHeader: () -> Void
    private let isSecure: Bool
    private let wantsBody: Bool
    /// A Boolean value that indicates whether the server ended TLS correctly, with the alert `close_notify`.
    private var hasCloseNotify = false
    private var lists: [UnsafeMutablePointer<curl_slist>] = []
    /// libcurl's error text, which distinguishes some errors with the same code.
    private let words: UnsafeMutablePointer<CChar>

    /// Creates a transfer; `nil` if libcurl refuses the request, because memory or a feature of libcurl is missing.
    ///
    /// - Parameter hasHeader: Called when the whole header of the answer has been read.
    init?(_ request: HTTPRequest, hasHeader: @escaping () -> Void) {
        guard let handle = curl_easy_init() else { return nil }
        self.handle = handle
        self.hasHeader = hasHeader
        response = HTTPResponse(bodyLimit: request.bodyLimit, endsAtRedirect: request.endsAtRedirect)
        isSecure = request.url.hasPrefix("https")
        wantsBody = request.method != "HEAD"
        words = .allocate(capacity: Int(CURL_ERROR_SIZE))
        words.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
        guard ccurl_set_error_buffer(handle, words) == CURLE_OK, configure(request) else { return nil }
    }

    deinit {
        curl_easy_cleanup(handle)
        for list in lists { curl_slist_free_all(list) }
        words.deallocate()
    }

    // MARK: The request

    private func configure(_ request: HTTPRequest) -> Bool {
        let (seconds, _) = Self.connectLimit.components
        let numbers: [(CURLoption, Int)] = [
            (CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_1_1)), (CURLOPT_NOSIGNAL, 1), (CURLOPT_PATH_AS_IS, 1),
            (CURLOPT_CONNECTTIMEOUT, Int(seconds)),
            // A separate connection shows that the server is reachable now.
            (CURLOPT_FRESH_CONNECT, 1), (CURLOPT_FORBID_REUSE, 1),
            (CURLOPT_SSLVERSION, Int(CURL_SSLVERSION_TLSv1_2)),
            (CURLOPT_SSL_VERIFYPEER, request.verifies ? 1 : 0), (CURLOPT_SSL_VERIFYHOST, request.verifies ? 2 : 0),
        ]
        let texts: [(CURLoption, String)] = [
            (CURLOPT_URL, request.url), (CURLOPT_PROTOCOLS_STR, "http,https"),
            // The proxies of the environment are not used.
            (CURLOPT_PROXY, ""),
        ]
        guard numbers.allSatisfy({ ccurl_set_number(handle, $0, $1) == CURLE_OK }),
            texts.allSatisfy({ ccurl_set_text(handle, $0, $1) == CURLE_OK }),
            request.socket.map({ ccurl_set_text(handle, CURLOPT_UNIX_SOCKET_PATH, $0) == CURLE_OK }) ?? true,
            request.addresses.map({ set(CURLOPT_RESOLVE, [$0]) }) ?? true,
            request.authorities.map(trust) ?? true, set(CURLOPT_HTTPHEADER, fields(of: request)), setBody(of: request)
        else { return false }
        // libcurl calls these functions on the thread that drives it, while this object is alive.
        let context = Unmanaged.passUnretained(self).toOpaque()
        if isSecure, ccurl_set_observer(handle, Self.observer, context) != CURLE_OK { return false }
        return ccurl_set_receivers(
            handle, { HTTPTransfer.receive($0, $1 * $2, $3) { $0.take(line: $1) } },
            { HTTPTransfer.receive($0, $1 * $2, $3) { $0.response.take(body: $1) } }, context) == CURLE_OK
    }

    /// Looks for the alert `close_notify`. libcurl accepts the end of a connection without it as the end of an answer,
    /// so an attacker could cut the answer short.
    private static let observer: ccurl_observer = { _, kind, bytes, count, context in
        let isCloseNotify =
            kind == CURLINFO_SSL_DATA_IN && count == 2
            && UnsafeRawBufferPointer(start: bytes, count: count).elementsEqual([1, 0])
        if isCloseNotify, let context {
            Unmanaged<HTTPTransfer>.fromOpaque(context).takeUnretainedValue().hasCloseNotify = true
        }
        return 0
    }

    private static func receive(
        _ bytes: UnsafeMutablePointer<CChar>?, _ count: Int, _ context: UnsafeMutableRawPointer?,
        _ take: (HTTPTransfer, UnsafeRawBufferPointer) -> HTTPResponse.Step
    ) -> Int {
        guard let context else { return -1 }
        let transfer = Unmanaged<HTTPTransfer>.fromOpaque(context).takeUnretainedValue()
        return switch take(transfer, UnsafeRawBufferPointer(start: bytes, count: count)) {
        case .goOn: count
        case .end: -1
        }
    }

    private func take(line: UnsafeRawBufferPointer) -> HTTPResponse.Step {
        let hadHeader = response.hasHeader
        let step = response.take(line: line)
        if response.hasHeader, !hadHeader { hasHeader() }
        return step
    }

    private func fields(of request: HTTPRequest) -> [String] {
        var fields = Dictionary(
            request.headers.sorted { $0.key < $1.key }.map { ($0.key.lowercased(), $0) }, uniquingKeysWith: { $1 })
        func add(_ name: String, _ value: String) {
            if fields[name.lowercased()] == nil { fields[name.lowercased()] = (name, value) }
        }
        add("User-Agent", "mediatord")
        add("Accept", "*/*")
        fields["connection"] = ("Connection", "close")
        // Fields that libcurl would add.
        let removed = ["Expect:"] + (fields["content-type"] == nil ? ["Content-Type:"] : [])
        return fields.values.map { $0.value.isEmpty ? "\($0.key);" : "\($0.key): \($0.value)" } + removed
    }

    private func setBody(of request: HTTPRequest) -> Bool {
        // An answer to HEAD has no body, and libcurl would wait for one if the request has a body.
        if request.method == "HEAD" { return ccurl_set_number(handle, CURLOPT_NOBODY, 1) == CURLE_OK }
        // These methods send the length of their body even without one (RFC 9110, section 8.6).
        let body = request.body ?? (["POST", "PUT", "PATCH"].contains(request.method) ? [] : nil)
        if let body, ccurl_set_body(handle, body, body.count) != CURLE_OK { return false }
        return ccurl_set_text(handle, CURLOPT_CUSTOMREQUEST, request.method) == CURLE_OK
    }

    private func trust(_ authorities: [UInt8]) -> Bool {
        ccurl_set_bytes(handle, CURLOPT_CAINFO_BLOB, authorities, authorities.count) == CURLE_OK
            && ccurl_set_text(handle, CURLOPT_CAPATH, nil) == CURLE_OK
    }

    private func set(_ option: CURLoption, _ texts: [String]) -> Bool {
        var list: UnsafeMutablePointer<curl_slist>?
        for text in texts {
            guard let longer = curl_slist_append(list, text) else {
                curl_slist_free_all(list)
                return false
            }
            list = longer
        }
        if let list { lists.append(list) }
        return ccurl_set_list(handle, option, list) == CURLE_OK
    }

    // MARK: The answer

    /// Returns the answer or its error after libcurl reports the end of the transfer.
    func result(of code: CURLcode) -> Result<HTTPResponse, NetworkProblem> {
        switch response.ending {
        case .redirect, .largeBody: return .success(response)
        case .largeHeader: return .failure(NetworkProblem("the answer's header is too large"))
        case nil: break
        }
        guard code == CURLE_OK else { return .failure(NetworkProblem(words(for: code))) }
        // libcurl accepts a connection that is closed within the header as the end of an answer.
        guard response.hasHeader else { return .failure(NetworkProblem(Self.closed)) }
        if isSecure, wantsBody, response.endsWithConnection, !hasCloseNotify {
            return .failure(NetworkProblem(Self.cutOff))
        }
        return .success(response)
    }

    private static let closed = "the connection was closed before the answer was complete"
    private static let numbersOfConnecting = [ECONNREFUSED, ENETUNREACH, EHOSTUNREACH, EADDRNOTAVAIL, EACCES, EPERM]
    private static let cutOff = "the connection was cut off before the answer was complete"

    private func words(for code: CURLcode) -> String {
        let number = ccurl_number(handle, CURLINFO_OS_ERRNO)
        let systemError = number > 0 ? "\(Errno(rawValue: Int32(clamping: number)))" : nil
        switch code {
        case CURLE_OPERATION_TIMEDOUT: return "no connection within \(Self.connectLimit.components.seconds) seconds"
        case CURLE_COULDNT_CONNECT: return systemError ?? "the connection failed"
        case CURLE_GOT_NOTHING, CURLE_PARTIAL_FILE: return Self.closed
        case CURLE_RECV_ERROR, CURLE_SEND_ERROR:
            // During connecting, the number belongs to an address that was tried earlier.
            if let systemError, !Self.numbersOfConnecting.contains(Int32(clamping: number)) { return systemError }
            return isSecure ? Self.cutOff : "the answer is not HTTP"
        case CURLE_UNSUPPORTED_PROTOCOL, CURLE_WEIRD_SERVER_REPLY: return "the answer is not HTTP"
        case CURLE_COULDNT_RESOLVE_HOST: return "the name is not known"
        case CURLE_PEER_FAILED_VERIFICATION:
            // libcurl sets the number to 1 at first, and to OpenSSL's code if OpenSSL refuses the certificate.
            return ccurl_number(handle, CURLINFO_SSL_VERIFYRESULT) <= 1
                ? "the server's certificate is for another name"
                : "the server's certificate is not trusted: it is unknown, out of date, or for something else"
        case CURLE_SSL_CONNECT_ERROR: return handshakeWords
        case CURLE_SSL_CACERT_BADFILE: return "the file of trusted certificates holds none in PEM"
        default: return "the request failed: \(String(cString: curl_easy_strerror(code)))"
        }
    }

    /// The reason why the TLS handshake failed. libcurl has one code for all reasons, so its text, which is OpenSSL's,
    /// decides.
    private var handshakeWords: String {
        let words = String(cString: words)
        if words.contains("wrong version number") || words.contains("http request") {
            return "the server does not speak TLS there"
        }
        if ["unexpected eof", "SSL_ERROR_SYSCALL", "Recv failure", "Send failure"].contains(where: words.contains) {
            return "the connection was closed before TLS was agreed on"
        }
        return "the server did not agree on TLS"
    }
}
