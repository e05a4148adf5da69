import Glibc
import MediatorCommands
import MediatorControl
import Synchronization
import TestSupport
import Varlink

/// A running daemon, and a user at a terminal who talks to it.
final class Bench: Sendable {
    /// The output of one command line.
    struct Result: Equatable {
        var status: CommandStatus
        var output: String
        var error: String
    }

    /// 2026-11-21T12:00:00Z
    static let now: Int64 = 1_795_262_400

    private let directory = TemporaryDirectory()
    let handler: SampleHandler
    let service: VarlinkService
    var socket: String { directory("socket") }

    init(health: Health = .healthy, configure: (inout ServiceConfiguration) -> Void = { _ in }) async throws {
        handler = SampleHandler(health: health)
        var configuration = ServiceConfiguration(vendor: "test", product: "test", version: "1", url: "test")
        configure(&configuration)
        service = try await VarlinkService.start(
            at: .path(directory("socket")),
            interfaces: [ControlService.interface(handler: handler)],
            configuration: configuration
        )
    }

    /// Runs a command line against the daemon.
    ///
    /// - Parameters:
    ///   - columns: the width of the terminal; nil is no terminal.
    ///   - variables: the environment beside the socket's path.
    ///   - onWrite: called with every piece of output; throwing stands for a closed pipe.
    func run(
        _ arguments: String...,
        columns: Int? = nil,
        variables: [String: String] = [:],
        onWrite: @escaping @Sendable (String) throws -> Void = { _ in }
    ) async -> Result {
        await Self.run(
            arguments,
            columns: columns,
            variables: variables.merging(["MEDIATORD_SOCKET": socket]) { first, _ in first },
            onWrite: onWrite
        )
    }

    static func run(
        _ arguments: [String],
        columns: Int? = nil,
        variables: [String: String] = [:],
        input: String = "",
        isTerminal: Bool = false,
        isJournal: Bool = false,
        completionLimit: Duration = .seconds(120),
        clock: any Clock<Duration> = ContinuousClock(),
        outerUserID: UInt32? = nil,
        onWrite: @escaping @Sendable (String) throws -> Void = { _ in }
    ) async -> Result {
        let output = Mutex("")
        let error = Mutex("")
        var environment = CommandEnvironment(
            variable: { variables[$0] },
            userID: 0,
            now: { now },
            localTime: CalendarTime.utc,
            isTerminal: isTerminal || columns != nil,
            columns: columns,
            write: { text in
                output.withLock { $0 += text }
                try onWrite(text)
            },
            writeError: { text in error.withLock { $0 += text } },
            readInput: { Array(input.utf8.prefix($0)) },
            endQuietlyWhenInterrupted: {}
        )
        environment.completionLimit = completionLimit
        // All tests run beside each other.
        environment.answerLimit = 600
        environment.clock = clock
        environment.isJournal = isJournal
        environment.outerUserID = outerUserID
        let status = await Mediatorctl.run(arguments, in: environment)
        return Result(status: status, output: output.withLock { $0 }, error: error.withLock { $0 })
    }
}
