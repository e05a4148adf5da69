public import CommonExpression
public import MediatorConfiguration
public import MediatorHost
import NIOCore
import Synchronization

/// The side effect `ping`: sends an echo request to a host, once.
public struct PingEffect: EffectImplementation {
    /// The delay before the next address of a name is tried, if none has answered (RFC 8305).
    static let stagger = Duration.milliseconds(250)
    /// The most addresses that are tried and named in a failure.
    static let mostAddresses = 4

    /// The name, parameters and outcomes.
    public var schema: EffectSchema { .ping }

    /// Creates the side effect.
    public init() {}

    /// Sends the request once. Reports `onSuccess` or `onFailure`. A cancelled run reports nothing, and has closed its
    /// sockets.
    public func run(_ arguments: [String: Value], in context: EffectContext) async {
        guard let host = arguments["host"]?.text else { return }
        let limit = arguments["timeout"]?.swiftDuration ?? .seconds(5)
        let clock = context.clock
        let took = stopwatch(clock)
        let isLookedUp = Mutex(false)
        do {
            let answer = try await within(limit, of: clock) {
                let addresses = try await NameResolver.shared.addresses(of: host)
                isLookedUp.withLock { $0 = true }
                return try await Self.ask(addresses.prefix(Self.mostAddresses), clock)
            }
            if Task.isCancelled { return }
            context.report("onSuccess", of: schema, [.string(answer.address), Value(answer.took)])
        } catch {
            if Task.isCancelled { return }
            let message =
                switch error {
                case is TimeIsUp where isLookedUp.withLock({ $0 }): "no answer within \(limit)"
                case is TimeIsUp: "the name could not be looked up within \(limit)"
                case let problem as NameResolver.LookupProblem: problem.message
                case let problem as NetworkProblem: problem.message
                default: "it cannot be asked: \(error)"
                }
            context.reportFailure(of: schema, message, [.string(message), Value(took())])
        }
    }

    /// An event while addresses are tried.
    private enum Event: Sendable {
        case answered(String, Duration)
        case failed(String, NetworkProblem)
        /// The next address is due.
        case due
    }

    /// Tries addresses one after the other until one has answered.
    private static func ask(
        _ addresses: ArraySlice<SocketAddress>, _ clock: any Clock<Duration>
    ) async throws -> (address: String, took: Duration) {
        try await withThrowingTaskGroup(of: Event.self) { group in
            defer { group.cancelAll() }
            var waiting = addresses
            var asked = 0
            var failures: [String] = []
            func askNext(_ group: inout ThrowingTaskGroup<Event, any Error>) {
                guard let address = waiting.popFirst() else { return }
                asked += 1
                group.addTask {
                    let text = address.ipAddress ?? ""
                    do {
                        let took = stopwatch(clock)
                        try await EchoRequest().answer(of: address)
                        return .answered(text, took())
                    } catch let problem as NetworkProblem {
                        return .failed(text, problem)
                    }
                }
                guard !waiting.isEmpty else { return }
                group.addTask {
                    try await clock.sleep(for: stagger)
                    return .due
                }
            }
            askNext(&group)
            while let event = try await group.next() {
                switch event {
                case .answered(let address, let took): return (address, took)
                case .due: askNext(&group)
                case .failed(let address, let problem):
                    failures.append(addresses.count > 1 ? "\(address): \(problem.message)" : problem.message)
                    if failures.count == addresses.count {
                        throw NetworkProblem(Set(failures).sorted().joined(separator: "; "))
                    }
                    if failures.count == asked { askNext(&group) }
                }
            }
            throw NetworkProblem("the name has no address")
        }
    }
}
