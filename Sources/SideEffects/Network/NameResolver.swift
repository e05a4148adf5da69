import Glibc
package import NIOCore
import Synchronization
import Systemd

/// Looks up names like the system: in its files, at its name servers, or wherever it is configured (getaddrinfo(3),
/// nsswitch.conf(5)).
///
/// The system's function cannot be cancelled and may block without limit. It therefore runs on a few separate threads.
/// A cancelled task leaves, and the thread continues alone until the function returns. Further names wait for a free
/// thread.
package final class NameResolver: Sendable {
    /// The resolver of this process. Its threads start when a name arrives, and end when none is left.
    package static let shared = NameResolver()

    /// The most threads, including those that hang.
    package static let threads = 4
    /// The most names that wait for a thread.
    package static let queueLimit = 1_024

    /// The kinds of addresses to look up.
    package enum Family: Sendable {
        case any
        case v4
        case v6
    }

    /// The addresses of a name in the order in which to try them, or the reason why it has none.
    package typealias Answer = Result<[SocketAddress], LookupProblem>

    /// The reason why a name has no address. Its message does not contain the name.
    package struct LookupProblem: Error {
        package let message: String
    }

    /// A call of the system's function with a name, a port, and the kinds of addresses.
    package typealias Lookup = @Sendable (_ name: String, _ port: Int, _ family: Family) -> Answer

    private struct Job {
        let name: String
        let port: Int
        let family: Family
        let waiter = CancellableWaiter<[SocketAddress]>()
    }

    private struct State {
        /// The number of threads.
        var running = 0
        /// The names that wait for a thread.
        var queue: [Job] = []
    }

    private let state = Mutex(State())
    private let lookup: Lookup

    /// Creates a resolver with its own threads.
    package init(lookup: @escaping Lookup = NameResolver.ask) {
        self.lookup = lookup
    }

    /// Returns the addresses of a name with a port, at least one. Throws ``LookupProblem``, and `CancellationError` as
    /// soon as the task is cancelled.
    package func addresses(of name: String, port: Int = 0, family: Family = .any) async throws -> [SocketAddress] {
        try Task.checkCancellation()
        let job = Job(name: name, port: port, family: family)
        try begin(job)
        do {
            return try await job.waiter.value()
        } catch {
            // A cancelled task takes no place in the queue.
            state.withLock { $0.queue.removeAll { $0.waiter === job.waiter } }
            throw error
        }
    }

    private func begin(_ job: Job) throws(LookupProblem) {
        let needsThread = try state.withLock { state throws(LookupProblem) in
            guard state.queue.count < Self.queueLimit else {
                throw LookupProblem(message: "\(Self.queueLimit) names wait to be looked up already")
            }
            state.queue.append(job)
            guard state.running < Self.threads else { return false }
            state.running += 1
            return true
        }
        if needsThread, !DetachedThread.start({ self.work() }) { giveUp() }
    }

    /// Fails the waiting names, unless another thread is working, because a thread could not start.
    private func giveUp() {
        let stranded = state.withLock { state -> [Job] in
            state.running -= 1
            guard state.running == 0 else { return [] }
            defer { state.queue = [] }
            return state.queue
        }
        let problem = LookupProblem(message: "the system cannot create a thread")
        for job in stranded { job.waiter.resume(with: .failure(problem)) }
    }

    /// Looks up waiting names until none is left.
    private func work() {
        while let job = next() {
            let answer = lookup(job.name, job.port, job.family)
            job.waiter.resume(with: Result { try answer.get() })
        }
    }

    private func next() -> Job? {
        state.withLock { state in
            guard !state.queue.isEmpty else {
                state.running -= 1
                return nil
            }
            return state.queue.removeFirst()
        }
    }

    /// Calls the system's function.
    package static func ask(_ name: String, _ port: Int, _ family: Family) -> Answer {
        var hints = addrinfo()
        // One kind of socket, so that no address is returned twice.
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        hints.ai_family =
            switch family {
            case .any: AF_UNSPEC
            case .v4: AF_INET
            case .v6: AF_INET6
            }
        var list: UnsafeMutablePointer<addrinfo>?
        let code = getaddrinfo(name, String(port), &hints, &list)
        let failure = errno
        guard code == 0 else { return .failure(LookupProblem(message: words(code, failure, family))) }
        defer { freeaddrinfo(list) }
        var addresses: [SocketAddress] = []
        var entry = list
        while let found = entry {
            entry = found.pointee.ai_next
            guard let bytes = UnsafeRawPointer(found.pointee.ai_addr) else { continue }
            let address: SocketAddress
            switch found.pointee.ai_family {
            case AF_INET: address = SocketAddress(bytes.loadUnaligned(as: sockaddr_in.self), host: name)
            case AF_INET6: address = SocketAddress(bytes.loadUnaligned(as: sockaddr_in6.self), host: name)
            default: continue
            }
            if !addresses.contains(address) { addresses.append(address) }
        }
        guard !addresses.isEmpty else { return .failure(LookupProblem(message: words(EAI_NONAME, 0, family))) }
        return .success(addresses)
    }

    /// Returns the text for one of the function's codes (getaddrinfo(3)).
    private static func words(_ code: Int32, _ failure: Int32, _ family: Family) -> String {
        switch code {
        case EAI_NONAME, noData, noFamily:
            switch family {
            case .any: "the name is not known"
            case .v4: "the name is not known, or has no IPv4 address"
            case .v6: "the name is not known, or has no IPv6 address"
            }
        case EAI_AGAIN: "no name server answers for now"
        case EAI_FAIL: "the name servers refuse to answer"
        case EAI_SYSTEM: "the name cannot be looked up: \(String(cString: strerror(failure)))"
        default: "the name cannot be looked up: \(String(cString: gai_strerror(code)))"
        }
    }

    /// `EAI_NODATA` and `EAI_ADDRFAMILY` of netdb.h, which only GNU programs can use.
    private static let (noData, noFamily): (Int32, Int32) = (-5, -9)
}
