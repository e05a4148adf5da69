import AsyncHTTPClient
import CommonExpression
import FoundationEssentials
import Glibc
import MediatorConfiguration
import NIOCore
import NIOHTTP1
import NIOSSL
import Synchronization
import SystemPackage

/// What is asked over HTTP.
struct HTTPPlan: Sendable {
    var address: WebAddress
    var method: HTTPMethod
    /// The fields of the header, each once.
    var headers: [String: String]
    var body: String?
    /// How many redirects are followed.
    var redirects: Int
    /// How many bytes of the answer's body are taken.
    var bodyLimit: Int
    /// Whether a larger body is cut there, and not a failure.
    var isCut = false
    var expected: StatusRanges
    /// The file with the certificates that are trusted, instead of the system's.
    var authorities: String?
    /// Whether the server's certificate is looked at.
    var verifies: Bool
}

/// What came of a request: the answer, as far as there is one, and what is wrong with it.
struct HTTPAnswer: Sendable {
    var status = 0
    var headers: [String: String] = [:]
    var body: [UInt8] = []
    var problem: String?
}

/// One request over HTTP/1.1, with all redirects.
///
/// Each request has a connection of its own, which ends with it: so an answer says that the server can be reached now, and
/// no request is lost because the server has just closed what another had left open.
final class HTTPExchange: Sendable {
    /// How far it has come.
    private enum Stage {
        case lookup
        case request
        case body
    }

    /// How large a file of certificates may be, in bytes.
    static let authoritiesLimit = 1_048_576

    private let plan: HTTPPlan
    private let clients: HTTPClients
    private let stage = Mutex(Stage.lookup)

    init(_ plan: HTTPPlan, _ clients: HTTPClients) {
        self.plan = plan
        self.clients = clients
    }

    /// Asks. What is wrong is in the answer, unless the task is cancelled: then it throws.
    func perform(within limit: Duration, of clock: any Clock<Duration>) async throws -> HTTPAnswer {
        do {
            return try await within(limit, of: clock) { try await self.follow() }
        } catch {
            try Task.checkCancellation()
            return HTTPAnswer(problem: words(error, limit))
        }
    }

    private func follow() async throws -> HTTPAnswer {
        var plan = plan
        var tls: TLSConfiguration?
        var visited: Set<String> = ["\(plan.method.rawValue) \(plan.address.text)"]
        for hop in 0... {
            if plan.address.isSecure, tls == nil { tls = try await tlsSettings() }
            let (answer, location) = try await ask(plan, tls)
            guard let location, self.plan.redirects > 0 else { return answer }
            guard hop < self.plan.redirects else {
                return answer.with(problem: "there are more than \(self.plan.redirects) redirects")
            }
            do throws(NetworkProblem) {
                try plan.redirect(to: location, status: answer.status)
            } catch {
                return answer.with(problem: error.message)
            }
            guard visited.insert("\(plan.method.rawValue) \(plan.address.text)").inserted else {
                return answer.with(problem: "the redirects go in a circle")
            }
        }
        preconditionFailure("whole numbers do not end before the redirects do")
    }

    /// Asks once. With a redirect that is to be followed comes where it leads, and no body.
    private func ask(_ plan: HTTPPlan, _ tls: TLSConfiguration?) async throws -> (HTTPAnswer, location: String?) {
        stage.withLock { $0 = .lookup }
        let isName = !plan.address.isSocket && (try? SocketAddress(ipAddress: plan.address.host, port: 0)) == nil
        // The client would look the name up on a thread that all requests share.
        if isName { _ = try await NameResolver.shared.addresses(of: plan.address.host) }
        stage.withLock { $0 = .request }
        var request = HTTPClientRequest(url: plan.address.text)
        request.method = plan.method
        for (name, value) in plan.headers { request.headers.replaceOrAdd(name: name, value: value) }
        if !request.headers.contains(name: "User-Agent") { request.headers.add(name: "User-Agent", value: "mediatord") }
        if !request.headers.contains(name: "Accept") { request.headers.add(name: "Accept", value: "*/*") }
        request.headers.replaceOrAdd(name: "Connection", value: "close")
        if let body = plan.body { request.body = .bytes(ByteBuffer(string: body)) }
        request.tlsConfiguration = tls
        let ready = request
        let server = "\(plan.address.scheme) \(plan.address.host) \(plan.address.port) \(Self.number(of: tls))"
        return try await clients.withClient(for: server) { client in
            let response = try await client.execute(ready, deadline: .distantFuture)
            var answer = HTTPAnswer(status: Int(response.status.code))
            for field in response.headers {
                let name = field.name.lowercased()
                answer.headers[name] = answer.headers[name].map { "\($0), \(field.value)" } ?? field.value
            }
            if self.plan.redirects > 0, [301, 302, 303, 307, 308].contains(answer.status),
                let location = answer.headers["location"]
            {
                return (answer, location)
            }
            stage.withLock { $0 = .body }
            for try await chunk in response.body {
                answer.body += chunk.readableBytesView.prefix(self.plan.bodyLimit - answer.body.count + 1)
                guard answer.body.count <= self.plan.bodyLimit else {
                    answer.body.removeLast()
                    if self.plan.isCut { break }
                    return (answer.with(problem: "the body is larger than \(self.plan.bodyLimit) bytes"), nil)
                }
            }
            guard self.plan.expected.contains(answer.status) else {
                return (answer.with(problem: "the status \(answer.status) is not an expected one"), nil)
            }
            return (answer, nil)
        }
    }

    /// What tells settings apart, as far as they differ here.
    private static func number(of settings: TLSConfiguration?) -> Int {
        var hasher = Hasher()
        hasher.combine(settings?.trustRoots)
        hasher.combine(settings?.certificateVerification)
        return hasher.finalize()
    }

    /// Whom the server has to prove itself to. A file is read each time, so that one may replace it.
    private func tlsSettings() async throws -> TLSConfiguration {
        var settings = TLSConfiguration.makeClientConfiguration()
        settings.minimumTLSVersion = .tlsv12
        settings.certificateVerification = plan.verifies ? .fullVerification : .none
        guard let path = plan.authorities, plan.verifies else { return settings }
        let text = try await Blocking.call { Self.read(path) }.get()
        do {
            let certificates = try NIOSSLCertificate.fromPEMBytes(text)
            guard !certificates.isEmpty else { throw NIOSSLError.failedToLoadCertificate }
            settings.trustRoots = .certificates(certificates)
        } catch {
            throw NetworkProblem("\(path) holds no certificates in PEM")
        }
        return settings
    }

    /// The content of a file of certificates.
    private static func read(_ path: String) -> Result<[UInt8], NetworkProblem> {
        do throws(Errno) {
            let file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
            guard file >= 0 else { throw Errno(rawValue: errno) }
            defer { close(file) }
            var bytes: [UInt8] = []
            var chunk = [UInt8](repeating: 0, count: 65_536)
            while bytes.count <= authoritiesLimit {
                let count = Glibc.read(file, &chunk, chunk.count)
                guard count >= 0 else { throw Errno(rawValue: errno) }
                if count == 0 { return .success(bytes) }
                bytes += chunk[..<count]
            }
            return .failure(NetworkProblem("\(path) is larger than \(authoritiesLimit) bytes"))
        } catch {
            return .failure(NetworkProblem("cannot read \(path): \(error)"))
        }
    }

    // Words

    private func words(_ error: any Error, _ limit: Duration) -> String {
        switch error {
        case is TimeIsUp:
            switch stage.withLock({ $0 }) {
            case .lookup: "the name could not be looked up within \(limit)"
            case .request: "no answer within \(limit)"
            case .body: "the answer was not complete within \(limit)"
            }
        case let problem as NameResolver.LookupProblem: problem.message
        case let problem as SensingProblem: problem.message
        case let error as HTTPClientError: Self.words(error)
        case let error as NIOSSLError: Self.words(error)
        case HTTPParserError.invalidEOFState: "the connection was closed before the answer was complete"
        case HTTPParserError.headerOverflow: "the answer's header is too large"
        case let error as HTTPParserError: "the answer is not HTTP: \(error)"
        case let error as NIOSSLExtraError where error == .failedToValidateHostname:
            "the server's certificate is for another name"
        case is NIOSSLExtraError, is BoringSSLError: "the connection does not keep to TLS"
        default: Dialling.problem(error).message
        }
    }

    /// What an error of the client's means. Its own text may hold fields of the header.
    private static func words(_ error: HTTPClientError) -> String {
        switch error {
        case .remoteConnectionClosed: "the connection was closed before the answer was complete"
        case .uncleanShutdown: "the connection was cut off before the answer was complete"
        case .connectTimeout: "no connection within \(HTTPClients.connectLimit.nanoseconds / 1_000_000_000) seconds"
        case .tlsHandshakeTimeout: "the server did not agree on TLS in time"
        case .alreadyShutdown, .cancelled: "the daemon is stopping"
        default: "the request failed: \(error.shortDescription)"
        }
    }

    private static func words(_ error: NIOSSLError) -> String {
        if case .uncleanShutdown = error { return words(HTTPClientError.uncleanShutdown) }
        guard case .handshakeFailed(let cause) = error else { return "the connection does not keep to TLS" }
        let detail = "\(cause)"
        if detail.contains("CERTIFICATE_VERIFY_FAILED") {
            return "the server's certificate is not trusted: it is unknown, out of date, or for something else"
        }
        if detail.contains("WRONG_VERSION_NUMBER") || detail.contains("HTTP_REQUEST") {
            return "the server does not speak TLS there"
        }
        switch cause {
        case .syscallError, .zeroReturn: return "the connection was closed before TLS was agreed on"
        default: break
        }
        if detail.lowercased().contains("eof") { return "the connection was closed before TLS was agreed on" }
        return "the server did not agree on TLS"
    }
}

extension HTTPAnswer {
    fileprivate func with(problem: String) -> HTTPAnswer {
        var copy = self
        copy.problem = problem
        return copy
    }
}

extension HTTPPlan {
    /// Turns it into what a redirect asks for (RFC 9110, section 15.4).
    ///
    /// What may be secret does not leave the server it is for: another one gets neither the configured header nor a body.
    fileprivate mutating func redirect(to location: String, status: Int) throws(NetworkProblem) {
        guard let base = URL(string: address.text),
            let url = URL(string: location, relativeTo: base)?.absoluteString, let next = try? WebAddress(url)
        else { throw NetworkProblem("the redirect leads to nothing that can be asked over HTTP") }
        if status == 303 && method != .HEAD || (status == 301 || status == 302) && method == .POST {
            method = .GET
            body = nil
            for name in headers.keys where name.lowercased() == "content-type" { headers[name] = nil }
        }
        if !next.hasOrigin(of: address) {
            guard !next.isSocket, !address.isSocket else {
                throw NetworkProblem(
                    "the redirect leads from or to another socket of this machine, which is not followed")
            }
            guard next.isSecure || !address.isSecure else {
                throw NetworkProblem("the redirect leads from https to http, which is not followed")
            }
            guard body == nil else {
                throw NetworkProblem("the redirect would take the body to another server, which is not followed")
            }
            headers = headers.filter { Self.isHarmless($0.key) }
        }
        address = next
    }

    /// Whether another server may see a field of the header, too.
    private static func isHarmless(_ name: String) -> Bool {
        ["accept", "accept-language", "user-agent"].contains(name.lowercased())
    }
}
