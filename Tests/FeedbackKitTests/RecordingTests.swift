import FeedbackKit
import FeedbackKitTesting
import Foundation
import TestSupport
import Testing

@Suite struct RecordingTests {
    typealias TallyRecording = Recording<Tally, TallyAction>

    /// A recording of three batches at 0, 1.5 and 4 seconds, of a store that was not at zero.
    func record(on clock: ManualClock) async throws -> (TallyRecording, Tally) {
        let store = tallyStore(clock: clock)
        await store.dispatch(sync: .add(100)).ended()
        store.startRecording()
        #expect(store.isRecording)
        await store.dispatch(sync: .add(1), .note("one")).ended()
        clock.advance(by: .milliseconds(1_500))
        await store.dispatch(async: .emit([.add(10)])).ended()
        clock.advance(by: .milliseconds(2_500))
        store.dispatch(sync: .note("end"))
        let recording = await store.stopRecording(application: "1.4.2", fingerprint: { "\($0.total)" })
        #expect(!store.isRecording)
        return (try #require(recording), store.state)
    }

    @Test func `a recording has the actions as the reducer saw them, with their times`() async throws {
        let (recording, final) = try await record(on: ManualClock())
        #expect(recording.initial == Tally(total: 100))
        #expect(
            recording.entries == [
                .init(at: 0, actions: [.add(1), .note("one")]),
                .init(at: 1_500_000_000, actions: [.add(10)]),
                .init(at: 4_000_000_000, actions: [.note("end")]),
            ])
        #expect(recording.duration == .seconds(4) && recording.actionCount == 4)
        #expect(recording.isComplete && recording.fingerprint == "111")
        #expect(final == Tally(total: 111, log: ["one", "end"]))
    }

    @Test func `recorded, saved to a file, loaded and replayed, it reaches an equal state`() async throws {
        let (recording, final) = try await record(on: ManualClock())
        let file = FileManager.default.temporaryDirectory.appending(path: "recording-\(UUID()).json")
        defer { try? FileManager.default.removeItem(at: file) }
        try JSONEncoder().encode(recording).write(to: file)
        let decoder = JSONDecoder()
        decoder.userInfo[.applicationVersion] = "1.4.2"
        let loaded = try decoder.decode(TallyRecording.self, from: Data(contentsOf: file))
        #expect(loaded == recording)
        let store = tallyStore(Tally(total: -7))
        let result = await store.replay(loaded, pace: .immediately, fingerprint: { "\($0.total)" })
        #expect(result.outcome == .finished)
        #expect(result.progress == .init(played: 3, total: 3))
        #expect(store.state == final)
    }

    @Test(arguments: [(ReplayPace.original, 1), (.times(2), 2), (.times(0.5), 0)])
    func `it is replayed at the original pace, faster, or slower`(pace: ReplayPace, factor: Int) async throws {
        let (recording, final) = try await record(on: ManualClock())
        let clock = ManualClock()
        let store = tallyStore(clock: clock)
        let played = Record<Int>()
        async let replay = store.replay(recording, pace: pace, progress: { played.add($0.played) })
        let seconds = factor == 0 ? 2.0 : 1.0 / Double(factor)
        await clock.nextDeadline(in: .seconds(1.5 * seconds))
        #expect(clock.nextDeadline?.offset == .seconds(1.5 * seconds))
        #expect(played.values == [1] && store.state.total == 101)
        clock.advance(by: .seconds(1.5 * seconds) - .nanoseconds(1))
        #expect(played.values == [1])
        clock.advance(by: .nanoseconds(1))
        await clock.nextDeadline(in: .seconds(2.5 * seconds))
        #expect(clock.nextDeadline?.offset == .seconds(4 * seconds))
        #expect(played.values == [1, 2] && store.state.total == 111)
        clock.advance(by: .seconds(2.5 * seconds))
        #expect(await replay.outcome == .finished)
        #expect(store.state == final)
        #expect(clock.nextDeadline == nil)
    }

    @Test func `dispatch is locked during a replay, and open after it`() async throws {
        let (recording, _) = try await record(on: ManualClock())
        let clock = ManualClock()
        let gates = TallyGates()
        let store = tallyStore(gates: gates, clock: clock)
        let running = store.dispatch(async: .both("thunk"))
        await until(store) { $0.log == ["thunk begins"] }
        async let replay = store.replay(recording)
        await clock.nextDeadline(in: .milliseconds(1_500))
        #expect(store.isReplaying)
        #expect(store.dispatch(sync: .add(5)).result == .locked)
        #expect(await store.dispatch(async: .chain(3)).value == .refused(.locked))
        #expect(store.lensing(state: \.total).dispatch(sync: .add(5)).result == .locked)
        #expect(await store.replay(recording).outcome == .refused(.locked))
        gates["thunk"].open()
        #expect(await running.value == .cancelled)
        clock.advance(by: .seconds(10))
        #expect(await replay.outcome == .finished)
        #expect(store.state == Tally(total: 111, log: ["one", "end"]))
        #expect(!store.isReplaying)
        #expect(await store.dispatch(sync: .add(1)).value == .finished)
        #expect(store.state.total == 112)
    }

    @Test func `whatever is dispatched meanwhile, a replay reaches the recorded state`() async throws {
        let entries = (0..<200).map { Recording<Tally, TallyAction>.Entry(at: Int64($0), actions: [.add($0)]) }
        let recording = TallyRecording(
            application: "", initial: Tally(total: 7), entries: entries, fingerprint: "\(7 + 200 * 199 / 2)")
        let store = tallyStore()
        for _ in 0..<20 {
            await withTaskGroup(of: ReplayResult?.self) { group in
                for _ in 0..<4 {
                    group.addTask {
                        for _ in 0..<200 {
                            store.dispatch(sync: .add(1_000_000))
                            store.dispatch(async: .chain(2))
                            await store.dispatch(serially: true, collect: true, async: .chain(1)).ended()
                        }
                        return nil
                    }
                }
                group.addTask {
                    await store.replay(recording, pace: .immediately, fingerprint: { "\($0.total)" })
                }
                for await result in group where result != nil { #expect(result?.outcome == .finished) }
            }
        }
    }

    @Test func `a replay passes by middleware, hook and thunk`() async throws {
        let recording = Recording<Int, Int>(
            application: "", initial: nil, entries: [.init(at: 0, actions: [1, 2]), .init(at: 5, actions: [3])])
        let called = Record<Int>()
        let store = BaseStore<Int, Int, Int>(
            state: 10, reducer: Reducer<Int, Int> { $0 += $1 },
            thunk: Thunk { (_, action, _) -> [EitherAction<Int, Int>] in
                called.add(action)
                return []
            },
            middleware: Middleware { (_, action, _) in
                called.add(action)
                return [action * 1_000]
            }, sideEffect: StoreSideEffect { called.add($0.count) })
        let (before, after) = (Record<[Int]>(), Record<[Int]>())
        let subscriptions = [
            store.watchActions(.beforeMiddleware, { before.add($0) }),
            store.watchActions(.afterMiddleware, { after.add($0) }),
        ]
        #expect(await store.replay(recording, pace: .immediately).outcome == .finished)
        #expect(store.state == 16)
        #expect(called.values.isEmpty && before.values.isEmpty)
        #expect(after.values == [[1, 2], [3]])
        withExtendedLifetime(subscriptions) {}
    }

    @Test func `a cancelled replay stops where it is, unlocks, and leaves no sleeper`() async throws {
        let (recording, _) = try await record(on: ManualClock())
        let clock = ManualClock()
        let store = tallyStore(clock: clock)
        let task = Task { await store.replay(recording) }
        await clock.nextDeadline(in: .milliseconds(1_500))
        task.cancel()
        let result = await task.value
        #expect(result.outcome == .cancelled)
        #expect(result.progress == .init(played: 1, total: 3))
        #expect(clock.nextDeadline == nil)
        #expect(store.state.total == 101)
        #expect(await store.dispatch(sync: .add(1)).value == .finished)
        #expect(store.state.total == 102)
    }

    @Test func `a replay into a stopped store is refused, and an impossible pace too`() async throws {
        let (recording, _) = try await record(on: ManualClock())
        let store = tallyStore()
        for pace in [ReplayPace.times(0), .times(-1), .times(.nan), .times(.infinity)] {
            guard case .failed(let error) = await store.replay(recording, pace: pace).outcome else {
                Issue.record("a pace of \(pace) was accepted")
                continue
            }
            #expect(error.code == .invalidPace)
        }
        #expect(ReplayPace.times(1e-300) != .original)
        await store.stop()
        #expect(await store.replay(recording).outcome == .refused(.dropped(.stopped)))
    }

    @Test func `a replay with a different final state reports it`() async throws {
        let (recording, _) = try await record(on: ManualClock())
        let store = BaseStore<Tally, TallyWork, TallyAction>(
            state: Tally(), reducer: Reducer<Tally, TallyAction> { state, _ in state.total = 5 })
        let result = await store.replay(recording, pace: .immediately, fingerprint: { "\($0.total)" })
        #expect(result.outcome == .diverged(expected: "111", found: "5"))
    }

    @Test func `a long recording is replayed into a small mailbox`() async throws {
        let entries = (0..<5_000).map { Recording<Int, Int>.Entry(at: Int64($0), actions: [$0]) }
        for overflow in [Overflow.dropNewest, .dropOldest, .keepLatest, .block] {
            let store = BaseStore<Int, Never, Int>(
                state: 0, reducer: Reducer<Int, Int> { $0 += $1 }, mailboxLimit: 2, overflow: overflow)
            let result = await store.replay(
                Recording<Int, Int>(application: "", initial: 7, entries: entries), pace: .immediately)
            #expect(result.outcome == .finished)
            #expect(store.state == 7 + 5_000 * 4_999 / 2)
        }
    }

    @Test func `a full recording stops, or lets its oldest actions go and moves its beginning on`() async throws {
        let store = tallyStore()
        store.startRecording(limit: 10)
        for _ in 0..<25 { store.dispatch(sync: .add(1)) }
        let beginning = try #require(await store.stopRecording() as TallyRecording?)
        #expect(!beginning.isComplete && beginning.initial?.total == 0 && beginning.actionCount == 10)
        store.startRecording(limit: 10, overflow: .dropOldest)
        for _ in 0..<25 { store.dispatch(sync: .add(1)) }
        store.dispatch(sync: .add(1), .add(1), .add(1))
        let end = try #require(await store.stopRecording() as TallyRecording?)
        #expect(end.isComplete && end.initial?.total == 25 + 18 && end.actionCount == 10)
        let other = tallyStore()
        await other.replay(end, pace: .immediately)
        #expect(other.state == store.state)
    }

    @Test func `a recording of a state that cannot be saved begins with the store's first one`() async throws {
        struct Opaque: Equatable, Sendable { var value = 3 }
        let reducer = Reducer<Opaque, Int> { $0.value += $1 }
        let store = BaseStore<Opaque, Never, Int>(state: Opaque(), reducer: reducer)
        store.startRecording()
        store.dispatch(sync: 1, 2)
        let recording = try #require(await store.stopRecording())
        let data = try JSONEncoder().encode(recording)
        let loaded = try JSONDecoder().decode(Recording<Never, Int>.self, from: data)
        let other = BaseStore<Opaque, Never, Int>(state: Opaque(), reducer: reducer)
        await other.dispatch(sync: 99).ended()
        await other.replay(loaded, pace: .immediately)
        #expect(other.state == store.state)
    }

    @Test func `a replay during a recording restarts the recording`() async throws {
        let (recording, _) = try await record(on: ManualClock())
        let store = tallyStore()
        store.startRecording()
        store.dispatch(sync: .add(1_000))
        await store.replay(recording, pace: .immediately)
        let again = try #require(await store.stopRecording() as TallyRecording?)
        #expect(again.initial == recording.initial)
        #expect(again.entries.map(\.actions) == recording.entries.map(\.actions))
    }

    @Test func `another version is refused with a message that names both and the remedy`() async throws {
        let (recording, _) = try await record(on: ManualClock())
        let text = String(decoding: try JSONEncoder().encode(recording), as: UTF8.self)
        let decoder = JSONDecoder()
        decoder.userInfo[.applicationVersion] = "2.0"
        func message(_ text: String) -> String {
            do {
                _ = try decoder.decode(TallyRecording.self, from: Data(text.utf8))
                return "decoded"
            } catch {
                return "\(error)"
            }
        }
        #expect(
            message(text) == """
                the recording was made by version "1.4.2" of the application, and this is version "2.0"; replay it \
                with version "1.4.2", or record it again
                """)
        #expect(
            message(text.replacing("\"formatVersion\":1", with: "\"formatVersion\":7")) == """
                the recording is in version 7 of the format feedbackkit.recording, and this FeedbackKit reads version \
                1; read it with the FeedbackKit that wrote it, or a newer one
                """)
        #expect(
            message(text.replacing("\"formatVersion\":1", with: "\"formatVersion\":0")) == """
                the recording is in version 0 of the format feedbackkit.recording, and this FeedbackKit reads version \
                1; write it again with this FeedbackKit
                """)
        #expect(
            message(text.replacing("feedbackkit.recording", with: "something else")) == """
                this is not a recording: its format is "something else", and it must be "feedbackkit.recording"; \
                check the file
                """)
        #expect(
            message("{}") == """
                this is not a recording: it names no format, and it must be "feedbackkit.recording"; check \
                the file
                """)
        decoder.userInfo[.applicationVersion] = nil
        #expect(message(text) == "decoded")
        #expect(
            message(text.replacing("\"at\":0", with: "\"at\":-5"))
                == "entry 0 of the recording is at -5 ns, before its beginning")
        #expect(throws: RecordingError.self) { try recording.check(application: "1.4.3") }
        try recording.check(application: "1.4.2")
    }

    @Test func `the JSON is as documented`() throws {
        let recording = Recording<Tally, Int>(
            application: "1", initial: Tally(total: 1), entries: [.init(at: 1_500_000_000, actions: [1, 2])],
            fingerprint: "x")
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        #expect(
            String(decoding: try encoder.encode(recording), as: UTF8.self) == """
                {"application":"1","entries":[{"actions":[1,2],"at":1500000000}],"fingerprint":"x",\
                "format":"feedbackkit.recording","formatVersion":1,"initial":{"log":[],"total":1},"isComplete":true}
                """)
    }
}
