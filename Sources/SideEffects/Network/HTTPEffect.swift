public import CommonExpression
public import MediatorConfiguration
public import MediatorHost

/// The side effect `http`: makes an HTTP request and reads the answer.
public struct HTTPEffect: EffectImplementation {
    private let client: HTTPClient

    /// The name, parameters and outcomes.
    public var schema: EffectSchema { .http }

    /// Creates the side effect with its own client.
    public init() {
        self.init(client: HTTPClient())
    }

    /// Creates the side effect with a shared client.
    package init(client: HTTPClient) {
        self.client = client
    }

    /// Makes the request once. Reports `onSuccess` if the answer is expected, otherwise `onFailure`. A cancelled run
    /// reports nothing, and has closed its connection.
    public func run(_ arguments: [String: Value], in context: EffectContext) async {
        // Computed arguments have been checked like literal ones.
        guard let address = try? WebAddress(arguments["url"]?.text ?? ""),
            let expected = StatusRanges(arguments["expect"]?.text ?? "200-299")
        else { return }
        let plan = HTTPPlan(
            address: address, method: arguments["method"]?.text ?? "GET",
            headers: arguments["headers"]?.stringMap ?? [:], body: arguments["body"]?.text,
            redirects: arguments["followRedirects"]?.whole ?? 5, bodyLimit: arguments["maxBody"]?.whole ?? 65_536,
            expected: expected, authorities: arguments["ca"]?.text, verifies: arguments["verify"] != .bool(false))
        await perform(plan, arguments, with: client, schema: schema, in: context)
    }

    /// Ends the client, if it was created.
    public func shutDown() async {
        await client.shutDown()
    }
}

/// Makes the request and reports its outcome.
func perform(
    _ plan: HTTPPlan, _ arguments: [String: Value], with client: HTTPClient, schema: EffectSchema,
    in context: EffectContext
) async {
    let took = stopwatch(context.clock)
    let limit = arguments["timeout"]?.swiftDuration ?? .seconds(30)
    guard let answer = try? await HTTPExchange(plan, client).perform(within: limit, of: context.clock) else { return }
    if Task.isCancelled { return }
    let json = (try? Value(parsingJSON: answer.body)) ?? .null
    let fields: [Value] = [
        .int(Int64(answer.status)),
        .map(Dictionary(uniqueKeysWithValues: answer.headers.map { (.string($0.key), .string($0.value)) })),
        .string(String(decoding: answer.body, as: UTF8.self)), json, Value(took()),
    ]
    if let problem = answer.problem {
        context.reportFailure(of: schema, problem, fields + [.string(problem)])
    } else {
        context.report("onSuccess", of: schema, fields)
    }
}
