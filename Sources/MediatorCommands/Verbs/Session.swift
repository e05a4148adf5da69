import MediatorControl
import Varlink

/// One run of a verb: the connection to the daemon and the way to the user.
struct Session: Sendable {
    let client: ControlClient
    let environment: CommandEnvironment
    let renderer: Renderer
    /// How long the daemon may take to answer what it can answer at once.
    let limit: Duration
    /// Makes another connection, for what takes one for itself.
    let connect: @Sendable () async throws -> ControlClient

    /// Connects as the options say. Where calls may take longer than the options say, the daemon shows first, within
    /// their time, that it answers at all.
    ///
    /// - Parameter patience: how much longer a call may take, in seconds.
    static func open(
        _ options: CommandOptions, _ environment: CommandEnvironment, _ place: Place, patience: Double
    ) async throws -> Session {
        var configuration = ClientConfiguration()
        configuration.connectLimit = .seconds(options.timeout)
        configuration.callLimit = .seconds(options.timeout + patience)
        let limit = Duration.seconds(options.timeout)
        let connection = configuration
        let connect: @Sendable () async throws -> ControlClient = {
            try await place.connect(connection, environment)
        }
        let client = try await connect()
        do {
            if patience > 0 { try await client.checkAlive(within: limit) }
        } catch {
            await client.close()
            throw error
        }
        return Session(
            client: client, environment: environment,
            renderer: Renderer(form: options.json ? .json : .text(TextStyle(environment))), limit: limit,
            connect: connect)
    }

    /// Shows a report to the user.
    func show(_ report: some Report) throws {
        try environment.write(renderer.render(report))
    }

    /// Shows a report of a stream: as ``show(_:)``, with the time as it is now.
    func showNow(_ report: some Report) throws {
        switch renderer.form {
        case .json: try show(report)
        case .text: try environment.write(Renderer(form: .text(TextStyle(environment))).render(report))
        }
    }

    /// Reads values of the command line.
    var typedValue: TypedValue { TypedValue(now: environment.now()) }
}
