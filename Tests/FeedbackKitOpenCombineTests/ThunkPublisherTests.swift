import Dispatch
import FeedbackKit
import FeedbackKitOpenCombine
import OpenCombine
import OpenCombineDispatch
import Testing

@Suite(.timeLimit(.minutes(5)))
struct ThunkPublisherTests {
    private typealias Store = BaseStore<Int, String, Int>
    private static let add = Reducer<Int, Int> { $0 += $1 }

    @Test func `a thunk answers with a publisher, whose actions are taken as they come`() async {
        let values = PassthroughMediator<Int>()
        let subject = values.subject
        let thunk = Thunk<Int, Int, String, Void> { state, action, _ in
            subject.map { .sync($0) }.prepend(.sync(100))
        }
        let store = Store(state: 0, reducer: Self.add, thunk: thunk, publishOn: .sendersThread)
        let dispatch = store.dispatch(async: "go")
        #expect(store.state == 100)
        subject.send(10)
        #expect(store.state == 110)
        subject.send(completion: .finished)
        #expect(await dispatch.value == .finished)
        await store.stop()
    }

    @Test func `cancelling the dispatch cancels the publisher`() async {
        let values = PassthroughMediator<Int>()
        let thunk = Thunk<Int, Int, String, Void> { _, _, _ -> ThunkOutput<String, Int> in
            .publisher { values.publisher.map { EitherAction<String, Int>.sync($0) } }
        }
        let store = Store(state: 0, reducer: Self.add, thunk: thunk, publishOn: .sendersThread)
        let dispatch = store.dispatch(async: "go")
        #expect(values.snapshot.subscribers == 1)
        dispatch.cancel()
        #expect(await dispatch.value == .cancelled)
        #expect(values.snapshot.subscribers == 0)
        values.send(1)
        #expect(store.state == 0)
        await store.stop()
    }

    @Test func `the state of a thunk is a publisher that delivers the state once, when the work is done`() async {
        let ready = PassthroughMediator<Void>()
        let subject = ready.subject
        let thunk = Thunk<Int, Int, String, Void> { state, _, _ in
            subject.first().flatMap { state }.map { EitherAction<String, Int>.sync($0) }
        }
        let store = Store(state: 1, reducer: Self.add, thunk: thunk, publishOn: .sendersThread)
        let dispatch = store.dispatch(async: "double")
        store.dispatch(sync: 4)
        subject.send(())
        #expect(await dispatch.value == .finished)
        #expect(store.state == 10)
        await store.stop()
    }

    @Test func `a store without environment publishes on its scheduler`() async {
        let queue = DispatchQueue(label: "store")
        let key = DispatchSpecificKey<Bool>()
        queue.setSpecific(key: key, value: true)
        let places = Log<Bool>()
        for store in [
            Store(state: 0, reducer: Self.add, publishOn: queue),
            Store(
                state: 0,
                reducer: Reducer<Int, Int, Void> { (state: inout Int, action: Int, _: Void) in state += action },
                publishOn: queue),
        ] {
            let watching = store.publisher.sink { _ in places.add(DispatchQueue.getSpecific(key: key) == true) }
            await store.dispatch(sync: 1).ended()
            watching.cancel()
            await store.stop()
        }
        #expect(places.entries == [true, true, true, true])
    }
}
