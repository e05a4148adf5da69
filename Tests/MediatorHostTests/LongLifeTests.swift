import CommonExpression
import FeedbackKit
import FeedbackKitTesting
import Logging
import MediatorConfiguration
import MediatorHost
import Testing

@Suite(.timeLimit(.minutes(20))) struct `A long life` {
    @Test func `goes no deeper with each new state`() async throws {
        let text = """
            system: counter
            states: { Counting: { n: int } }
            events: { Next: {} }
            fromOutside: Next
            initialState: { Counting: { n: 0 } }
            mailbox: { limit: 100000 }
            transitions:
              Counting: { Next: { to: Counting, set: { n: "${state.n + 1}" } } }
            """
        let graph = try #require(
            ConfigurationCompiler.compile(files: [ConfigurationFile(path: "a.yaml", text: text)]).graph)
        let now = try #require(Timestamp(seconds: 1_700_000_000, nanoseconds: 0))
        let host = try Host(
            graph: graph, effects: EffectCatalogue([]), time: HostTime.settling(ManualClock()) { now },
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        host.start()
        // More than any thread's stack has room for, if each were to take some of it.
        let count = 60_000
        for _ in 0..<count { try host.emit("Next", to: "counter", fields: []) }
        await host.settled()
        #expect(try host.systemStatus("counter").loop.counters.transitions == count)
        await host.stop(within: .seconds(1_000_000))
    }
}
