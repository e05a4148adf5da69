import FeedbackKit
import Synchronization
import Testing

private struct A: State, Equatable { var value = 0 }
private struct B: State, Equatable { var text = "" }
private struct C: State, Equatable {}
private struct Go: Event {}
private struct Put: Event { let value: Int }
private struct Other: Event {}
private struct Renamed: State { static var identity: String { "stable" } }
private struct Wrapped<Content: Sendable>: State {}

@Suite struct `The rules of a state machine` {
    @Test func `the most specific rule decides and a disabled one is passed over`() {
        let disabled = Mutex(Set<String>())
        let off: @Sendable (String) -> Bool = { name in disabled.withLock { $0.contains(name) } }
        let transitions = Transitions {
            From(AnyState.self) { _ in
                On(AnyEvent.self, transitionTo: B(text: "any any")).disable { off("any any") }
                On(Go.self, transitionTo: B(text: "any go")).disable { off("any go") }
            }
            From(A.self) { state in
                On(AnyEvent.self, transitionTo: B(text: "a\(state.value) any")).disable { off("a any") }
                On(Go.self, transitionTo: B(text: "a\(state.value) go")).disable { off("a go") }
            }
        }
        func next() -> String? { (transitions.next(from: A(value: 7), on: Go()) as? B)?.text }
        #expect(next() == "a7 go")
        disabled.withLock { _ = $0.insert("a go") }
        #expect(next() == "a7 any")
        disabled.withLock { _ = $0.insert("a any") }
        #expect(next() == "any go")
        disabled.withLock { _ = $0.insert("any go") }
        #expect(next() == "any any")
        disabled.withLock { _ = $0.insert("any any") }
        #expect(next() == nil)
    }

    @Test func `rules see the state and the event`() {
        let transitions = Transitions {
            From(A.self) { state in
                On(Put.self, transitionTo: A.self) { event in A(value: state.value + event.value) }
                On(Go.self, transitionTo: C.self) { C() }
            }
        }
        #expect(transitions.next(from: A(value: 1), on: Put(value: 2)) as? A == A(value: 3))
        #expect(transitions.next(from: A(), on: Go()) is C)
        #expect(transitions.next(from: C(), on: Go()) == nil)
        #expect(transitions.next(from: A(), on: Other()) == nil)
    }

    @Test func `a wildcard rule sees the event`() {
        let transitions = Transitions {
            From(A.self) {
                On(AnyEvent.self, transitionTo: B.self) { event in B(text: "\(type(of: event))") }
            }
        }
        #expect(transitions.next(from: A(), on: Other()) as? B == B(text: "Other"))
    }

    @Test func `builders accept if, switch and for`() {
        let withGo = true
        let froms = [From(B.self) { On(Go.self, transitionTo: C()) }]
        let transitions = Transitions {
            if withGo {
                From(A.self) { state in
                    if state.value > 10 {
                        On(Go.self, transitionTo: B(text: "high"))
                    } else {
                        On(Go.self, transitionTo: B(text: "low"))
                    }
                    switch state.value {
                    case 0: On(Other.self, transitionTo: B(text: "zero"))
                    default: On(Other.self, transitionTo: C())
                    }
                    if state.value == 5 { On(Put.self, transitionTo: B(text: "five")) }
                }
            }
            for from in froms { from }
        }
        #expect(transitions.next(from: A(value: 11), on: Go()) as? B == B(text: "high"))
        #expect(transitions.next(from: A(value: 1), on: Go()) as? B == B(text: "low"))
        #expect(transitions.next(from: A(value: 0), on: Other()) as? B == B(text: "zero"))
        #expect(transitions.next(from: A(value: 1), on: Other()) is C)
        #expect(transitions.next(from: A(value: 5), on: Put(value: 0)) as? B == B(text: "five"))
        #expect(transitions.next(from: A(value: 6), on: Put(value: 0)) == nil)
        #expect(transitions.next(from: B(), on: Go()) is C)
    }

    @Test func `a state decided at run time`() {
        let transitions = Transitions {
            From(A.self) { state in
                On(Go.self, transitionTo: state.value > 0 ? B() as any State : C())
            }
        }
        #expect(transitions.next(from: A(value: 1), on: Go()) is B)
        #expect(transitions.next(from: A(value: 0), on: Go()) is C)
        #expect(transitions.descriptions.map(\.to) == ["any"])
    }

    @Test func `rules can be drawn without a state at hand`() {
        let transitions = Transitions {
            From(Renamed.self) { On(Go.self, transitionTo: C()) }
            From(AnyState.self) { _ in On(AnyEvent.self, transitionTo: Renamed()) }
        }
        #expect(
            transitions.descriptions.map(\.description) == [
                "stable -- FeedbackKitTests.\(Go.identity.dropFirst("FeedbackKitTests.".count)) --> \(C.identity)",
                "any -- any --> stable",
            ])
    }

    @Test func `the names of private and local types are the same in each process`() {
        struct Local: State {}
        let transitions = Transitions {
            From(A.self) { On(Go.self, transitionTo: B()) }
            From(Wrapped<B>.self) { On(Go.self, transitionTo: A()) }
            From(B.self) { On(Go.self, transitionTo: Local()) }
        }
        #expect(
            transitions.descriptions.map(\.description) == [
                "FeedbackKitTests.A -- FeedbackKitTests.Go --> FeedbackKitTests.B",
                "FeedbackKitTests.Wrapped<FeedbackKitTests.B> -- FeedbackKitTests.Go --> FeedbackKitTests.A",
                "FeedbackKitTests.B -- FeedbackKitTests.Go --> \(Local.identity)",
            ])
        #expect(Local.identity.contains("Local"))
        #expect(!Local.identity.contains("$"))
    }

    @Test func `disable switches a whole group or machine off`() {
        let off = Mutex(false)
        let transitions = Transitions {
            From(A.self) { On(Go.self, transitionTo: B()) }.disable { off.withLock { $0 } }
            From(AnyState.self) { _ in On(Go.self, transitionTo: C()) }
        }
        #expect(transitions.next(from: A(), on: Go()) is B)
        off.withLock { $0 = true }
        #expect(transitions.next(from: A(), on: Go()) is C)
        #expect(transitions.disable { true }.next(from: A(), on: Go()) == nil)
    }

    @Test func `two rules for one pair stop the program when the system is built`() async {
        await #expect(processExitsWith: .failure) {
            _ = Transitions {
                From(A.self) { On(Go.self, transitionTo: B()) }
                From(A.self) { On(Go.self, transitionTo: C()) }
            }
        }
        await #expect(processExitsWith: .failure) {
            _ = Transitions {
                From(A.self) {
                    On(Go.self, transitionTo: B())
                    On(Go.self, transitionTo: C())
                }
            }
        }
    }
}
