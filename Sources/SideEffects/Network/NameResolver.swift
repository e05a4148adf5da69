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
        let id: UInt64
        let name: String
        let port: Int
        let family: Family
    }

    private struct Machine {
        var nextID: UInt64 = 1
        var running = 0
        var queue: [Job] = []
        /// The waiting tasks, including those whose name is being looked up.
        var waiters: [UInt64: CheckedContinuation<Answer?, Never>] = [:]
    }

    private let machine = Mutex(Machine())
    private let lookup: Lookup

    /// Creates a resolver with its own threads.
    package init(lookup: @escaping Lookup = NameResolver.ask) {
        self.lookup = lookup
    }

    /// Returns the addresses of a name with a port, at least one. Throws ``LookupProblem``, and `CancellationError` as
    /// soon as the task is cancelled.
    package func addresses(of name: String, port: Int = 0, family: Family = .any) async throws -> [SocketAddress] {
        let id = machine.withLock { machine in
            defer { machine.nextID += 1 }
            return machine.nextID
        }
        let job = Job(id: id, name: name, port: port, family: family)
        let answer = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                begin(job, continuation)
            }
        } onCancel: {
            leave(id)
        }
        guard let answer else { throw CancellationError() }
        return try answer.get()
    }

    private func begin(_ job: Job, _ continuation: CheckedContinuation<Answer?, Never>) {
        enum Step {
            case answer(Answer?)
            case wait
            case start
        }
        let step: Step = machine.withLock { machine in
            if Task.isCancelled { return .answer(nil) }
            guard machine.queue.count < Self.queueLimit else {
                return .answer(
                    .failure(LookupProblem(message: "\(Self.queueLimit) names wait to be looked up already")))
            }
            machine.waiters[job.id] = continuation
            machine.queue.append(job)
            guard machine.running < Self.threads else { return .wait }
            machine.running += 1
            return .start
        }
        switch step {
        case .answer(let answer): continuation.resume(returning: answer)
        case .wait: break
        case .start: if !DetachedThread.start({ self.work() }) { giveUp() }
        }
    }

    /// Fails the waiting names, unless another thread is working, because a thread could not start.
    private func giveUp() {
        let stranded = machine.withLock { machine -> [CheckedContinuation<Answer?, Never>] in
            machine.running -= 1
            guard machine.running == 0 else { return [] }
            defer { machine.queue = [] }
            return machine.queue.compactMap { machine.waiters.removeValue(forKey: $0.id) }
        }
        for waiter in stranded {
            waiter.resume(returning: .failure(LookupProblem(message: "the system cannot create a thread")))
        }
    }

    /// Looks up waiting names until none is left.
    private func work() {
        while let job = next() {
            let answer = lookup(job.name, job.port, job.family)
            let waiter = machine.withLock { $0.waiters.removeValue(forKey: job.id) }
            waiter?.resume(returning: answer)
        }
    }

    private func next() -> Job? {
        machine.withLock { machine in
            guard !machine.queue.isEmpty else {
                machine.running -= 1
                return nil
            }
            return machine.queue.removeFirst()
        }
    }

    /// Removes a task that no longer waits for the answer.
    private func leave(_ id: UInt64) {
        let waiter = machine.withLock { machine in
            machine.queue.removeAll { $0.id == id }
            return machine.waiters.removeValue(forKey: id)
        }
        waiter?.resume(returning: nil)
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
