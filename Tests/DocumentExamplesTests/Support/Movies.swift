import Foundation
import FoundationNetworking
import OpenCombine
import OpenCombineFoundation
import Synchronization

/// A page of results, as in the documents.
struct Results<T: Codable & Sendable & Equatable>: Codable, Sendable, Equatable {
    let page: Int
    let totalResults: Int
    let totalPages: Int
    let results: [T]

    static func empty() -> Results<T> {
        return Results<T>(page: 0, totalResults: 0, totalPages: 0, results: [])
    }
}

struct Movie: Codable, Sendable, Equatable {
    let id: Int
    let title: String
}

/// A stand-in for the movie database of the documents: three pages of two movies each, from a local server.
final class MovieServer: Sendable {
    static let pageCount = 3
    private let server: LocalServer
    private let failures: Failures

    /// The number of the next requests that fail.
    private final class Failures: Sendable {
        let count = Mutex(0)
    }

    init() throws {
        let failures = Failures()
        self.failures = failures
        server = try LocalServer { request in
            let fails = failures.count.withLock { count in
                guard count > 0 else { return false }
                count -= 1
                return true
            }
            guard !fails, let page = request.query["page"].flatMap({ Int($0) }), (1...Self.pageCount).contains(page)
            else { return LocalServer.Response(status: 503) }
            let movies = (2 * page - 1...2 * page).map { Movie(id: $0, title: "Movie \($0)") }
            return try .json(
                Results(
                    page: page, totalResults: 2 * Self.pageCount, totalPages: Self.pageCount, results: movies))
        }
    }

    deinit {
        server.stop()
    }

    /// Makes the next requests fail.
    func fail(_ count: Int) { failures.count.withLock { $0 = count } }

    func url(page: Int) throws -> URL { try server.url("/movies?page=\(page)") }

    /// The requested pages, in order.
    var pages: [String] { server.requests.map { $0.replacingOccurrences(of: "GET /movies?page=", with: "") } }
}

/// The body of an error response.
struct HTTPError: Error, Equatable, LocalizedError {
    let status: Int
    var errorDescription: String? { "HTTP status \(status)" }
}

extension URLSession {
    /// A long time limit for a delayed answer, because the machine may be busy with other tests.
    static let patient: URLSession = {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.timeoutIntervalForRequest = 600
        return URLSession(configuration: configuration)
    }()

    /// Completes the documents' function of this name, which has no source in them.
    func fetchMovies(_ server: MovieServer, page: Int) -> AnyPublisher<Results<Movie>, any Error> {
        Result { try server.url(page: page) }.publisher
            .flatMap { url in
                self.dataTaskPublisher(for: url)
                    .tryMap { try Self.decode(Results<Movie>.self, from: $0.data, $0.response) }
            }
            .eraseToAnyPublisher()
    }

    /// The async form.
    func movies(_ server: MovieServer, page: Int) async throws -> Results<Movie> {
        let (data, response) = try await data(from: try server.url(page: page))
        return try Self.decode(Results<Movie>.self, from: data, response)
    }

    static func decode<T: Decodable>(_ type: T.Type, from data: Data, _ response: URLResponse) throws -> T {
        let status = (response as? HTTPURLResponse)?.statusCode ?? 0
        guard status == 200 else { throw HTTPError(status: status) }
        return try JSONDecoder().decode(type, from: data)
    }
}

extension Publisher {
    /// Completes an operator that the documents use: an event in place of the error.
    func replaceError(replace: @escaping (Failure) -> Output) -> AnyPublisher<Output, Never> {
        self.catch { Just(replace($0)) }.eraseToAnyPublisher()
    }
}

/// The form in which a document's side effects are written.
enum Form: Sendable, CaseIterable {
    case publisher
    case async
}
