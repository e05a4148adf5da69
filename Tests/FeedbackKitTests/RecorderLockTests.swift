import FeedbackKit
import FeedbackKitTesting
import Foundation
import Synchronization
import Testing
import TestSupport

@Suite struct RecorderLockTests {
    struct Number: FeedbackKit.State, Codable, Equatable { var value = 0 }
    struct Add: Event, Codable {}
    /// Calls a function when it is released.
    final class OnRelease: Sendable {
        private let body: @Sendable () -> Void
        init(_ body: @escaping @Sendable () -> Void) { self.body = body }
        deinit { body() }
    }

    /// A clock that calls a function on each reading.
    struct AskedClock: Clock {
        let base = ManualClock()
        let asked: @Sendable () -> Void
        var now: ManualClock.Instant {
            asked()
            return base.now
        }
        var minimumResolution: Duration { base.minimumResolution }
        func sleep(until deadline: ManualClock.Instant, tolerance: Duration?) async throws {
            try await base.sleep(until: deadline, tolerance: tolerance)
        }
    }

    /// Returns whether a function on another thread returns while this thread waits for it. The caller is not on the
    /// concurrency pool.
    static func returns(_ body: @escaping @Sendable () -> Void) -> Bool {
        let done = ThreadSemaphore()
        Thread.detachNewThread {
            body()
            done.signal()
        }
        return done.wait(seconds: 5)
    }

    func makeSystem(clock: any Clock<Duration>, _ reduced: @escaping @Sendable () -> Void) -> System {
        System(clock: clock) {
            InitialState { Number() }
            Transitions {
                From(Number.self) { state -> On<Add, Number> in
                    reduced()
                    return On(Add.self, transitionTo: Number(value: state.value + 1))
                }
            }
        }.execute(on: .sendersThread)
    }

    @Test func `a recorder that moves its beginning on asks the transitions nothing`() async throws {
        let reduced = Counter()
        let system = makeSystem(clock: ManualClock()) { reduced.add(1) }
        let events = EventCodec { Add.self }
        let recorder = SystemRecorder(system, events: events, states: StateCodec { Number.self })
        recorder.start(limit: 3, overflow: .dropOldest)
        system.start()
        for _ in 0..<10 { system.send(Add()) }
        #expect(reduced.value == 10)
        let recording = try #require(await recorder.stop(fingerprint: { "\(($0 as? Number)?.value ?? -1)" }))
        #expect(reduced.value == 10)
        #expect(recording.entries.count == 3)
        #expect((recording.initial?.state as? Number) == Number(value: 7))
        #expect(recording.fingerprint == "10")
        system.cancel()
    }

    @Test func `a recorder reads its clock outside its lock`() async {
        let recorder = Mutex<SystemRecorder?>(nil)
        let blocked = Counter()
        let isOn = Atomic(false)
        let clock = AskedClock {
            guard isOn.exchange(false, ordering: .sequentiallyConsistent) else { return }
            let known = recorder.withLock { $0 }
            if !Self.returns({ known?.start() }) { blocked.add(1) }
        }
        let system = makeSystem(clock: clock) {}
        let made = SystemRecorder(system, events: EventCodec { Add.self })
        recorder.withLock { $0 = made }
        made.start()
        system.start()
        isOn.store(true, ordering: .sequentiallyConsistent)
        await onThreads(1) { _ in system.send(Add()) }
        let wasRead = !isOn.load(ordering: .sequentiallyConsistent)
        #expect(wasRead)
        #expect(blocked.value == 0)
        system.cancel()
    }

    @Test func `a recorder releases states and events outside its lock`() async {
        struct Holder: FeedbackKit.State { var held: OnRelease? }
        struct Put: Event { var held: OnRelease? }
        let recorder = Mutex<SystemRecorder?>(nil)
        let released = Counter()
        let blocked = Counter()
        let system = System {
            InitialState { Holder() }
            Transitions {
                From(Holder.self) { _ in On(Put.self, transitionTo: Holder.self) { Holder(held: $0.held) } }
            }
        }.execute(on: .sendersThread)
        let made = SystemRecorder(system, events: EventCodec {})
        recorder.withLock { $0 = made }
        made.start(limit: 1, overflow: .dropOldest)
        system.start()
        await onThreads(1) { _ in
            for _ in 0..<3 {
                system.send(
                    Put(
                        held: OnRelease {
                            released.add(1)
                            let known = recorder.withLock { $0 }
                            if !Self.returns({ known?.start(limit: 1, overflow: .dropOldest) }) { blocked.add(1) }
                        }))
            }
            for _ in 0..<3 { system.send(Put()) }
        }
        #expect(released.value == 3)
        #expect(blocked.value == 0)
        recorder.withLock { $0 = nil }
        system.cancel()
    }

    @Test func `recordings that begin and end while events come are each whole`() async throws {
        let (sent, taken) = (Counter(), Counter())
        let system = System {
            InitialState { Number() }
            Transitions {
                From(Number.self) { number in
                    On(Add.self, transitionTo: Number.self) { _ in
                        taken.add(1)
                        return Number(value: number.value + 1)
                    }
                }
            }
        }
        let recorder = SystemRecorder(
            system, events: EventCodec { Add.self }, states: StateCodec { Number.self })
        system.start()
        let senders = (0..<2).map { _ in
            Task {
                while !Task.isCancelled {
                    // The event to be recorded waits behind the events sent before.
                    if sent.value - taken.value < 100 {
                        sent.add(1)
                        system.send(Add())
                    }
                    await Task.yield()
                }
            }
        }
        for round in 0..<200 {
            recorder.start(limit: 1 + round, overflow: .dropOldest)
            if round.isMultiple(of: 3) { recorder.start(limit: 200, overflow: .dropOldest) }
            for _ in 0..<5 { await Task.yield() }
            let stopped = try await recorder.stop(fingerprint: { "\(($0 as? Number)?.value ?? -1)" })
            let recording = try #require(stopped)
            let initial = try #require(recording.initial?.state as? Number)
            #expect("\(initial.value + recording.actionCount)" == recording.fingerprint)
            #expect(recording.entries.map(\.at) == recording.entries.map(\.at).sorted())
        }
        for sender in senders { sender.cancel() }
        await system.stop()
    }

    @Test func `a store's recorder that moves its beginning on asks the reducer nothing`() async throws {
        let reduced = Counter()
        let reducer = Reducer<Int, Int> { (state: inout Int, action: Int) in
            reduced.add(1)
            state += action
        }
        let store = BaseStore<Int, Never, Int>(state: 0, reducer: reducer)
        store.startRecording(limit: 640, overflow: .dropOldest)
        for _ in 0..<5_000 { store.dispatch(sync: 1) }
        let recording = try #require(
            await store.stopRecording(fingerprint: { "\($0)" }) as Recording<Int, Int>?)
        #expect(reduced.value == 5_000)
        let initial = try #require(recording.initial)
        #expect(initial + recording.actionCount == 5_000)
        #expect((631...640).contains(recording.actionCount))
        #expect(recording.fingerprint == "5000")
        let other = BaseStore<Int, Never, Int>(state: 0, reducer: reducer)
        let result = await other.replay(recording, pace: .immediately, fingerprint: { "\($0)" })
        #expect(result.outcome == .finished)
    }
}
