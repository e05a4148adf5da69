public import CommonExpression
public import MediatorConfiguration
public import MediatorHost

/// The side effect `tcp`: connects to a port and closes the connection, if requested after a greeting.
public struct TCPEffect: EffectImplementation {
    /// The name, parameters and outcomes.
    public var schema: EffectSchema { .tcp }

    /// Creates the side effect.
    public init() {}

    /// Makes one attempt. Reports `onSuccess` or `onFailure`. A cancelled run reports nothing, and has closed its
    /// connection.
    public func run(_ arguments: [String: Value], in context: EffectContext) async {
        guard let host = arguments["host"]?.text, let port = arguments["port"]?.whole else { return }
        let limit = arguments["timeout"]?.swiftDuration ?? .seconds(5)
        let greeting = arguments["banner"]?.whole ?? 0
        let took = stopwatch(context.clock)
        let dialling = Dialling()
        do {
            let (address, said) = try await within(limit, of: context.clock) {
                try await dialling.perform(host: host, port: port, greeting: greeting, limit: limit)
            }
            if Task.isCancelled { return }
            let line = said.last == UInt8(ascii: "\r") ? said.dropLast() : said[...]
            context.report(
                "onSuccess", of: schema,
                [.string(address), Value(took()), .string(String(decoding: line, as: UTF8.self))])
        } catch {
            if Task.isCancelled { return }
            let message = Self.words(error, dialling.stage, limit)
            context.reportFailure(of: schema, message, [.string(message), Value(took())])
        }
    }

    private static func words(_ error: any Error, _ stage: Dialling.Stage, _ limit: Duration) -> String {
        switch error {
        case is TimeIsUp:
            switch stage {
            case .lookup: "the name could not be looked up within \(limit)"
            case .connect: "no connection within \(limit)"
            case .connected(let address): "connected to \(address), but no answer came within \(limit)"
            }
        case let problem as NameResolver.LookupProblem: problem.message
        case let problem as NetworkProblem: problem.message
        default: "the connection failed: \(error)"
        }
    }
}
