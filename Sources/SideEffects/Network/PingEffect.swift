public import CommonExpression
public import MediatorConfiguration
public import MediatorHost
import NIOCore
import Synchronization

/// `ping`: asks a host for an echo, once.
public struct PingEffect: EffectImplementation {
    /// How much later each further address of a name is asked, if none has answered (RFC 8305).
    static let stagger = Duration.milliseconds(250)
    /// How many addresses are asked, and named where none answers.
    static let mostAddresses = 4

    /// Its name, parameters and outcomes.
    public var schema: EffectSchema { .ping }

    /// The effect.
    public init() {}

    /// Asks once; reports `onSuccess` or `onFailure`. One that is cancelled reports nothing, and has nothing open.
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

    /// What becomes of asking one address.
    private enum Event: Sendable {
        case answered(String, Duration)
        case failed(String, NetworkProblem)
        /// It is the next one's turn.
        case due
    }

    /// Asks addresses, one after the other until one has answered.
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
