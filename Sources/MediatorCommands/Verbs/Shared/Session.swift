import MediatorConfiguration
import MediatorControl
import StrictJSON
import Varlink

/// One run of a verb: the connection to the daemon and the way to the user.
struct Session: Sendable {
    let client: ControlClient
    let environment: CommandEnvironment
    let renderer: Renderer
    /// The time that the daemon has for answers that need no work.
    let limit: Duration
    /// Makes another connection, for what takes one for itself.
    let connect: @Sendable () async throws -> ControlClient
    /// Whether another connection costs next to nothing, as it does on this machine; else there is one for everything.
    let isNear: Bool
    /// The manager that started the daemon.
    let manager: Manager
    /// Whether all of it may be done once more.
    let repetition: Repetition

    /// Connects as the options say. Where calls may take longer than the options say, the daemon shows first, within
    /// their time, that it answers at all.
    ///
    /// - Parameter patience: how much longer a call may take, in seconds. Only calls for administrators take longer.
    static func open(
        _ options: CommandOptions, _ environment: CommandEnvironment, _ place: Place, patience: Double,
        _ repetition: Repetition
    ) async throws -> Session {
        let timeout = options.answerLimit ?? environment.answerLimit
        var configuration = ClientConfiguration()
        configuration.connectLimit = .seconds(timeout)
        configuration.callLimit = .seconds(timeout + patience)
        let limit = Duration.seconds(timeout)
        let connection = configuration
        let connect: @Sendable () async throws -> ControlClient = {
            try await place.connect(connection, environment)
        }
        let client = try await connect()
        do {
            if patience > 0 { try await client.checkAlive(within: limit) }
        } catch ServiceError.permissionDenied {
            await client.close()
            // A user without any right lacks the one that the verb needs, too.
            throw MissingRight(.administer)
        } catch {
            await client.close()
            throw error
        }
        return Session(
            client: client, environment: environment,
            renderer: Renderer(form: options.json ? .json : .text(TextStyle(environment))), limit: limit,
            connect: connect, isNear: place.isNear, manager: place.manager(environment), repetition: repetition)
    }

    /// Calls over a connection of its own. A daemon that is stopping serves the first call of each connection and
    /// closes it; the next daemon serves clients that connect later.
    func freshly<Result: Sendable>(
        _ body: @Sendable (ControlClient) async throws -> Result
    ) async throws -> Result {
        // It is closed once nobody uses it any longer.
        try await body(isNear ? connect() : client)
    }

    /// Makes a call that must not be made twice.
    ///
    /// - Throws: ``Unanswered`` where it may have been done, and whatever else is thrown where it was not.
    func act<Result: Sendable>(
        _ body: @Sendable (ControlClient) async throws -> Result
    ) async throws -> Result {
        try await freshly { client in
            let was = repetition.rule(out: true)
            do {
                return try await body(client)
            } catch let error as VarlinkError where error.code == .connectionClosed || error.code == .timedOut {
                throw Unanswered(error: error)
            } catch let error as ControlError where error.isOfStopping {
                // It was not done.
                _ = repetition.rule(out: was)
                throw error
            }
        }
    }

    /// Waits for an answer. If that takes long, writes the side effects that the daemon awaits to standard error.
    func tellingStops<Result: Sendable>(_ body: @Sendable () async throws -> Result) async throws -> Result {
        let watch = Task {
            var told: Set<String> = []
            // Over a distance another connection takes longer than most reloads.
            while isNear {
                try await environment.clock.sleep(for: Self.silence)
                let style = TextStyle(environment)
                for stop in try await freshly({ try await $0.status() }).stops ?? [] {
                    let name = "\(stop.system) \(stop.feedback ?? "") \(stop.action)"
                    if told.insert(name).inserted { note(stop.ofStop(style)) }
                }
            }
        }
        defer { watch.cancel() }
        return try await body()
    }

    /// The time after which a user hears for what the daemon waits.
    private static let silence = Duration.seconds(1)

    /// Shows a report to the user, with the time as it is now: the answer may have been long in coming.
    func show(_ report: some Report) throws {
        switch renderer.form {
        case .json: try environment.write(renderer.render(report))
        case .text: try environment.write(Renderer(form: .text(TextStyle(environment))).render(report))
        }
    }

    /// Writes a line to standard error, beside the answer.
    func note(_ message: String) {
        switch renderer.form {
        case .json: environment.writeError("\(JSONValue.object(["note": .object(["message": .string(message)])]))\n")
        case .text: environment.writeError("mediatorctl: \(PlainText.cleaned(message))\n")
        }
    }

    /// The daemon's configuration directories, if this user can read them here.
    func configurationLayers() async throws -> ConfigurationLayers {
        let directories = try await client.status().configuration
        guard directories != ConfigurationLayers.system.directories else { return .system }
        for directory in directories where !directory.hasPrefix("/") {
            throw CommandError(
                .refused, "mediatord reads '\(directory)', as seen from where it was started",
                advice: "Say with --config where that lies.")
        }
        return ConfigurationLayers(directories)
    }

    /// Reads values of the command line.
    var typedValue: TypedValue { TypedValue(now: environment.now()) }
}
