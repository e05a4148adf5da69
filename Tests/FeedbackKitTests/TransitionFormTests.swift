import FeedbackKit
import Testing

/// The forms of a rule, and rules for states that are objects.
@Suite struct TransitionFormTests {
    struct Plain: FeedbackKit.State, Equatable { var text = "" }
    struct Bare: FeedbackKit.State {}
    struct Go: Event, Equatable { var text = "go" }
    struct Stop: Event {}

    // Sendable: it stores nothing. A class that is not final cannot be checked.
    class Base: FeedbackKit.State, @unchecked Sendable {}
    // Sendable: it stores nothing, either.
    class Middle: Base, @unchecked Sendable {}
    // Sendable: it stores nothing, either.
    final class Leaf: Middle, @unchecked Sendable {}

    static func text(_ state: (any State)?) -> String? { (state as? Plain)?.text }

    @Test func `a state whose type is decided when the event comes may be made from the event`() {
        let transitions = Transitions {
            From(Bare.self) {
                On(Go.self, transitionTo: AnyState.self) { event -> any State in
                    event.text.isEmpty ? Bare() : Plain(text: event.text)
                }
                On(AnyEvent.self, transitionTo: AnyState.self) { (event: any Event) -> any State in
                    event is Stop ? Plain(text: "stopped") : Bare()
                }
            }
            From(Plain.self) {
                On(Stop.self, transitionTo: AnyState.self) { () -> any State in Bare() }
            }
        }
        #expect(Self.text(transitions.next(from: Bare(), on: Go(text: "x"))) == "x")
        #expect(transitions.next(from: Bare(), on: Go(text: "")) is Bare)
        #expect(Self.text(transitions.next(from: Bare(), on: Stop())) == "stopped")
        #expect(transitions.next(from: Plain(), on: Stop()) is Bare)
        #expect(transitions.descriptions.map(\.to) == ["any", "any", "any"])
    }

    @Test func `a rule for any event may answer no state`() {
        let transitions = Transitions {
            From(Bare.self) {
                On(AnyEvent.self, transitionTo: Plain.self) { (event: any Event) -> Plain? in
                    event is Stop ? Plain(text: "stopped") : nil
                }
            }
            From(Plain.self) {
                On(AnyEvent.self, transitionTo: AnyState.self) { (event: any Event) -> (any State)? in
                    event is Go ? Bare() : nil
                }
            }
        }
        #expect(Self.text(transitions.next(from: Bare(), on: Stop())) == "stopped")
        #expect(transitions.next(from: Bare(), on: Go()) == nil)
        #expect(transitions.next(from: Plain(), on: Go()) is Bare)
        #expect(transitions.next(from: Plain(), on: Stop()) == nil)
        #expect(transitions.descriptions.map(\.to) == [Plain.identity, "any"])
    }

    @Test func `rules for a class are rules for its subclasses, the nearest first`() {
        let transitions = Transitions {
            From(AnyState.self) { On(AnyEvent.self, transitionTo: Plain(text: "any")) }
            From(Base.self) { (_: Base) in
                On(Go.self, transitionTo: Plain(text: "base go"))
                On(Stop.self, transitionTo: Plain(text: "base stop"))
            }
            From(Middle.self) { On(Go.self, transitionTo: Plain(text: "middle go")) }
        }
        for (state, go, stop) in [
            (Base() as any State, "base go", "base stop"), (Middle(), "middle go", "base stop"),
            (Leaf(), "middle go", "base stop"), (Plain(), "any", "any"),
        ] {
            #expect(Self.text(transitions.next(from: state, on: Go())) == go)
            #expect(Self.text(transitions.next(from: state, on: Stop())) == stop)
        }
    }

    @Test func `a rule for any event from a class comes before the rules of its superclass`() {
        let transitions = Transitions {
            From(Base.self) { On(Go.self, transitionTo: Plain(text: "base")) }
            From(Middle.self) { On(AnyEvent.self, transitionTo: Plain(text: "middle")) }
        }
        #expect(Self.text(transitions.next(from: Leaf(), on: Go())) == "middle")
        #expect(Self.text(transitions.next(from: Base(), on: Go())) == "base")
        #expect(transitions.next(from: Base(), on: Stop()) == nil)
    }

    @Test func `a feedback and a rule agree on which states are of a class`() {
        let seen = Record<Int>()
        let system = System {
            InitialState { Leaf() }
            Feedbacks {
                Feedback(on: Base.self, strategy: .continueOnNewState) { _ in
                    seen.add(1)
                    return Go()
                }
            }
            Transitions { From(Base.self) { On(Go.self, transitionTo: Plain(text: "gone")) } }
        }.execute(on: .sendersThread)
        system.start()
        #expect(seen.values == [1])
        #expect(Self.text(system.state) == "gone")
        system.cancel()
    }
}
