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

    /// Whether so many sleep by a clock, within a time that is long for a machine under load.
    private static func sleep(_ count: Int, by clock: ManualClock) async -> Bool {
        await withTaskGroup(of: Bool.self) { group in
            group.addTask {
                await clock.sleepers(atLeast: count)
                return !Task.isCancelled
            }
            group.addTask {
                try? await Task.sleep(for: .seconds(20))
                return false
            }
            defer { group.cancelAll() }
            return await group.next() ?? false
        }
    }

    @Test func `holds for added and for migrated systems at once`() async throws {
        let clock = ManualClock()
        let host = try Host(
            graph: try graph(Self.system("old")), effects: EffectCatalogue([]), time: .manual(clock),
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        host.start()
        let next = try graph(Self.system("old", "unhandled: warn"), Self.system("added"))
        let applying = Task { try await host.apply(next, readyLimit: .seconds(30)) }
        // One wait for each group, not one after the other.
        let areBothWaitedFor = await Self.sleep(2, by: clock)
        #expect(areBothWaitedFor)
        clock.advance(by: .seconds(30))
        if !areBothWaitedFor, await Self.sleep(1, by: clock) { clock.advance(by: .seconds(30)) }
        #expect(try await applying.value.late == ["added", "old"])
        #expect(clock.now.offset == .seconds(30))
        await host.stop(within: .zero)
    }
}
