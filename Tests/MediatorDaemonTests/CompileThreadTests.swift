import MediatorConfiguration
import MediatorControl
import MediatorDaemon
import Synchronization
import Testing

/// Compiling a configuration keeps a processor busy for long, so it does not take a thread of the pool on which systems run.
@Suite(.timeLimit(.minutes(5))) struct `The thread that compiles` {
    /// For each time that a value was looked up, whether that was on such a thread.
    private final class Looks: Sendable {
        private let looks = Mutex<[Bool]>([])

        func take() -> [Bool] {
            looks.withLock { looks in
                defer { looks = [] }
                return looks
            }
        }

        func note(_ look: Bool) { looks.withLock { $0.append(look) } }
    }

    private static let lamp = """
        system: lamp
        states: { Off: {} }
        initialState: Off
        feedbacks: { say: { onState: Off, log: !env WORD } }

        """

    @Test func `is one of its own for plans and reloads`() async throws {
        let looks = Looks()
        let values = ExternalValues(environment: { _ in
            looks.note(CompileThread.isPresent)
            return "light"
        })
        let fixture = try await ServedFixture(["lamp.yaml": Self.lamp], values: values)
        #expect(looks.take() == [false])
        let client = try await fixture.client()
        _ = try await client.plan()
        #expect(looks.take() == [true])
        try fixture.write(Self.lamp.replacing("Off", with: "Dark"), to: "lamp.yaml")
        #expect(try await client.reload().applied)
        #expect(looks.take() == [true])
        await fixture.end()
    }
}
