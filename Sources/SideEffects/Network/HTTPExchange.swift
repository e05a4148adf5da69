import CommonExpression
import FoundationEssentials
import Glibc
import MediatorConfiguration
import NIOCore
import Synchronization
import SystemPackage

/// The request and its options.
struct HTTPPlan: Sendable {
    var address: WebAddress
    var method: String
    /// The fields of the header, each once.
    var headers: [String: String]
    var body: String?
    /// The most redirects to follow.
    var redirects: Int
    /// The most bytes of the answer's body to keep.
    var bodyLimit: Int
    /// A Boolean value that indicates whether a larger body is cut rather than a failure.
    var isCut = false
    var expected: StatusRanges
    /// The file of trusted certificates that replaces the system's.
    var authorities: String?
    /// A Boolean value that indicates whether the server's certificate is verified.
    var verifies: Bool
}

/// The outcome of a request: the received part of the answer, and its problem.
struct HTTPAnswer: Sendable {
    var status = 0
    var headers: [String: String] = [:]
    var body: [UInt8] = []
    var problem: String?
}

/// One HTTP/1.1 request with all its redirects.
///
/// Each request has its own connection, which ends with it. An answer therefore shows that the server is reachable now,
/// and no request is lost because the server has just closed an idle connection.
final class HTTPExchange: Sendable {
    /// The progress of the request.
    private enum Stage {
        case lookup
        case request
        case body
    }

    /// The largest file of certificates, in bytes.
    static let authoritiesLimit = 1_048_576

    private let plan: HTTPPlan
    private let client: HTTPClient
    private let stage = Mutex(Stage.lookup)

    init(_ plan: HTTPPlan, _ client: HTTPClient) {
        self.plan = plan
        self.client = client
    }

    /// Makes the request. The answer contains any problem. Throws only if the task is cancelled.
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
        var authorities: [UInt8]?
        var visited: Set<String> = ["\(plan.method) \(plan.address.text)"]
        for hop in 0... {
            if plan.address.isSecure, authorities == nil { authorities = try await trusted() }
            let (answer, location) = try await ask(plan, authorities)
            guard let location, self.plan.redirects > 0 else { return answer }
            guard hop < self.plan.redirects else {
                return answer.with(problem: "there are more than \(self.plan.redirects) redirects")
            }
            do throws(NetworkProblem) {
                try plan.redirect(to: location, status: answer.status)
            } catch {
                return answer.with(problem: error.message)
            }
            guard visited.insert("\(plan.method) \(plan.address.text)").inserted else {
                return answer.with(problem: "the redirects go in a circle")
            }
        }
        preconditionFailure("whole numbers do not end before the redirects do")
    }

    /// Makes one request. If a redirect must be followed, returns its target and no body.
    private func ask(_ plan: HTTPPlan, _ authorities: [UInt8]?) async throws -> (HTTPAnswer, location: String?) {
        stage.withLock { $0 = .lookup }
        let addresses = try await addresses(of: plan.address)
        stage.withLock { $0 = .request }
        let response = try await client.perform(
            HTTPRequest(
                url: plan.address.textWithoutSocket, socket: plan.address.isSocket ? plan.address.host : nil,
                addresses: addresses, method: plan.method, headers: plan.headers,
                body: plan.body.map { Array($0.utf8) },
                verifies: plan.verifies, authorities: authorities, bodyLimit: plan.bodyLimit,
                endsAtRedirect: self.plan.redirects > 0)
        ) { self.stage.withLock { $0 = .body } }
        let answer = HTTPAnswer(status: response.status, headers: response.headers, body: response.body)
        if response.ending == .redirect { return (answer, response.headers["location"]) }
        if response.ending == .largeBody, !self.plan.isCut {
            return (answer.with(problem: "the body is larger than \(self.plan.bodyLimit) bytes"), nil)
        }
        guard self.plan.expected.contains(answer.status) else {
            return (answer.with(problem: "the status \(answer.status) is not an expected one"), nil)
        }
        return (answer, nil)
    }

    /// Returns the addresses of a host in libcurl's format; `nil` if no lookup is needed.
    private func addresses(of address: WebAddress) async throws -> String? {
        guard !address.isSocket, (try? SocketAddress(ipAddress: address.host, port: 0)) == nil else { return nil }
        // libcurl would look up the name on a thread, for which it waits at the end.
        let found = try await NameResolver.shared.addresses(of: address.host).compactMap(\.ipAddress)
        // The plus sign makes libcurl forget the addresses after a minute.
        return "+\(address.host):\(address.port):"
            + found.map { $0.contains(":") ? "[\($0)]" : $0 }.joined(separator: ",")
    }

    /// Returns the certificates that replace the system's. The file is read for each request, so it may be replaced.
    private func trusted() async throws -> [UInt8]? {
        guard let path = plan.authorities, plan.verifies else { return nil }
        let text = try await Blocking.call { Self.read(path) }.get()
        guard String(decoding: text, as: UTF8.self).contains("-----BEGIN ") else {
            throw NetworkProblem("\(path) holds no certificates in PEM")
        }
        return text
    }

    /// Returns the content of a file of certificates.
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

    // MARK: Messages

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
        case is CancellationError: "the daemon is stopping"
        default: Dialling.problem(error).message
        }
    }
}

extension HTTPAnswer {
    fileprivate func with(problem: String) -> HTTPAnswer {
        var copy = self
        copy.problem = problem
        return copy
    }
}

extension WebAddress {
    /// The URL for libcurl, which receives the path of a socket separately.
    fileprivate var textWithoutSocket: String {
        let rest = text[text.index(text.startIndex, offsetBy: scheme.count + 3)...]
        guard isSocket else { return "\(scheme)://\(rest)" }
        return "\(isSecure ? "https" : "http")://localhost\(rest.drop { !"/?#".contains($0) })"
    }
}

extension HTTPPlan {
    /// Applies a redirect (RFC 9110, section 15.4).
    ///
    /// Secrets stay on their server: another server receives neither the configured header nor a body.
    fileprivate mutating func redirect(to location: String, status: Int) throws(NetworkProblem) {
        guard let base = URL(string: address.text),
            let url = URL(string: location, relativeTo: base)?.absoluteString, let next = try? WebAddress(url)
        else { throw NetworkProblem("the redirect leads to nothing that can be asked over HTTP") }
        if status == 303 && method != "HEAD" || (status == 301 || status == 302) && method == "POST" {
            method = "GET"
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

    /// Returns whether another server may receive a field of the header.
    private static func isHarmless(_ name: String) -> Bool {
        ["accept", "accept-language", "user-agent"].contains(name.lowercased())
    }
}
