import FeedbackKit
import FeedbackKitOpenCombine
import FeedbackKitTesting
import OpenCombine
import Testing

// MARK: "How to make Systems communicate?"

private struct LoadedDoneEvent: Event {}
private struct LoadedEvent: Event { let data: String }
private struct ReceivedState: State, Equatable { let data: String }

extension FeedbacksDocumentTests {
    /// Completes the document's `System { … }`: loads at once, by a publisher or by an async function.
    private static func loader(_ form: Int) -> System {
        System {
            InitialState { LoadingState(page: 1) }
            Feedbacks { bothForms[form] }
            Transitions { loadingRules }
        }
    }

    /// Completes the document's `System { … }`: records that the other one has loaded.
    private static func receiver() -> System {
        System {
            InitialState { IdleState() }
            Transitions {
                From(IdleState.self) { _ in
                    On(LoadedDoneEvent.self, transitionTo: ReceivedState(data: "done"))
                    On(LoadedEvent.self, transitionTo: ReceivedState.self) { ReceivedState(data: $0.data) }
                }
            }
        }
    }

    @Test(arguments: 0..<2) func `two systems communicate through a mediator`(form: Int) async {
        let mediator = PassthroughMediator<Int>()
        let log = Log<Int>()
        let watching = mediator.subject.sink { log.add($0) }
        let systemA = Self.loader(form)
            .attach(to: mediator, onSystemState: LoadedState.self, emitMediatorValue: { _ in 1701 })
        let systemB = Self.receiver()
            .attach(to: mediator, onMediatorValue: 1701, emitSystemEvent: { _ in LoadedDoneEvent() })
        // B has subscribed before its first state. The mediator keeps no earlier value for it.
        _ = await systemB.states { $0 is IdleState }
        mediator.send(1)  // Another value causes no event.
        systemA.start()
        let states = await systemB.states { $0 is ReceivedState }
        #expect(states.last as? ReceivedState == ReceivedState(data: "done"))
        #expect(log.entries == [1, 1701])
        await systemA.stop()
        await systemB.stop()
        watching.cancel()
    }

    @Test(arguments: 0..<2) func `a mediator with memory reaches a system that starts late`(form: Int) async {
        let mediator = CurrentValueMediator(0)
        let systemA = Self.loader(form)
            .attach(to: mediator, onSystemState: LoadedState.self, emitMediatorValue: { _ in 1701 })
        _ = await systemA.states { $0 is LoadedState }
        await systemA.stop()
        #expect(mediator.value == 1701)
        let systemB = Self.receiver()
            .attach(to: mediator, onMediatorValue: 1701, emitSystemEvent: { _ in LoadedDoneEvent() })
        _ = await systemB.states { $0 is ReceivedState }
        await systemB.stop()
    }

    @Test(arguments: 0..<2) func `a system is attached to a system`(form: Int) async {
        let systemA = Self.loader(form)
        let systemB = Self.receiver()
        systemA.attach(
            to: systemB,
            onSystemStateType: LoadedState.self,
            emitAttachedSystemEvent: { stateFromA in
                LoadedEvent(data: stateFromA.data)
            }
        )
        systemA.start()
        let states = await systemB.states { $0 is ReceivedState }
        #expect(states.last as? ReceivedState == ReceivedState(data: "1"))
        await systemA.stop()
        await systemB.stop()
    }
}
