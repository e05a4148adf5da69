import FeedbackKitTesting
import Logging
import MediatorHost
import Testing

@Suite(.timeLimit(.minutes(20))) struct `The ready limit of a reload` {
    private static func system(_ name: String, _ more: String = "") -> String {
        """
        system: \(name)
        states: { Cold: {}, Warm: {} }
        events: { Heat: {} }
        fromOutside: Heat
        initialState: Cold
        ready: Warm
        transitions: { Cold: { Heat: Warm } }
        \(more)
        ---

        """
    }

    @Test func `holds for added and for migrated systems at once`() async throws {
        let clock = ManualClock()
        let host = try Host(
            graph: try graph(Self.system("old")), effects: EffectCatalogue([]), time: .manual(clock),
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        host.start()
        let next = try graph(Self.system("old", "unhandled: warn"), Self.system("added"))
        let applying = Task { try await host.apply(next, readyLimit: .seconds(30)) }
        await clock.nextDeadline(in: .seconds(30))
        await host.settled()
        clock.advance(by: .seconds(30))
        await host.settled()
        // The two groups wait at once, not one after the other.
        #expect(clock.nextDeadline == nil)
        if clock.nextDeadline != nil { clock.advance(by: .seconds(30)) }
        #expect(try await applying.value.late == ["added", "old"])
        #expect(clock.now.offset == .seconds(30))
        await host.stop(within: .zero)
    }
}
