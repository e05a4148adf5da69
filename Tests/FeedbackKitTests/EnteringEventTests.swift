import FeedbackKit
import Testing

private struct Idle: State {}
private struct Note: Event { let text: String }

/// `Feedbacks.onEventEmitted` receives every event that enters a system.
@Suite struct `Events that enter a system` {
    private func makeSystem(_ seen: Record<String>) -> System {
        System {
            InitialState { Idle() }
            Feedbacks {
                Feedback(on: Idle.self, strategy: .continueOnNewState) { _ in Note(text: "feedback") }
                    .onEventEmitted { seen.add("own \(($0 as? Note)?.text ?? "")") }
            }
            .onEventEmitted { seen.add("first \(($0 as? Note)?.text ?? "")") }
            .onEventEmitted { seen.add("second \(($0 as? Note)?.text ?? "")") }
            Transitions {}
        }.execute(on: .sendersThread)
    }

    private func twice(_ text: String) -> [String] { ["first \(text)", "second \(text)"] }

    @Test func `from a feedback`() {
        let seen = Record<String>()
        makeSystem(seen).start()
        #expect(seen.values == ["own feedback"] + twice("feedback"))
    }

    @Test func `from mediators, other systems, and senders`() {
        let (seen, ignored) = (Record<String>(), Record<String>())
        let (before, after) = (PassthroughMediator<String>(), PassthroughMediator<String>())
        let system = makeSystem(seen).attach(to: before) { Note(text: $0) }
        let other = makeSystem(ignored).attach(to: system, onSystemStateType: Idle.self) { _ in Note(text: "other") }
        system.start()
        system.attach(to: after, onMediatorValue: "after") { Note(text: $0) }
        before.send("before")
        after.send("after")
        after.send("not this")
        other.start()
        system.send(Note(text: "sent"))
        system.uiSystem().emit(Note(text: "user"))
        #expect(
            seen.values == ["own feedback"]
                + ["feedback", "before", "after", "other", "sent", "user"].flatMap(twice))
        #expect(ignored.values == ["own feedback"] + twice("feedback"))
    }

    @Test func `a system keeps no other alive through its closures`() {
        let seen = Record<String>()
        weak var released: System?
        let source = makeSystem(Record<String>())
        do {
            let system = makeSystem(seen)
            released = system
            source.attach(to: system, onSystemStateType: Idle.self) { _ in Note(text: "other") }
        }
        #expect(released == nil)
        source.start()
        #expect(seen.values.isEmpty)
    }
}
