import FeedbackKit
import FeedbackKitTesting
import Testing

private struct Volume: State, Equatable {
    var value: Int
}
private struct Silent: State {
    var reason: String
}
private struct Increase: Event {}
private struct Mute: Event {
    var reason: String
}
private struct Refresh: Event {}
private struct Unknown: Event {}

private let transitions = Transitions {
    From(Volume.self) { volume in
        On(Increase.self, transitionTo: Volume(value: volume.value + 1))
        On(Mute.self, transitionTo: Silent.self) { Silent(reason: $0.reason) }
        On(Refresh.self, transitionTo: volume)
    }
}

@Suite struct `Assertions on transitions` {
    @Test func `hold if the transitions match`() {
        let messages = failures {
            transitions.assertThat(from: Volume(value: 10), on: Increase(), newStateIs: Volume(value: 11))
            transitions.assertThat(
                from: Volume(value: 1), on: Mute(reason: "night"), newStateIs: Silent(reason: "night"))
            transitions.assertThatStateIsUnchanged(from: Volume(value: 1), on: Unknown())
            transitions.assertThatStateIsUnchanged(from: Silent(reason: ""), on: Increase())
            System {
                InitialState { Volume(value: 0) }
                transitions
            }.transitions.assertThat(from: Volume(value: 0), on: Increase(), newStateIs: Volume(value: 1))
        }
        #expect(messages == [])
    }

    @Test func `name another state with the difference`() {
        let messages = failures {
            transitions.assertThat(from: Volume(value: 10), on: Increase(), newStateIs: Volume(value: 12))
            transitions.assertThat(from: Volume(value: 1), on: Mute(reason: "night"), newStateIs: Silent(reason: "day"))
        }
        #expect(
            messages == [
                """
                from Volume(value: 10), Increase() leads to another state (- expected, + actual):
                  Volume(
                -     value: 12
                +     value: 11
                  )
                """,
                """
                from Volume(value: 1), Mute(reason: "night") leads to another state (- expected, + actual):
                  Silent(
                -     reason: "day"
                +     reason: "night"
                  )
                """,
            ])
    }

    @Test func `name a state of another type`() {
        let messages = failures {
            transitions.assertThat(from: Volume(value: 10), on: Increase(), newStateIs: Silent(reason: "x"))
        }
        #expect(
            messages == [
                "from Volume(value: 10), Increase() leads to a state of another type: "
                    + "expected Silent(reason: \"x\"), got Volume(value: 11)"
            ])
    }

    @Test func `name an event that is not handled`() {
        let messages = failures {
            transitions.assertThat(from: Volume(value: 10), on: Unknown(), newStateIs: Volume(value: 11))
        }
        #expect(
            messages == [
                "no transition from Volume(value: 10) handles Unknown(); expected the new state Volume(value: 11)"
            ])
    }

    @Test func `do not take an equal state for an unchanged one`() {
        let messages = failures {
            transitions.assertThatStateIsUnchanged(from: Volume(value: 10), on: Refresh())
            transitions.assertThatStateIsUnchanged(from: Volume(value: 10), on: Increase())
        }
        #expect(
            messages == [
                "a transition from Volume(value: 10) handles Refresh() and leads to an equal state, which is a new "
                    + "state nevertheless: feedbacks see it, and side effects that new states cancel are restarted; "
                    + "remove the rule, or assert the state with newStateIs",
                """
                from Volume(value: 10), Increase() leads to a new state, expected none (- before, + after):
                  Volume(
                -     value: 10
                +     value: 11
                  )
                """,
            ])
    }
}
