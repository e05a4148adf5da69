import Foundation
import MediatorCommands
import MediatorControl
import Synchronization
import Testing
import Varlink

extension CommandTests {
    @Test func `an answer that cannot be written is an error, one that nobody reads is none`() async throws {
        let bench = try await Bench()
        for arguments in [["status"], ["list", "--json"], ["eval", "1"], ["--help"]] {
            let variables = ["MEDIATORD_SOCKET": bench.socket]
            let full = await Bench.run(arguments, variables: variables) { _ in throw CommandError.notWritten("No space")
            }
            #expect(full.status == .notWritten)
            #expect(full.error.contains("standard output cannot be written: No space"))
            #expect(await Bench.run(arguments, variables: variables) { _ in throw OutputClosed() }.status == .success)
        }
        await bench.service.close()
    }

    @Test func `without a daemon the next step is told`() async {
        let result = await Bench.run(["status", "--socket", "/tmp/no-such-directory/socket"])
        #expect(result.status == .noConnection)
        #expect(result.error.contains("there is no socket '/tmp/no-such-directory/socket'"))
        #expect(result.error.contains("See the output of `mediatord`, where it was started"))
        #expect(!result.error.contains("make run"))
        #expect(
            await Bench.run(["status", "--socket", "/dev/null"])
                == .init(
                    status: .noConnection, output: "",
                    error:
                        "mediatorctl: no connection to mediatord: '/dev/null' is no socket\nIf your mediatord listens "
                        + "elsewhere, name its socket with --socket or MEDIATORD_SOCKET: it logs the path when it is "
                        + "ready.\n"))
    }

    @Test func `who has another daemon is told how its socket is named`() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "gone-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let gone = folder.appending(path: "socket").path
        // The file of a socket stays when its program has closed it.
        let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: gone.utf8) }
        let bound = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        try #require(bound == 0)
        close(descriptor)
        for path in [gone, "\(gone)-that-never-was"] {
            let error = await Bench.run(["status", "--socket", path]).error
            #expect(error.contains("name its socket with --socket or MEDIATORD_SOCKET"), "\(error)")
        }
    }

    @Test func `the socket is an option before a variable`() async throws {
        let bench = try await Bench()
        let variables = ["MEDIATORD_SOCKET": "/nowhere"]
        #expect(await Bench.run(["status"], variables: variables).status == .noConnection)
        #expect(await Bench.run(["status", "--socket", bench.socket], variables: variables).status == .success)
        await bench.service.close()
    }

    @Test func `what is not allowed ends with 4`() async throws {
        let bench = try await Bench {
            $0.authorize = { request, _ in request != .call(method: "io.mediatord.Control.Publish") }
        }
        let result = await bench.run("publish", "backup", "on")
        #expect(result.status == .permissionDenied)
        #expect(
            result.error
                == "mediatorctl: user 0 may not inject anything into 'backup'\n"
                + "Root, mediatord's own user, whoever `access: inject:` in its configuration names, have that right: try "
                + "`sudo mediatorctl …`, or ask for it.\n")
        let json = await bench.run("publish", "backup", "on", "--json")
        #expect(json.error.contains(#""code":"permission-denied""#) && json.error.contains(#""right":"inject""#))
        await bench.service.close()
    }

    @Test func `root of a user namespace is told that it is not root to the daemon`() async throws {
        let bench = try await Bench {
            $0.authorize = { request, _ in request != .call(method: "io.mediatord.Control.Publish") }
        }
        let result = await Bench.run(
            ["publish", "backup", "on"], variables: ["MEDIATORD_SOCKET": bench.socket], outerUserID: 1000)
        #expect(
            result.error
                == "mediatorctl: user 1000, who is user 0 in a user namespace only, may not inject anything into 'backup'\n"
                + "Root outside of the namespace, mediatord's own user, whoever `access: inject:` in its configuration names, "
                + "have that right: run mediatorctl outside of the namespace, or ask for it.\n")
        await bench.service.close()
    }

    @Test(
        arguments: [
            ("         0          0 4294967295\n", 0, nil), ("0 1000 1\n", 0, 1000),
            ("0 100000 65536\n", 65_535, 165_535),
            ("1 100001 5\n0 1000 1\n", 0, 1000), ("0 1000 1\n", 1, nil), ("", 0, nil), ("0 4294967295 2\n", 1, nil),
            ("x\n", 0, nil),
        ] as [(String, UInt32, UInt32?)])
    func `the user outside of a user namespace is read from its map`(map: String, user: UInt32, outer: UInt32?) {
        #expect(CommandEnvironment.outerUser(of: user, map: map) == outer)
    }

    @Test func `who may not even connect is told what would help`() async throws {
        let bench = try await Bench {
            $0.authorize = { request, _ in request != .connection }
            // However busy the machine is.
            $0.unauthorizedLimit = .seconds(300)
        }
        let result = await bench.run("status")
        #expect(result.status == .permissionDenied)
        #expect(
            result.error
                == "mediatorctl: user 0 may not read what mediatord does\n"
                + "Root, mediatord's own user, the group mediatord, and whoever `access: read:` in its configuration names, "
                + "have that right: try `sudo mediatorctl …`, or ask for it.\n")
        await bench.service.close()
    }

    @Test(
        arguments: [
            ["detach", "ring"], ["detach", "ring", "--dry-run"], ["set", "ring", "when=true", "--dry-run"],
            ["attach", "ring", "--dry-run"], ["restart", "disk-guard"], ["reload"],
        ])
    func `who may not even connect is told at once which right a change needs`(arguments: [String]) async throws {
        let attempts = Mutex(0)
        let bench = try await Bench {
            $0.authorize = { request, _ in
                if request == .connection { attempts.withLock { $0 += 1 } }
                return request != .connection
            }
            // However busy the machine is.
            $0.unauthorizedLimit = .seconds(300)
        }
        let result = await Bench.run(arguments, variables: ["MEDIATORD_SOCKET": bench.socket])
        #expect(result.status == .permissionDenied)
        #expect(result.error.hasPrefix("mediatorctl: user 0 may not administer mediatord\n"))
        #expect(attempts.withLock { $0 } == 1)
        await bench.service.close()
    }

    @Test func `the files of the daemon at a socket are looked at`() async throws {
        let bench = try await Bench()
        for arguments in [["validate"], ["cat-config"]] {
            let result = await Bench.run(arguments + ["--socket", bench.socket])
            #expect((result.output + result.error).contains("'/etc/mediatord'"), "\(arguments)")
            #expect(!(result.output + result.error).contains("/usr/lib/mediatord"))
            // A named choice counts more.
            let named = await Bench.run(arguments + ["--config", "/dev", "--socket", bench.socket])
            #expect((named.output + named.error).contains("/dev"))
            #expect(!(named.output + named.error).contains("'/etc/mediatord'"))
            #expect(await Bench.run(arguments + ["--socket", "/nowhere/socket"]).status == .noConnection)
        }
        // It needs no daemon, unless it must read the daemon's kinds.
        let elsewhere = ["--config", "/dev", "--socket", "/nowhere/socket"]
        #expect(await Bench.run(["cat-config"] + elsewhere).status != .noConnection)
        #expect(await Bench.run(["validate"] + elsewhere).status == .noConnection)
        #expect(await Bench.run(["validate", "--kinds", "/dev/null"] + elsewhere).error.contains("'/dev/null'"))
        #expect(await Bench.run(["validate", "--host", "x"]).status == .usage)
        await bench.service.close()
    }

    @Test func `a daemon that goes away while it is tapped is told`() async throws {
        let bench = try await Bench()
        let closing = Mutex<Task<Void, Never>?>(nil)
        let result = await bench.run("tap", "disk-guard") { text in
            guard text.contains("Measured") else { return }
            closing.withLock { $0 = Task { await bench.service.close(within: .zero) } }
        }
        #expect(result.status == .noConnection)
        #expect(result.error.hasPrefix("mediatorctl: mediatord went away\n"))
        await closing.withLock { $0 }?.value
    }

    @Test func `a closed pipe ends without a word`() async throws {
        let bench = try await Bench()
        let result = await bench.run("tap", "disk-guard") { _ in throw OutputClosed() }
        #expect(result.status == .success)
        #expect(result.error.isEmpty)
        await bench.service.close()
    }

    @Test func `a daemon that does not answer is waited for no longer than asked`() async throws {
        let bench = try await Bench { $0.maximumConnections = 0 }
        // The connection is closed at once, as during a restart: the client tries again, but not for longer.
        for limit in ["0.2", "200ms", "0.2s"] {
            #expect(await bench.run("status", "--timeout", limit).status == .noConnection)
        }
        await bench.service.close()
    }

    @Test func `the pauses between attempts are together no longer than asked`() {
        func pauses(within limit: Double) -> [Duration] {
            let repetition = Repetition(within: limit)
            return (0..<10).compactMap { _ in repetition.pause(after: VarlinkError(.connectionClosed, "closed")) }
        }
        #expect(pauses(within: 0.05) == [.milliseconds(20)])
        #expect(pauses(within: 0.2) == [.milliseconds(20), .milliseconds(80)])
        #expect(pauses(within: 10).reduce(.zero, +) == .milliseconds(6_200))
    }

    @Test func `who may not read is told the version of mediatorctl all the same`() async throws {
        let benches = [
            try await Bench {
                $0.authorize = { request, _ in request != .call(method: "io.mediatord.Control.Status") }
            },
            try await Bench {
                $0.authorize = { request, _ in request != .connection }
                $0.unauthorizedLimit = .seconds(300)
            },
        ]
        for bench in benches {
            let result = await bench.run("version")
            #expect(result.status == .permissionDenied && result.output == "mediatorctl 0.1.0\n")
            #expect(result.error.contains("may not read what mediatord does"))
            #expect(await bench.run("version", "--json").output == #"{"client":"0.1.0"}"# + "\n")
            await bench.service.close()
        }
    }

    @Test func `the version of both is told, and that of the client also without a daemon`() async throws {
        let bench = try await Bench()
        let both = await bench.run("version")
        #expect(both.output == "mediatorctl 0.1.0\nmediatord   0.1.0, process 4242, started 09:00:00 (3 h ago)\n")
        #expect(
            await bench.run("version", "--json").output
                == #"{"client":"0.1.0","daemon":{"pid":4242,"started":"2026-11-21T09:00:00Z","version":"0.1.0"}}"#
                + "\n")
        await bench.service.close()
        let without = await Bench.run(["version"], variables: ["MEDIATORD_SOCKET": "/nowhere/socket"])
        #expect(without.output == "mediatorctl 0.1.0\n")
        #expect(without.status == .noConnection && !without.error.isEmpty)
        let local = await Bench.run(["version", "--client", "--json"], variables: ["MEDIATORD_SOCKET": "/nowhere"])
        #expect(local == .init(status: .success, output: #"{"client":"0.1.0"}"# + "\n", error: ""))
    }
}
