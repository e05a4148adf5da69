import Foundation
import Synchronization
import TestSupport

/// An HTTP/1.1 server on 127.0.0.1 for tests. Each connection carries one request and one response.
///
/// It runs on its own threads. A handler may block, for example on a ``Gate``, to hold its response back. A request has
/// at most ``maximumRequest`` bytes; a longer or malformed one gets status 400.
final class LocalServer: Sendable {
    struct Request: Sendable {
        var method: String
        /// The path without the query.
        var path: String
        var query: [String: String]
        var body: Data
    }

    struct Response: Sendable {
        var status = 200
        var body = Data()

        static func json(_ value: some Encodable, status: Int = 200) throws -> Response {
            Response(status: status, body: try JSONEncoder().encode(value))
        }
    }

    struct Failure: Error {
        var call: String
        var number: Int32
    }

    /// The maximum size of a request in bytes.
    static let maximumRequest = 65_536

    private let listener: Int32
    private let port: UInt16
    private let handler: @Sendable (Request) throws -> Response
    private let seen = Mutex<[String]>([])

    /// Listens on a free port.
    init(_ handler: @escaping @Sendable (Request) throws -> Response) throws {
        self.handler = handler
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        guard listener >= 0 else { throw Failure(call: "socket", number: errno) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let result = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                bind(listener, address, length) == 0 && listen(listener, 64) == 0
                    && getsockname(listener, address, &length) == 0
            }
        }
        guard result else {
            let number = errno
            close(listener)
            throw Failure(call: "bind", number: number)
        }
        self.listener = listener
        port = UInt16(bigEndian: address.sin_port)
        Thread.detachNewThread { [self] in accept() }
    }

    /// Returns the URL of a path, which may have a query.
    func url(_ path: String) throws -> URL {
        guard let url = URL(string: "http://127.0.0.1:\(port)\(path)") else { throw URLError(.badURL) }
        return url
    }

    /// The requests so far, each with method, path and query.
    var requests: [String] { seen.withLock { $0 } }

    /// Accepts no more connections and ends the accepting thread.
    func stop() {
        shutdown(listener, Int32(SHUT_RDWR))
    }

    private func accept() {
        while true {
            let connection = Glibc.accept(listener, nil, nil)
            guard connection >= 0 else { break }
            Thread.detachNewThread { [self] in
                serve(connection)
                close(connection)
            }
        }
        close(listener)
    }

    private func serve(_ connection: Int32) {
        var response = Response(status: 400)
        if let request = read(connection) {
            seen.withLock { $0.append(request.line) }
            response = (try? handler(request.request)) ?? Response(status: 500)
        }
        var bytes = Data(
            """
            HTTP/1.1 \(response.status) Status\r
            Content-Type: application/json\r
            Content-Length: \(response.body.count)\r
            Connection: close\r
            \r

            """.utf8)
        bytes.append(response.body)
        var rest = [UInt8](bytes)[...]
        while !rest.isEmpty {
            let sent = rest.withUnsafeBytes { send(connection, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            guard sent > 0 else { return }
            rest = rest.dropFirst(sent)
        }
    }

    private func read(_ connection: Int32) -> (line: String, request: Request)? {
        var data = Data()
        var buffer = [UInt8](repeating: 0, count: 4_096)
        let separator = Data("\r\n\r\n".utf8)
        while data.count <= Self.maximumRequest {
            if let end = data.range(of: separator), let head = String(data: data[..<end.lowerBound], encoding: .utf8) {
                let lines = head.components(separatedBy: "\r\n")
                let words = lines[0].split(separator: " ")
                guard words.count == 3, let components = URLComponents(string: String(words[1])) else { return nil }
                let lengths = lines.dropFirst().compactMap { line -> Int? in
                    let parts = line.split(separator: ":", maxSplits: 1)
                    guard parts.count == 2, parts[0].lowercased() == "content-length" else { return nil }
                    return Int(parts[1].trimmingCharacters(in: .whitespaces))
                }
                let length = lengths.first ?? 0
                guard length >= 0, length <= Self.maximumRequest else { return nil }
                if data.count - end.upperBound >= length {
                    let query = (components.queryItems ?? []).map { ($0.name, $0.value ?? "") }
                    let request = Request(
                        method: String(words[0]), path: components.path,
                        query: Dictionary(query) { first, _ in first },
                        body: Data(data[end.upperBound...].prefix(length)))
                    return ("\(words[0]) \(words[1])", request)
                }
            }
            let count = recv(connection, &buffer, buffer.count, 0)
            guard count > 0 else { return nil }
            data.append(contentsOf: buffer[..<count])
        }
        return nil
    }
}

/// A gate that blocks callers until it is opened; later callers pass at once.
final class Gate: Sendable {
    private let semaphore = ThreadSemaphore()

    /// Blocks the thread until the gate is open.
    func pass() {
        semaphore.wait()
        // For the next caller.
        semaphore.signal()
    }

    /// Opens the gate for all callers.
    func open() { semaphore.signal() }
}
