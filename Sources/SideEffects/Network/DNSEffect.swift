public import CommonExpression
public import MediatorConfiguration
public import MediatorHost
import NIOCore

/// The side effect `dns`: looks up a name, like every program of the system.
public struct DNSEffect: EffectImplementation {
    private let resolver: NameResolver

    /// The name, parameters and outcomes.
    public var schema: EffectSchema { .dns }

    /// Creates the side effect with the resolver that all side effects share.
    public init() {
        self.init(resolver: .shared)
    }

    /// Creates the side effect with a resolver.
    package init(resolver: NameResolver) {
        self.resolver = resolver
    }

    /// Looks up the name once. Reports `onSuccess` or `onFailure`. A cancelled run reports nothing.
    public func run(_ arguments: [String: Value], in context: EffectContext) async {
        guard let name = arguments["name"]?.text else { return }
        let family: NameResolver.Family =
            switch arguments["type"]?.text {
            case "A": .v4
            case "AAAA": .v6
            default: .any
            }
        let limit = arguments["timeout"]?.swiftDuration ?? .seconds(5)
        let took = stopwatch(context.clock)
        do {
            let addresses = try await within(limit, of: context.clock) { [resolver] in
                try await resolver.addresses(of: name, family: family)
            }
            if Task.isCancelled { return }
            let texts = addresses.compactMap(\.ipAddress)
            context.report("onSuccess", of: schema, [.list(texts.map { .string($0) }), Value(took())])
        } catch {
            if Task.isCancelled { return }
            let message =
                switch error {
                case is TimeIsUp: "no answer within \(limit)"
                case let problem as NameResolver.LookupProblem: problem.message
                default: "the name cannot be looked up: \(error)"
                }
            context.reportFailure(of: schema, message, [.string(message), Value(took())])
        }
    }
}
