import Foundation
import Glibc
import Systemd
import Testing
import TestSupport

/// A real message bus without a service manager.
private final class MessageBus: Sendable {
    let address: String
    private let process: Process
    private let directory: URL

    init() throws {
        directory = FileManager.default.temporaryDirectory.appending(path: "bus-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        address = "unix:path=\(directory.path)/bus"
        process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/dbus-daemon")
        process.arguments = ["--session", "--nofork", "--nopidfile", "--print-address=1", "--address=\(address)"]
        let output = Pipe()
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        try process.run()
        // The bus prints its address when it listens.
        _ = output.fileHandleForReading.availableData
    }

    func end() {
        // The inherited signal mask may block any other signal.
        kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
    }

    deinit {
        if process.isRunning { end() }
        try? FileManager.default.removeItem(at: directory)
    }
}

private func error(of states: AsyncThrowingStream<UnitState, any Error>) async -> ServiceManagerError? {
    do {
        for try await _ in states {}
        return nil
    } catch {
        return error as? ServiceManagerError
    }
}

private let hasBus = FileManager.default.isExecutableFile(atPath: "/usr/bin/dbus-daemon")

@Suite(.serialized, .timeLimit(.minutes(5))) struct `The service manager` {
    @Test func `without a bus is unreachable, and the error has the address`() async {
        let manager = ServiceManager(address: "unix:path=/nowhere/bus")
        let failure = await error(of: manager.states(of: "a.service"))
        #expect(failure?.code == .unreachable)
        #expect(
            failure?.message == "cannot connect to the message bus at unix:path=/nowhere/bus: No such file or directory"
        )
        await #expect(throws: ServiceManagerError.self) { try await manager.perform(.start, on: "a.service") }
    }

    @Test(.enabled(if: hasBus, "SKIPPED: needs dbus-daemon"))
    func `that is not on the bus refuses, and the next request connects again`() async throws {
        let bus = try MessageBus()
        let manager = ServiceManager(address: bus.address)
        for _ in 0..<3 {
            let failure = await error(of: manager.states(of: "a.service"))
            #expect(failure?.code == .refused)
            #expect(failure?.message.hasPrefix("the message bus has no service manager: ") == true)
        }
        await #expect(throws: ServiceManagerError.self) { try await manager.perform(.start, on: "a.service") }
    }

    @Test(.enabled(if: hasBus, "SKIPPED: needs dbus-daemon"))
    func `is reached again after another bus has replaced its bus`() async throws {
        let bus = try MessageBus()
        let manager = ServiceManager(address: bus.address)
        #expect(await error(of: manager.states(of: "a.service"))?.code == .refused)
        bus.end()
        // The request may first find that the open connection is broken.
        var codes: [ServiceManagerError.Code?] = []
        while codes.last != .unreachable { codes.append(await error(of: manager.states(of: "a.service"))?.code) }
        #expect(codes.allSatisfy { [.lost, .unreachable].contains($0) })
    }

    @Test(.enabled(if: hasBus, "SKIPPED: needs dbus-daemon"))
    func `closes an idle connection, and leaks no descriptor`() async throws {
        let bus = try MessageBus()
        func descriptors() throws -> Int { try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count }
        let before = try descriptors()
        for _ in 0..<50 {
            let manager = ServiceManager(address: bus.address, linger: .zero)
            _ = await error(of: manager.states(of: "a.service"))
            // One request is cancelled at once, and nobody reads the other.
            let task = Task { try await manager.perform(.stop, on: "a.service") }
            task.cancel()
            _ = await task.result
            _ = manager.states(of: "b.service")
        }
        // The threads end soon. Other tests open only a few descriptors in the meantime.
        try await suspend(while: descriptors() > before + 20)
    }
}
