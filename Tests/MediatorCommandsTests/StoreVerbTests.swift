import MediatorCommands
import MediatorControl
import Testing
import TestSupport
import Varlink

/// The verb `store`, against a real service.
@Suite(.timeLimit(.minutes(5)))
struct StoreVerbTests {
    @Test(arguments: [
        (
            Health.healthy,
            """
            store /store
              mode     open
              size     48 KiB
              runs     1 run of mediatord
              commits  0 since the start

            PART        KIND    STORED  SINCE                RESTORED FROM       REMARK
            disk-guard  system  yes     11:59:00 (1 min ago)  08:59:00 (3 h ago)
            gone        system  yes     before the start                          not in the configuration; forget it with `mediatorctl store forget`
            backup      bus     no                                                the disk is full\\u{1B}[31m
            gone        bus     yes     before the start                          not in the configuration; forget it with `mediatorctl store forget`

            """
        ),
        (
            .failed,
            """
            store
              mode  in memory: another process uses it; stop that

            """
        ),
    ])
    func `shows the store`(health: Health, text: String) async throws {
        let bench = try await Bench(health: health)
        let result = await bench.run("store")
        #expect(result.status == .success)
        // Columns are as wide as their cells.
        func words(_ text: String) -> [String] {
            text.split(separator: "\n").map { $0.split(separator: " ").joined(separator: " ") }
        }
        #expect(words(result.output).count == words(text).count)
        for (line, expected) in zip(words(result.output), words(text)) where !expected.contains("the disk is full") {
            #expect(line == expected)
        }
        #expect(!result.output.contains("\u{1B}"))
        await bench.service.close()
    }

    @Test func `tells trouble`() async throws {
        let bench = try await Bench(health: .degraded)
        let output = await bench.run("store").output
        for line in [
            "3 runs of mediatord, the one before ended without closing the store; 2 starts before this one never became ready",
            "12 since the start, the last 11:57:00 (3 min ago); 1 error", "half up to 1.0 ms, 99 of 100 up to 4.3 s",
            "2 changes since 11:58:00 (2 min ago)", "1 state, for the reasons below", "3.1 MiB",
            "damage: the store has 1 states instead of 2", "7 further parts not listed",
        ] {
            #expect(output.contains(line), "\(line)")
        }
        await bench.service.close()
    }

    @Test func `a check of a damaged store fails`() async throws {
        let sound = try await Bench()
        let result = await sound.run("store", "check")
        #expect(result.status == .success)
        #expect(result.output == "the store is undamaged, with 2 states\n")
        #expect(await sound.run("store", "check", "--json").output == "{\"damage\":[],\"states\":2}\n")
        await sound.service.close()
        let damaged = try await Bench(health: .degraded)
        let flaws = await damaged.run("store", "check")
        #expect(flaws.status == .refused)
        let report = "the store is damaged; 2 states undamaged\nthe store has 2 states instead of 3\n"
        #expect(flaws.output.hasPrefix(report))
        #expect(flaws.output.contains("the next start copies the damaged files"))
        await damaged.service.close()
    }

    @Test(arguments: [
        (
            Health.healthy, CommandStatus.success,
            "{\"content\":{\"state\":\"Full\"},\"ended\":false,\"name\":\"disk-guard\",\"part\":\"system\"}\n"
        ),
        (
            .degraded, .refused,
            "{\"content\":{\"state\":\"Full\"},\"ended\":false,\"name\":\"disk-guard\",\"part\":\"system\"}\n"
                + "{\"damage\":\"its checksum\",\"ended\":false,\"name\":\"backup\",\"part\":\"bus\"}\n"
        ),
        (.failed, .success, ""),
    ])
    func `an export has a line for each state`(health: Health, status: CommandStatus, text: String) async throws {
        let bench = try await Bench(health: health)
        let result = await bench.run("store", "export")
        #expect(result.status == status)
        #expect(result.output == text)
        await bench.service.close()
    }

    @Test func `a state is forgotten by a name that only one part has`() async throws {
        let bench = try await Bench()
        let result = await bench.run("store", "forget", "bus:gone")
        #expect(result.status == .success)
        #expect(result.output == "forgot the state of bus gone\n")
        #expect(await bench.run("store", "forget", "gone").status == .usage)
        #expect(await bench.run("store", "forget", "link:gone").status == .usage)
        let running = await bench.run("store", "forget", "disk-guard")
        #expect(running.status == .refused)
        #expect(running.error.contains("it runs"))
        let unknown = await bench.run("store", "forget", "disk-gaurd")
        #expect(unknown.status == .refused)
        #expect(unknown.error.contains("did you mean 'disk-guard'?"))
        #expect(bench.handler.changes == ["forget bus gone"])
        await bench.service.close()
    }

    @Test(arguments: [["store", "forget"], ["store", "check", "x"], ["store", "look"], ["store", "export", "x"]])
    func `a wrong command line is refused`(arguments: [String]) async {
        let result = await Bench.run(arguments, variables: ["MEDIATORD_SOCKET": "/nowhere"])
        #expect(result.status == .usage)
        #expect(!result.error.isEmpty)
    }

    @Test func `without a daemon a check says who does it`() async {
        let result = await Bench.run(["store", "check"], variables: ["MEDIATORD_SOCKET": "/nowhere/socket"])
        #expect(result.status == .noConnection)
        #expect(result.error.contains("only a running mediatord checks its store"))
    }
}
