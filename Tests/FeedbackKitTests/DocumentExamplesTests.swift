import FeedbackKit
import Testing

private struct VolumeState: State, Equatable { let value: Int }
private struct IncreaseEvent: Event {}
private struct DecreaseEvent: Event {}
private struct LoadingState: State {}
private struct LoadedState: State, Equatable { let data: Int }
private struct LoadEvent: Event { let data: Int }
private struct LoadedDoneEvent: Event {}
private struct LoadedEvent: Event { let data: Int }
private struct DoneState: State {}

/// The examples of the Feedbacks documentation, with functions in the place of publishers.
@Suite(.timeLimit(.minutes(1)))
struct `The examples of the Feedbacks documentation` {
    private func speaker(from volume: Int, to targetedVolume: Int) -> System {
        System {
            InitialState {
                VolumeState(value: volume)
            }
            Feedbacks {
                Feedback(on: VolumeState.self, strategy: .continueOnNewState) { state in
                    if state.value >= targetedVolume {
                        return nil
                    }
                    return IncreaseEvent()
                }
                Feedback(on: VolumeState.self, strategy: .continueOnNewState) { state in
                    if state.value <= targetedVolume {
                        return nil
                    }
                    return DecreaseEvent()
                }
            }
            Transitions {
                From(VolumeState.self) { state in
                    On(IncreaseEvent.self, transitionTo: VolumeState(value: state.value + 1))
                    On(DecreaseEvent.self, transitionTo: VolumeState(value: state.value - 1))
                }
            }
        }
    }

    @Test(arguments: [(10, 15), (20, 15), (15, 15)])
    func `the speaker regulates its volume to the target`(from volume: Int, to target: Int) async {
        let system = speaker(from: volume, to: target)
        let states = system.stream
        system.start()
        var seen: [Int] = []
        for await state in states {
            guard let state = state as? VolumeState else { continue }
            seen.append(state.value)
            if state.value == target { break }
        }
        let step = volume <= target ? 1 : -1
        #expect(seen == Array(stride(from: volume, through: target, by: step)))
        #expect(system.snapshot.counters.unhandled == 0)
        await system.stop()
    }

    @Test func `the same speaker with async side effects`() async {
        let system = System {
            InitialState { VolumeState(value: 10) }
            Feedbacks {
                Feedback(on: VolumeState.self, strategy: .continueOnNewState) { state in
                    await Task.yield()
                    return state.value >= 15 ? nil : IncreaseEvent()
                }
            }
            Transitions {
                From(VolumeState.self) { state in
                    On(IncreaseEvent.self, transitionTo: VolumeState(value: state.value + 1))
                }
            }
        }
        system.start()
        let last = await first(of: system) { ($0 as? VolumeState)?.value == 15 }
        #expect(last as? VolumeState == VolumeState(value: 15))
        await system.stop()
    }

    private func loader() -> System {
        System {
            InitialState { LoadingState() }
            Feedbacks {
                Feedback(on: LoadingState.self, strategy: .cancelOnNewState) { _ in
                    AsyncStream<any Event> { continuation in
                        continuation.yield(LoadEvent(data: 42))
                        continuation.finish()
                    }
                }
            }
            Transitions {
                From(LoadingState.self) {
                    On(LoadEvent.self, transitionTo: LoadedState.self) { event in LoadedState(data: event.data) }
                }
            }
        }
    }

    private func receiver() -> System {
        System {
            InitialState { LoadingState() }
            Transitions {
                From(LoadingState.self) {
                    On(LoadedDoneEvent.self, transitionTo: DoneState())
                    On(LoadedEvent.self, transitionTo: LoadedState.self) { event in LoadedState(data: event.data) }
                }
            }
        }
    }

    @Test func `two systems attached through a mediator`() async {
        let mediator = PassthroughMediator<Int>()
        let systemA = loader().attach(
            to: mediator, onSystemState: LoadedState.self, emitMediatorValue: { _ in 1701 })
        let systemB = receiver().attach(
            to: mediator, onMediatorValue: 1701, emitSystemEvent: { _ in LoadedDoneEvent() })
        systemB.start()
        await settled(systemB.loop)  // a passthrough mediator keeps nothing for those who come late
        systemA.start()
        #expect(await first(of: systemB) { $0 is DoneState } != nil)
        await systemA.stop()
        await systemB.stop()
    }

    @Test func `two systems attached to each other`() async {
        let systemA = loader()
        let systemB = receiver()
        systemA.attach(
            to: systemB,
            onSystemStateType: LoadedState.self,
            emitAttachedSystemEvent: { stateFromA in
                LoadedEvent(data: stateFromA.data)
            }
        )
        systemA.start()
        systemB.start()
        let state = await first(of: systemB) { $0 is LoadedState }
        #expect(state as? LoadedState == LoadedState(data: 42))
        await systemA.stop()
        await systemB.stop()
    }
}
