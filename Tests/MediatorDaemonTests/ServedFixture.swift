import CommonExpression
import FeedbackKitTesting
import Foundation
import Logging
import MediatorConfiguration
import MediatorControl
import MediatorDaemon
import MediatorHost
import Systemd
import TestSupport
import Testing
import Varlink

/// A configuration with one system.
let lampSystem = """
    system: lamp
    states: { Off: {}, On: {} }
    events: { Switch: {} }
    fromOutside: any
    initialState: Off
    transitions: { Off: { Switch: On }, On: { Switch: Off } }

    """

extension AwaitedValue<[String]> {
    func add(_ line: String) { change { $0.append(line) } }

    /// Returns when a line with a text has been added.
    func wait(for text: String) async { await wait { $0.contains { $0.contains(text) } } }
}

/// A side effect that heeds no cancellation, and ends when the test says so.
final class HeldEffect: EffectImplementation {
    private let ends: AsyncStream<Void>
    private let end: AsyncStream<Void>.Continuation
    let began = AwaitedValue<[String]>([])

    init() { (ends, end) = AsyncStream<Void>.makeStream() }

    let schema = EffectSchema(
        name: "hold", parameters: [.init(name: "name", type: .string, required: true)], shortForm: "name")

    func run(_ arguments: [String: Value], in context: EffectContext) async {
        guard case .string(let name)? = arguments["name"] else { return }
        began.add(name)
        await Task.detached { [ends] in for await _ in ends {} }.value
    }

    /// Ends all that run.
    func release() { end.finish() }
}

/// A daemon that is served in memory: its configuration lies in a directory, and its clock is moved by hand.
final class ServedFixture: Sendable {
    /// Of whom an account is known.
    static let users: [String: UInt32] = ["reader": 70_001, "injector": 70_002, "stranger": 70_003]

    let clock = ManualClock()
    let held = HeldEffect()
    /// The lines of the log: their level and message.
    let log = AwaitedValue<[String]>([])
    /// The messages to the service manager.
    let manager = AwaitedValue<[String]>([])
    let directory: URL
    let daemon: ServedDaemon

    private struct Handler: LogHandler {
        let log: AwaitedValue<[String]>
        var metadata: Logger.Metadata = [:]
        var logLevel = Logger.Level.info

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            let count = event.metadata?["count"].map { " (\($0))" } ?? ""
            log.add("\(event.level): \(event.message)\(count)")
        }
    }

    /// - Parameters:
    ///   - files: the configuration, by the names of its files.
    ///   - isStarted: whether it has begun to run, and told that it is ready.
    ///   - values: the values that the configuration only names.
    init(
        _ files: [String: String], isStarted: Bool = true, values: ExternalValues = .process()
    ) async throws {
        directory = FileManager.default.temporaryDirectory.appending(path: "mediatord-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        for (name, text) in files { try Self.write(text, to: directory.appending(path: name)) }
        let (log, manager) = (log, manager)
        var daemon = Daemon(
            configuration: ConfigurationLayers([directory.path]), socket: "",
            logger: Logger(label: "test") { _ in Handler(log: log) }, report: { log.add("diagnostic: \($0.message)") })
        daemon.effects = daemon.effects.with([held])
        daemon.values = values
        daemon.accounts = Accounts(
            user: { Self.users[$0] }, group: { _ in nil },
            userName: { id in Self.users.first { $0.value == id }?.key })
        daemon.unauthorizedLimit = .seconds(300)
        daemon.notifier = Notifier { manager.add($0) }
        daemon.time = .manual(clock)
        self.daemon = try await daemon.serve(at: .nowhere)
        guard isStarted else { return }
        self.daemon.host.start()
        self.daemon.becomeReady()
        await settle()
    }

    deinit { try? FileManager.default.removeItem(at: directory) }

    private static func write(_ text: String, to file: URL) throws {
        try FileManager.default.createDirectory(
            at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
        try Data(text.utf8).write(to: file)
    }

    func write(_ text: String, to name: String) throws { try Self.write(text, to: directory.appending(path: name)) }

    func remove(_ name: String) throws { try FileManager.default.removeItem(at: directory.appending(path: name)) }

    /// The text of a file; nil if it does not exist.
    func text(of name: String) -> String? {
        (try? Data(contentsOf: directory.appending(path: name))).map { String(decoding: $0, as: UTF8.self) }
    }

    func exists(_ name: String) -> Bool {
        FileManager.default.fileExists(atPath: directory.appending(path: name).path)
    }

    /// A client, by default the daemon's own user.
    func client(_ user: String? = nil) async throws -> ControlClient {
        let peer = user.flatMap { Self.users[$0] }.map { VarlinkPeer(processID: 1, userID: $0, groupID: $0) }
        var configuration = ClientConfiguration()
        // The suite has a limit of its own, and a reload may take long on a busy machine.
        configuration.callLimit = nil
        return ControlClient(try await daemon.service.connect(as: peer ?? .current, configuration: configuration))
    }

    /// Returns when every system has handled its events.
    func settle() async { await daemon.host.settled() }

    /// Reads the status until it fulfils a condition: a caller that waits for its turn is visible nowhere else.
    func status(_ client: ControlClient, until holds: (StatusReply) -> Bool) async throws -> StatusReply {
        while true {
            let status = try await client.status()
            if holds(status) { return status }
        }
    }

    /// Ends everything.
    func end() async {
        held.release()
        await daemon.host.stop(within: .seconds(1))
        await daemon.service.close()
    }
}

extension HostTime {
    /// Time that is moved by hand, by the calendar too, which begins in November 2023.
    static func manual(_ clock: ManualClock) -> HostTime {
        let now: @Sendable () -> Timestamp = {
            guard let now = Timestamp(seconds: 1_700_000_000 + clock.now.offset.components.seconds, nanoseconds: 0)
            else { preconditionFailure("the test runs for thousands of years") }
            return now
        }
        return HostTime(clock: clock, now: now, executor: SettlingPool())
    }
}
