import FeedbackKit
import MediatorConfiguration
import MediatorHost
import Testing

@Suite struct `Feedbacks written in Swift` {
    @Test func `are shown with the state that they answer, whatever their names are`() throws {
        let kind = try TypedKind<any State, any Event, SpeakerParameters>.system(
            "named", description: nil, parameters: SpeakerParameters.self, defaults: SpeakerParameters(),
            states: [VolumeState.self, MutedState.self], events: [MuteEvent.self]
        ) { parameters in
            System {
                InitialState { VolumeState(value: parameters.volume) }
                Feedbacks {
                    Feedback(name: "hush", on: VolumeState.self, strategy: .cancelOnNewState) {
                        (_: VolumeState) -> (any Event)? in nil
                    }
                    Feedback(on: MutedState.self, strategy: .cancelOnNewState) { (_: MutedState) -> (any Event)? in nil
                    }
                    Feedback(name: "look", on: AnyState.self, strategy: .cancelOnNewState) {
                        (_: any State) -> (any Event)? in nil
                    }
                }
                Transitions {
                    From(VolumeState.self) { _ in
                        On(MuteEvent.self, transitionTo: MutedState())
                    }
                }
            }
        }
        let feedbacks = try KindFixture("system: kitchen\nkind: named\n", also: [kind]).host.systemStatus("kitchen")
            .definition.feedbacks
        #expect(feedbacks.map(\.name) == ["hush", "on MutedState", "look"])
        #expect(feedbacks.map(\.selector.text) == ["VolumeState", "MutedState", "any"])
    }

    @Test func `cannot stop their system, because only the host does`() async throws {
        let kind = try TypedKind<any State, any Event, SpeakerParameters>.system(
            "stopper", description: nil, parameters: SpeakerParameters.self, defaults: SpeakerParameters(),
            states: [VolumeState.self], events: [MuteEvent.self]
        ) { parameters in
            System {
                InitialState { VolumeState(value: parameters.volume) }
                Feedbacks {
                    Feedback(on: VolumeState.self, strategy: .continueOnNewState) {
                        (_: VolumeState, send: Send<any Event>) async in
                        send.beginStop()
                    }
                }
                Transitions {}
            }
        }
        let fixture = try KindFixture("system: kitchen\nkind: stopper\n", also: [kind])
        fixture.host.start()
        for await _ in fixture.host.healthChanges where try fixture.host.systemStatus("kitchen").faults > 0 { break }
        let status = try fixture.host.systemStatus("kitchen")
        #expect(
            status.lastFault?.message
                == "a side effect cannot stop the system, only its owner can; enter a final state instead")
        #expect(status.lastFault?.place == "feedback on VolumeState, kind stopper")
        #expect(status.loop.phase == .running)
        await fixture.host.stop(within: .seconds(1))
    }
}
