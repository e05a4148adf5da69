import CommonExpression
import Logging
import MediatorHost
import Testing

/// The log lines of requests.
@Suite(.timeLimit(.minutes(5))) struct `A request in the log` {
    private let lines = Lines()
    private let fixture: HostFixture

    init() async throws {
        let text = """
            system: lamp
            states: { Off: {}, On: {} }
            events: { Go: {} }
            fromOutside: any
            initialState: Off
            transitions: { Off: { Go: On }, On: { Go: Off } }
            ---
            buses: { light: { kind: passthrough, value: int, fromOutside: write } }
            links: { take: { attach: lamp, to: light, emitEvent: Go } }

            """
        fixture = try HostFixture(text, logger: lines.logger(.info))
        fixture.host.start()
        await fixture.settle()
    }

    private func announcement(_ message: String) -> Announcement {
        Announcement { [lines] in
            lines.note(Lines.Line(message: message, level: .info, file: "", metadata: [:], details: [:]))
        }
    }

    /// The messages of requests and transitions.
    private var messages: [String] { lines.all.map(\.message).filter { $0.hasPrefix("asked") || $0.contains(" → ") } }

    @Test func `comes before its effect, and once`() async throws {
        let first = announcement("asked to emit")
        try fixture.host.emit("Go", to: "lamp", fields: [], by: nil, announcing: first)
        await fixture.settle()
        // Nobody but the loop has written it.
        #expect(messages == ["asked to emit", "Off → On"])
        first.make()
        let second = announcement("asked to publish")
        try fixture.host.publish(.int(1), on: "light", by: nil, announcing: second)
        await fixture.settle()
        second.make()
        #expect(messages.dropFirst(2) == ["asked to publish", "On → Off"])
        let third = announcement("asked to reset")
        try fixture.host.reset("lamp", by: nil, announcing: third)
        await fixture.settle()
        #expect(messages.count { $0 == "asked to reset" } == 1)
        await fixture.host.stop(within: .zero)
    }

    @Test func `is not written if the request is refused`() async throws {
        let refused = announcement("asked")
        #expect(throws: HostError.self) {
            try fixture.host.emit("Go", to: "lamb", fields: [], by: nil, announcing: refused)
        }
        #expect(throws: HostError.self) {
            try fixture.host.publish(.string("1"), on: "light", by: nil, announcing: refused)
        }
        await fixture.host.stop(within: .zero)
        #expect(throws: HostError.self) {
            try fixture.host.emit("Go", to: "lamp", fields: [], by: nil, announcing: refused)
        }
        #expect(throws: HostError.self) { try fixture.host.reset("lamp", by: nil, announcing: refused) }
        #expect(messages == [])
    }
}
