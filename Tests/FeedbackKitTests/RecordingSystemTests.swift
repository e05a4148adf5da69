import FeedbackKit
import FeedbackKitTesting
import Foundation
import Testing

private struct Whispered: Event, Codable { var to: Int }
/// Stands for a private type of another file with the same name.
private struct AlsoWhispered: Event, Codable { static let identity = "FeedbackKitTests.Whispered" }

@Suite struct RecordingSystemTests {
    struct Volume: FeedbackKit.State, Codable, Equatable { var value: Int }
    struct Muted: FeedbackKit.State, Codable, Equatable { var value: Int }
    struct Increase: Event, Codable { var by = 1 }
    struct Mute: Event, Codable { static let identity = "mute" }
    struct Unmute: Event, Codable {}
    struct Turned: Event, Codable { var to: Int }
    struct Ignored: Event {}

    let events = EventCodec {
        Increase.self
        Mute.self
        Unmute.self
        Turned.self
    }
    let states = StateCodec {
        Volume.self
        Muted.self
    }
    let transitions = Transitions {
        From(Volume.self) { state in
            UpdateInPlace(on: Turned.self) { Volume(value: $0.to) }
            On(Increase.self, transitionTo: Volume.self) { Volume(value: state.value + $0.by) }
            On(Mute.self, transitionTo: Muted(value: state.value))
        }
        From(Muted.self) { state in
            On(Unmute.self, transitionTo: Volume(value: state.value))
        }
    }

    /// Returns a system that turns its own volume up to 5.
    func makeSystem(_ clock: any Clock<Duration> = ContinuousClock(), started: Record<Int> = Record()) -> System {
        System(clock: clock) {
            InitialState { Volume(value: 0) }
            Feedbacks {
                Feedback(on: Volume.self, strategy: .continueOnNewState) { (state: Volume) -> (any Event)? in
                    started.add(state.value)
                    return state.value < 5 ? Increase() : nil
                }
            }
            transitions
        }
    }

    func coder() -> JSONDecoder {
        let decoder = JSONDecoder()
        decoder.userInfo[.eventCodec] = events
        decoder.userInfo[.stateCodec] = states
        return decoder
    }

    @Test func `updates in place are recorded and replayed like transitions`() async throws {
        // A clock that stands still: the replay waits for no time.
        let system = makeSystem(ManualClock())
        let recorder = SystemRecorder(system, events: events, states: states)
        system.start()
        _ = await first(of: system) { ($0 as? Volume)?.value == 5 }
        system.send(Turned(to: 7))
        _ = await first(of: system) { ($0 as? Volume)?.value == 7 }
        recorder.start()
        system.send(Turned(to: 8))
        system.send(Turned(to: 9))
        let recording = try #require(await recorder.stop(fingerprint: { String(describing: $0) }))
        #expect(recording.entries.count == 2)
        let replay = try SystemReplay(recording, transitions: system.transitions, clock: ManualClock())
        #expect(replay.system.state as? Volume == Volume(value: 7))
        #expect(await replay.run(fingerprint: { String(describing: $0) }).outcome == .finished)
        #expect(replay.system.state as? Volume == Volume(value: 9))
        await system.stop()
        await replay.system.stop()
    }

    @Test func `a system's events are recorded, saved, loaded, and replayed without its feedbacks`() async throws {
        let clock = ManualClock()
        let started = Record<Int>()
        let system = makeSystem(clock, started: started)
        let recorder = SystemRecorder(system, events: events, states: states)
        recorder.start()
        system.start()
        _ = await first(of: system) { ($0 as? Volume)?.value == 5 }
        // Observers see a state before the recorder does.
        await system.loop.pendingTaken()
        clock.advance(by: .seconds(2))
        system.send(Ignored())
        system.send(Mute())
        system.send(Increase(by: 100))
        system.send(Unmute())
        system.send(Increase(by: 7))
        let recording = try #require(
            await recorder.stop(application: "3", fingerprint: { String(describing: $0) }))
        #expect(recording.entries.map(\.at) == [0, 0, 0, 0, 0] + [2_000_000_000, 2_000_000_000, 2_000_000_000])
        #expect(system.state as? Volume == Volume(value: 12))
        let calls = started.values.count
        let loaded = try coder().decode(SystemRecording.self, from: JSONEncoder().encode(recording))
        let manual = ManualClock()
        let replay = try SystemReplay(loaded, transitions: system.transitions, clock: manual)
        async let result = replay.run(fingerprint: { String(describing: $0) })
        await manual.nextDeadline(in: .seconds(2))
        #expect(replay.system.state as? Volume == Volume(value: 5))
        manual.advance(by: .seconds(2))
        #expect(await result.outcome == .finished)
        #expect(replay.system.state as? Volume == Volume(value: 12))
        #expect(started.values.count == calls)
        await system.stop()
        await replay.system.stop()
    }

    @Test func `an event is saved by the identity of its type`() throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        let data = try encoder.encode(CodedEvent(Mute(), codec: events))
        #expect(String(decoding: data, as: UTF8.self) == #"{"type":"mute","value":{}}"#)
        #expect(try coder().decode(CodedEvent.self, from: data).event is Mute)
    }

    @Test func `an event of a private type is read in another process`() throws {
        let codec = EventCodec { Whispered.self }
        let decoder = JSONDecoder()
        decoder.userInfo[.eventCodec] = codec
        let data = Data(#"{"type":"FeedbackKitTests.Whispered","value":{"to":3}}"#.utf8)
        let coded = try decoder.decode(CodedEvent.self, from: data)
        #expect((coded.event as? Whispered)?.to == 3)
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        #expect(try encoder.encode(coded) == data)
    }

    @Test func `two private types with the same name need identities of their own`() async {
        await #expect(processExitsWith: .failure) {
            _ = EventCodec {
                Whispered.self
                AlsoWhispered.self
            }
        }
    }

    @Test func `an unknown type is refused by name, with those that are known`() async throws {
        let few = EventCodec { Mute.self }
        let system = makeSystem()
        let recorder = SystemRecorder(system, events: few, states: states)
        system.start()
        recorder.start()
        system.send(Increase())
        let identity = String(reflecting: Increase.self)
        let message = """
            the event \(identity) is not in the EventCodec, which knows mute; add the type, or give a known one this \
            identity
            """
        let error = await #expect(throws: RecordingError.self) { try await recorder.stop() }
        #expect(error?.message == message)
        let data = try JSONEncoder().encode(CodedEvent(Increase(), codec: events))
        let decoder = JSONDecoder()
        decoder.userInfo[.eventCodec] = few
        let decoding = #expect(throws: RecordingError.self) { try decoder.decode(CodedEvent.self, from: data) }
        #expect(decoding?.message == message)
        let missing = #expect(throws: RecordingError.self) {
            try JSONDecoder().decode(CodedEvent.self, from: data)
        }
        #expect(
            missing?.message
                == "there is no EventCodec to read or write with: set userInfo[.eventCodec] of the decoder to one")
        await system.stop()
    }

    @Test func `a recording without an initial state needs one`() async throws {
        let recording = SystemRecording(
            application: "", initial: nil, entries: [.init(at: 0, actions: [try CodedEvent(Mute(), codec: events)])])
        let error = #expect(throws: RecordingError.self) { try SystemReplay(recording, transitions: transitions) }
        #expect(error?.code == .missingInitialState)
        let replay = try SystemReplay(recording, transitions: transitions, initial: Volume(value: 4))
        await replay.run(pace: .immediately)
        #expect(replay.system.state as? Muted == Muted(value: 4))
    }

    @Test func `a recorder keeps the end, and its initial state moves on`() async throws {
        let system = makeSystem()
        let recorder = SystemRecorder(system, events: events, states: states)
        system.start()
        _ = await first(of: system) { ($0 as? Volume)?.value == 5 }
        recorder.start(limit: 3, overflow: .dropOldest)
        for _ in 0..<10 { system.send(Increase()) }
        let recording = try #require(await recorder.stop())
        #expect(recording.initial?.state as? Volume == Volume(value: 12))
        #expect(recording.actionCount == 3)
        #expect(try await recorder.stop() == nil)
        await system.stop()
    }

    @Test func `a system goes on from the state in which it was saved`() async throws {
        let system = makeSystem()
        system.start()
        _ = await first(of: system) { ($0 as? Volume)?.value == 5 }
        system.send(Increase(by: 3))
        system.send(Mute())
        _ = await first(of: system) { $0 is Muted }
        let data = try JSONEncoder().encode(system.saved(states: states, application: "1"))
        await system.stop()
        let decoder = coder()
        decoder.userInfo[.applicationVersion] = "1"
        let saved = try decoder.decode(SavedSystemState.self, from: data)
        let started = Record<Int>()
        let next = System(restoring: saved) {
            InitialState { Volume(value: 0) }
            Feedbacks {
                Feedback(on: Volume.self, strategy: .continueOnNewState) { (state: Volume) -> (any Event)? in
                    started.add(state.value)
                    return nil
                }
            }
            transitions
        }
        #expect(next.state as? Muted == Muted(value: 8))
        next.start()
        next.send(Unmute())
        _ = await first(of: next) { $0 is Volume }
        #expect(next.state as? Volume == Volume(value: 8))
        await next.stop()
        #expect(started.values == [8])
    }

    @Test func `a typed state is saved with its version, and migrated from another`() throws {
        struct Old: Codable, Sendable { var count: String }
        let saved = Saved(Tally(total: 9), application: "2.0")
        let data = try JSONEncoder().encode(saved)
        let decoder = JSONDecoder()
        #expect(try decoder.decode(Saved<Tally>.self, from: data) == saved)
        decoder.userInfo[.applicationVersion] = "3.0"
        let error = #expect(throws: RecordingError.self) { try decoder.decode(Saved<Tally>.self, from: data) }
        #expect(
            error?.message == """
                the saved state was made by version "2.0" of the application, and this is version "3.0"; give the \
                decoder a SavedMigration for the old version, or start without it
                """)
        decoder.userInfo[.savedMigration] = SavedMigration<Tally> { version, decoder in
            version == "1.0" ? Tally(total: Int(try Old(from: decoder).count) ?? 0) : nil
        }
        #expect(throws: RecordingError.self) { try decoder.decode(Saved<Tally>.self, from: data) }
        let old = try JSONEncoder().encode(Saved(Old(count: "77"), application: "1.0"))
        let migrated = try decoder.decode(Saved<Tally>.self, from: old)
        #expect(migrated.state == Tally(total: 77) && migrated.application == "3.0")
        #expect(throws: RecordingError.self) {
            try JSONDecoder().decode(Saved<Tally>.self, from: Data(#"{"format":"x"}"#.utf8))
        }
    }

    @Test func `a store goes on from the state in which it was saved`() async throws {
        let store = tallyStore()
        await store.dispatch(sync: .add(4)).ended()
        let data = try JSONEncoder().encode(store.saved())
        let next = tallyStore(try JSONDecoder().decode(Saved<Tally>.self, from: data).state)
        await next.dispatch(sync: .add(1)).ended()
        #expect(next.state.total == 5)
    }
}
