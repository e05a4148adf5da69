import FeedbackKitTesting
import Foundation
import Glibc
import Logging
import MediatorConfiguration
import MediatorControl
import MediatorDaemon
import StrictJSON
import Systemd
import Testing
import Varlink

/// A whole daemon, each in a process of its own, since it heeds signals.
@Suite(.timeLimit(.minutes(5))) struct `The run of a daemon` {
    /// A daemon with a directory of its own, and its messages to the service manager.
    private final class Running: Sendable {
        let directory: URL
        let manager = AwaitedValue<[String]>([])
        let daemon: Daemon

        var socket: String { directory.appending(path: "control").path }

        init(_ text: String) throws {
            directory = FileManager.default.temporaryDirectory.appending(path: "md-\(UUID().uuidString.prefix(8))")
            try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
            try Data(text.utf8).write(to: directory.appending(path: "lamp.yaml"))
            let manager = manager
            var daemon = Daemon(
                configuration: ConfigurationLayers([directory.path]),
                socket: directory.appending(path: "control").path,
                logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }, report: { _ in })
            daemon.notifier = Notifier { manager.add($0) }
            self.daemon = daemon
        }

        deinit { try? FileManager.default.removeItem(at: directory) }

        /// Starts the daemon, and returns when the service manager knows that it is ready.
        func start() async -> Task<MediatorDaemon.ExitStatus, Never> {
            let running = Task { [daemon] in await daemon.run() }
            await manager.wait { $0.contains { $0.hasPrefix("READY=1") } }
            return running
        }
    }

    @Test(arguments: [SIGTERM, SIGINT])
    func `it starts, is ready, answers, and stops at a signal`(signal: Int32) async {
        await #expect(processExitsWith: .success) { [signal] in
            let one = try Running(lampSystem)
            let running = await one.start()
            #expect(one.manager.value.first == "STATUS=checking the configuration")
            let client = try await ControlClient.connect(toPath: one.socket)
            #expect(try await client.status().health == .healthy)
            await client.close()
            kill(getpid(), signal)
            #expect(await running.value == .stopped)
            let told = one.manager.value
            #expect(told.contains { $0.contains("STOPPING=1") })
            #expect(told.count { $0.hasPrefix("READY=1") } == 1)
            #expect(access(one.socket, F_OK) != 0)
        }
    }

    @Test func `a hangup reloads`() async {
        await #expect(processExitsWith: .success) {
            let one = try Running(lampSystem)
            let running = await one.start()
            let client = try await ControlClient.connect(toPath: one.socket)
            try Data(lampSystem.replacing("lamp", with: "second").utf8).write(
                to: one.directory.appending(path: "second.yaml"))
            kill(getpid(), SIGHUP)
            await one.manager.wait { $0.count { $0.hasPrefix("READY=1") } == 2 }
            #expect(one.manager.value.contains { $0.contains("RELOADING=1") })
            #expect(try await client.listSystems().map(\.name) == ["lamp", "second"])
            await client.close()
            kill(getpid(), SIGTERM)
            #expect(await running.value == .stopped)
        }
    }

    @Test func `a configuration that is wrong starts nothing`() async {
        await #expect(processExitsWith: .success) {
            let one = try Running("system: [")
            #expect(await one.daemon.run() == .invalidConfiguration)
            let last = try #require(one.manager.value.last)
            #expect(last.contains("STATUS=the configuration is not valid") && last.contains("EXIT_STATUS=1"), "\(last)")
            #expect(last.contains("ERRNO=\(EINVAL)"))
            #expect(access(one.socket, F_OK) != 0 && one.daemon.check().isValid == false)
        }
    }

    @Test func `a directory that is not there is told by its number`() async {
        await #expect(processExitsWith: .success) {
            let one = try Running(lampSystem)
            try FileManager.default.removeItem(at: one.directory)
            #expect(await one.daemon.run() == .invalidConfiguration)
            #expect(try #require(one.manager.value.last).contains("ERRNO=\(ENOENT)"))
        }
    }

    @Test func `a socket that another daemon serves is left to that one`() async {
        await #expect(processExitsWith: .success) {
            let one = try Running(lampSystem)
            let other = try await VarlinkService.start(
                at: .path(one.socket, mode: 0o600), interfaces: [],
                configuration: ServiceConfiguration(vendor: "a", product: "b", version: "1", url: ""))
            #expect(await one.daemon.run() == .noControlSocket)
            let last = try #require(one.manager.value.last)
            #expect(last.contains("STATUS=cannot serve the control socket: ") && last.contains("EXIT_STATUS=4"))
            #expect(last.contains("ERRNO=\(EADDRINUSE)"), "\(last)")
            // It still serves.
            let client = try await VarlinkClient.connect(toPath: one.socket)
            _ = try await client.call("org.varlink.service.GetInfo")
            await client.close()
            await other.close()
        }
    }

    @Test func `an invalid address for metrics prevents the start`() async {
        await #expect(processExitsWith: .success) {
            let one = try Running(lampSystem)
            var daemon = one.daemon
            daemon.metrics = "nowhere"
            #expect(await daemon.run() == .noControlSocket)
            #expect(try #require(one.manager.value.last).contains("ERRNO=\(EINVAL)"))
            #expect(access(one.socket, F_OK) != 0)
        }
    }

    @Test func `a system may ask for its end`() async {
        await #expect(processExitsWith: .success) {
            let text = """
                system: fragile
                states: { Ready: { quotient: int } }
                events: { Divide: { by: int } }
                fromOutside: any
                initialState: { Ready: { quotient: 1 } }
                supervision: escalate
                transitions: { Ready: { Divide: { to: Ready, set: { quotient: "${state.quotient / event.by}" } } } }

                """
            let one = try Running(text)
            let running = await one.start()
            let client = try await ControlClient.connect(toPath: one.socket)
            try await client.emit("Divide", to: "fragile", data: ["by": 0])
            #expect(await running.value == .escalated)
            #expect(one.manager.value.contains { $0.contains("ended on account of the system 'fragile'") })
        }
    }

    /// Nobody waits any longer, so it does not wait for side effects either.
    @Test func `whose task is cancelled it ends at once, and takes its socket along`() async {
        await #expect(processExitsWith: .success) {
            let one = try Running(lampSystem)
            let running = await one.start()
            running.cancel()
            #expect(await running.value == .stoppedByForce)
            #expect(access(one.socket, F_OK) != 0)
        }
    }
}
