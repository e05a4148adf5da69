import CommonExpression
import FeedbackKitTesting
import MediatorConfiguration
import MediatorEffectTesting
import MediatorHost
import Testing

/// Counts runs, waits a minute, and reports; or says why it cannot.
private struct Waiting: EffectImplementation {
    static let result = StructureType(name: "result", fields: [.init(name: "count", type: .int)])
    var schema: EffectSchema {
        EffectSchema(
            name: "waiting", parameters: [.init(name: "minutes", type: .int, default: .int(1))],
            outcomes: [.init(name: "onBegun", result: Self.result), .init(name: "onDone", result: Self.result)])
    }

    static func result(_ count: Int64) -> Value { .structure(Structure(type: result, fields: [.int(count)])) }

    func run(_ arguments: [String: Value], in context: EffectContext) async {
        guard case .int(let minutes)? = arguments["minutes"], minutes > 0 else { return context.fail("no time") }
        let count = (context.memory.value(Int64.self) ?? 0) + 1
        context.memory.keep(count)
        context.report("onBegun", Self.result(count))
        guard (try? await context.clock.sleep(for: .seconds(60 * minutes))) != nil else { return }
        context.report("onDone", Self.result(count))
    }
}

@Suite(.timeLimit(.minutes(5))) struct `A trial of a side effect` {
    @Test func `runs on a clock that the test moves, and tells what is reported`() async {
        let (clock, memory) = (ManualClock(), EffectMemory())
        for count in Int64(1)...2 {
            let trial = EffectTrial(Waiting(), clock: clock, memory: memory)
            for await report in trial.stream {
                #expect(report == .outcome("onBegun", Waiting.result(count)))
                break
            }
            await clock.nextDeadline(in: .seconds(60))
            #expect(trial.reports.count == 1)
            clock.advance(by: .seconds(60))
            let reports = await trial.ended()
            #expect(reports.last == .outcome("onDone", Waiting.result(count)))
        }
    }

    @Test func `tells what could not be done`() async {
        let reports = await EffectTrial(Waiting(), arguments: ["minutes": .int(0)]).ended()
        #expect(reports == [.fault("no time")])
    }

    @Test func `ends the run that it is told to end`() async {
        let clock = ManualClock()
        let trial = EffectTrial(Waiting(), clock: clock)
        await clock.nextDeadline(in: .seconds(60))
        trial.cancel()
        let reports = await trial.ended()
        #expect(reports == [.outcome("onBegun", Waiting.result(1))])
    }
}
