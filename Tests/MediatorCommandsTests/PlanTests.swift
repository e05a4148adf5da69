import MediatorCommands
import MediatorControl
import StrictJSON
import Testing
import Varlink

/// The output and exit codes of `plan` and `reload`.
@Suite(.timeLimit(.minutes(5)))
struct PlanTests {
    static let table = """
        PART    NAME        ACTION   VALUE  FEEDBACKS                      WHY
        system  disk-guard  restart         goes on: measure; ends: probe  it is in the state 'Full', which there is no more
        bus     alarms      change   keep                                  its definition has changed
        bus alarms:
          changed  value              int → "not text"  a.yaml:4:10, was a.yaml:3:10
          removed  initial                              a.yaml:4:12
          changed  limit or overflow
          and 2 more

        """

    @Test func `a plan lists what changes, and with a flag what is kept`() async throws {
        let bench = try await Bench()
        let summary = "a reload would do: 1 kept, 1 restarted; 1 bus changed\n"
        #expect(await bench.run("plan") == .init(status: .success, output: Self.table + summary, error: ""))
        let all = await bench.run("plan", "--all").output
        #expect(all.contains("system  backup      keep"))
        for (output, count) in [
            (await bench.run("plan", "--json").output, 2), (await bench.run("plan", "--json", "--all").output, 3),
        ] {
            #expect(try JSONValue(parsing: output).objectValue?["steps"]?.arrayValue?.count == count)
        }
        await bench.service.close()
    }

    @Test func `a plan of a broken directory prints what is wrong`() async throws {
        let bench = try await Bench()
        let result = await bench.run("plan", "/tmp/../tmp")
        #expect(
            result
                == .init(
                    status: .refused,
                    output: """
                        a.yaml:1:1: error: wrong
                          sytem: x
                          ^
                        a reload would be rejected: 1 error in the configuration

                        """, error: ""))
        let missing = await bench.run("plan", "/no/such/directory")
        #expect(missing.status == .refused)
        #expect(missing.error == "mediatorctl: there is no directory '/no/such/directory'\n")
        await bench.service.close()
    }

    @Test(arguments: [
        (Health.healthy, CommandStatus.success, table + "reloaded: 1 kept, 1 restarted; 1 bus changed\n"),
        (.failed, .refused, "reload rejected, nothing has changed: everything is being stopped\n"),
        (
            .starting, .appliedLate,
            """
            reloaded: 1 added
            bad: failed: its state is 'Down'
            slow: not ready in time: its state is 'A', and it is ready in 'B'
            side effects did not end in time, and were left behind: old

            """
        ),
    ])
    func `a reload ends with its verdict`(health: Health, status: CommandStatus, text: String) async throws {
        let bench = try await Bench(health: health)
        #expect(await bench.run("reload") == .init(status: status, output: text, error: ""))
        let json = try JSONValue(parsing: await bench.run("reload", "--json").output)
        #expect(json.objectValue?["applied"] == .bool(status != .refused))
        await bench.service.close()
    }
}
