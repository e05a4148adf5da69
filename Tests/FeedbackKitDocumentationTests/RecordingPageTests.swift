import FeedbackKit
import Foundation
import Testing

// snippet: system
func replayed(_ room: System, from json: Data) async throws -> any State {
    let decoder = JSONDecoder()
    decoder.userInfo[.eventCodec] = codec
    decoder.userInfo[.stateCodec] = places
    decoder.userInfo[.applicationVersion] = "1.0"
    let recording = try decoder.decode(SystemRecording.self, from: json)
    // At once; `.original` keeps the pauses, `.times(10)` makes them a tenth as long.
    let replay = try SystemReplay(recording, transitions: room.transitions)
    _ = await replay.run(pace: .immediately)
    defer { replay.system.cancel() }
    return replay.system.state
}

func recorded(_ room: System, while events: () async -> Void) async throws -> Data? {
    let recorder = SystemRecorder(room, events: codec, states: places)
    recorder.start()
    room.start()
    await events()
    let recording = try await recorder.stop(application: "1.0")
    return try recording.map { try JSONEncoder().encode($0) }
}

let codec = EventCodec { Opened.self }
let places = StateCodec {
    Shut.self
    Open.self
}
struct Shut: State, Codable {}
struct Open: State, Codable { var by: String }
struct Opened: Event, Codable { var by: String }
// end

func coded(_ recording: Recording<Int, String>) throws -> Recording<Int, String> {
    let json = try JSONEncoder().encode(recording)
    return try JSONDecoder().decode(Recording<Int, String>.self, from: json)
}

@Suite(.timeLimit(.minutes(5))) struct `The page about recordings` {
    @Test func `a store's recording is the same after its way through JSON`() async throws {
        let store = BaseStore<Int, Never, String>(
            state: 0, reducer: Reducer { $0 += $1.count }, publishOn: .sendersThread)
        store.startRecording()
        store.dispatch(sync: "four")
        let recording = try #require(await store.stopRecording(application: "1.0"))
        let again = try coded(recording)
        #expect(again.initial == 0)
        #expect(again.entries.map(\.actions) == [["four"]])
        await store.stop()
    }

    @Test func `records a system, and replays it to the same state`() async throws {
        let door = System {
            InitialState { Shut() }
            Transitions {
                From(Shut.self) { On(Opened.self, transitionTo: Open.self) { opened in Open(by: opened.by) } }
            }
        }
        door.execute(on: .sendersThread)
        let json = try #require(try await recorded(door) { door.send(Opened(by: "me")) })
        let end = try await replayed(door, from: json)
        #expect((end as? Open)?.by == "me")
        let other = String(decoding: json, as: UTF8.self).replacing("\"1.0\"", with: "\"2.0\"")
        await #expect(throws: RecordingError.self) { _ = try await replayed(door, from: Data(other.utf8)) }
        await door.stop()
    }
}
