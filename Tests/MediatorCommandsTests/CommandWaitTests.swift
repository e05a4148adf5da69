import FeedbackKitTesting
import MediatorCommands
import MediatorControl
import StrictJSON
import Testing
import TestSupport
import Varlink

extension CommandTests {
    @Test func `a state is waited for, also one of several, and what does not come ends with 6`() async throws {
        let bench = try await Bench()
        let measured = ["percent=5", "mount=/", "within=1s"]
        let variables = ["MEDIATORD_SOCKET": bench.socket]
        // Whose time does not pass by itself, however busy the machine is.
        let clock = ManualClock()
        let reached = await Bench.run(
            ["emit", "disk-guard", "Measured"] + measured + ["--wait", "Full", "--wait", "Unknown"],
            variables: variables, clock: clock)
        #expect(
            reached.output == "emitted Measured mount=/ percent=5 within=1s to system disk-guard\n"
                + "disk-guard is in Full mount=/var note=\"nearly full\" percent=97\n")
        #expect(bench.handler.watched == [WatchParameters(patterns: ["system:disk-guard"], announce: true)])
        let published = await Bench.run(
            ["publish", "backup", "on", "--wait", "disk-guard=Full", "--json"], variables: variables, clock: clock)
        let object = try JSONValue(parsing: published.output).objectValue
        #expect(object?["reached"]?.arrayValue?.first?.objectValue?["system"] == "disk-guard")
        async let late = Bench.run(
            ["emit", "disk-guard", "Measured"] + measured + ["--wait", "Unknown", "--timeout", "120"],
            variables: variables, clock: clock)
        await clock.nextDeadline(in: .seconds(120))
        await suspend(while: bench.handler.emitted.count < 2)
        // It was sent over a connection of its own, which is closed once the answer is there.
        await suspend(while: bench.service.connectionCount > 2)
        clock.advance(by: .seconds(120))
        #expect(await late.status == .notReached)
        #expect(
            await late.error
                == "mediatorctl: it was sent, but not entered within 120.0 seconds: disk-guard (Unknown), which is in Full\n"
                + "`mediatorctl why-not disk-guard Measured percent=5 mount=/ within=1s` shows what prevents it, "
                + "`mediatorctl trace disk-guard` shows the last steps of disk-guard; --timeout waits longer.\n")
        #expect(bench.handler.emitted.count == 2)
        await bench.service.close()
    }

    @Test func `a state that was entered before the sending is not what is waited for`() async throws {
        let bench = try await Bench()
        let clock = ManualClock()
        let emit = ["emit", "disk-guard", "Measured", "percent=5", "mount=/", "within=1s", "--json", "--wait", "Full"]
        let variables = ["MEDIATORD_SOCKET": bench.socket]
        // If a change is left out, the system reports Full since 11:57:00, and then that Full was entered at 11:58:30.
        let times: [String?: String] = [
            nil: "2026-11-21T11:57:00Z", "2026-11-21T11:57:00Z": "2026-11-21T11:57:00Z",
            "2026-11-21T11:57:00.000001Z": "2026-11-21T11:58:30Z", "2026-11-21T13:58:30+02:00": "2026-11-21T11:58:30Z",
        ]
        for (taken, reached) in times {
            bench.handler.take(at: taken)
            let result = await Bench.run(emit, variables: variables, clock: clock)
            let states = try JSONValue(parsing: result.output).objectValue?["reached"]?.arrayValue
            #expect(states?.count == 1 && states?.first?.objectValue?["time"] == .string(reached), "\(taken ?? "")")
        }
        bench.handler.take(at: "2026-11-21T11:58:30.000001Z")
        let count = bench.handler.emitted.count
        async let late = Bench.run(emit + ["--timeout", "120"], variables: variables, clock: clock)
        await clock.nextDeadline(in: .seconds(120))
        await suspend(while: bench.handler.emitted.count == count)
        await suspend(while: bench.service.connectionCount > 2)
        clock.advance(by: .seconds(120))
        #expect(await late.status == .notReached)
        #expect(await late.error.contains("which is in Full and has not entered it again"))
        await bench.service.close()
    }

    @Test func `nothing is sent where nobody watches`() async throws {
        let bench = try await Bench()
        bench.handler.beSilent()
        let clock = ManualClock()
        async let late = Bench.run(
            [
                "emit", "disk-guard", "Measured", "percent=5", "mount=/", "within=1s", "--wait", "Full", "--timeout",
                "120",
            ],
            variables: ["MEDIATORD_SOCKET": bench.socket], clock: clock)
        await clock.nextDeadline(in: .seconds(120))
        await suspend(while: bench.handler.watched.isEmpty)
        clock.advance(by: .seconds(120))
        #expect(
            await late
                == .init(
                    status: .noConnection, output: "",
                    error: "mediatorctl: nothing was sent: mediatord has not said within 120.0 seconds that it watches "
                        + "disk-guard\nWait longer with --timeout.\n"))
        #expect(bench.handler.emitted.isEmpty)
        await bench.service.close()
    }
}
