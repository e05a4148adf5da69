import CommonExpression
import FeedbackKitTesting
import Logging
import MediatorConfiguration
import MediatorHost
import Synchronization
import Testing
import TestSupport

/// A run of a side effect that begins or ends.
private struct Happening: Hashable {
    enum Kind { case began, ended, cancelled }
    var kind: Kind
    var feedback: String
    /// The number of the state that asked for it.
    var number: Int
}

/// A side effect that takes the given time.
private struct NoteEffect: EffectImplementation {
    let told: AsyncStream<Happening>.Continuation

    let schema = EffectSchema(
        name: "note",
        parameters: [
            .init(name: "number", type: .int, required: true), .init(name: "for", type: .duration),
        ])

    func run(_ arguments: [String: Value], in context: EffectContext) async {
        guard case .int(let value)? = arguments["number"] else { return }
        let number = Int(value)
        told.yield(Happening(kind: .began, feedback: context.feedback, number: number))
        var isCancelled = false
        if case .duration(let span)? = arguments["for"] {
            isCancelled = (try? await context.clock.sleep(for: span.swiftDuration)) == nil
        }
        told.yield(Happening(kind: isCancelled ? .cancelled : .ended, feedback: context.feedback, number: number))
    }
}

/// A random feedback that waits, and the model of its waits and runs.
private struct Model {
    enum Schedule: Equatable { case after, debounce, throttle, at }
    enum Mode: String, CaseIterable { case parallel, single, queued, restart }
    struct Run {
        var number: Int
        var key: Int
        var end: Duration
    }

    let name: String
    let schedule: Schedule
    let delay: Duration
    let length: Duration
    let maxWait: Duration?
    let states: [String]
    let isKeyed: Bool
    let goesOn: Bool
    let mode: Mode
    var waits: [Int: (due: Duration, number: Int)] = [:]
    /// When the first request was put off of which one waits.
    var since: [Int: Duration] = [:]
    var rests: [Int: Duration] = [:]
    var runs: [Run] = []
    var queue: [Run] = []

    static let stateNames = ["A", "B", "C"]

    init(_ index: Int, _ random: inout SplitMix64) {
        name = "f\(index)"
        let schedules: [Schedule] = [.after, .debounce, .throttle, .at]
        schedule = schedules[Int.random(in: 0..<4, using: &random)]
        delay = .microseconds(Int.random(in: 500_000...4_000_000, using: &random))
        // The next tick is waited for when the run of the one before has ended, which is another matter.
        length =
            schedule == .at || Bool.random(using: &random)
            ? .zero : .microseconds(Int.random(in: 500_000...9_000_000, using: &random))
        states = Array(Self.stateNames.shuffled(using: &random).prefix(Int.random(in: 1...2, using: &random)))
        maxWait =
            schedule == .debounce && Bool.random(using: &random)
            ? delay + .microseconds(Int.random(in: 0...4_000_000, using: &random)) : nil
        goesOn = schedule == .debounce || Bool.random(using: &random)
        isKeyed = goesOn && schedule != .at && Bool.random(using: &random)
        mode = goesOn ? Mode.allCases.randomElement(using: &random) ?? .parallel : .parallel
    }

    var text: String {
        func text(_ span: Duration) -> String { "\(Int(span / .microseconds(1)))us" }
        let schedule =
            switch schedule {
            case .after: "after: \(text(delay))"
            case .debounce: "debounce: \(text(delay))" + (maxWait.map { ", maxWait: \(text($0))" } ?? "")
            case .throttle: "throttle: \(text(delay))"
            case .at: "at: \"*:*:0/5\""
            }
        return "  \(name): { onState: [\(states.joined(separator: ", "))], \(schedule)"
            + (goesOn ? ", strategy: continueOnNewState, mode: \(mode.rawValue)" : "")
            + (isKeyed ? ", key: \"${state.key}\"" : "")
            + ", note: { number: \"${state.number}\"\(length > .zero ? ", for: \(text(length))" : "") } }"
    }

    /// The state `name` is entered.
    mutating func enter(_ name: String, _ number: Int, _ key: Int, at now: Duration) -> [Happening] {
        var happenings: [Happening] = []
        if !goesOn {
            happenings = runs.map { Happening(kind: .cancelled, feedback: self.name, number: $0.number) }
            runs = []
        }
        guard states.contains(name) else {
            (waits, since) = ([:], [:])
            return happenings
        }
        let key = isKeyed ? key : 0
        switch schedule {
        case .after: waits[key] = (now + delay, number)
        case .debounce:
            let first = since[key] ?? now
            waits[key] = (min(now + delay, maxWait.map { first + $0 } ?? .seconds(1_000_000)), number)
            since[key] = first
        case .throttle:
            waits[key] = nil
            if let rest = rests[key], rest > now {
                waits[key] = (rest, number)
            } else {
                rests[key] = now + delay
                happenings += begin(number, key, at: now)
            }
        case .at: waits[key] = (Self.tick(after: now), number)
        }
        return happenings
    }

    /// The first tick after a time, which is counted from a moment 20 s after a full minute.
    static func tick(after now: Duration) -> Duration {
        .seconds((now.components.seconds / 5 + 1) * 5)
    }

    /// Everything happens that is due now.
    mutating func fire(at now: Duration) -> [Happening] {
        var happenings: [Happening] = []
        for run in runs where run.end <= now {
            happenings.append(Happening(kind: .ended, feedback: name, number: run.number))
            runs.removeAll { $0.number == run.number && $0.key == run.key }
            if let index = queue.firstIndex(where: { $0.key == run.key }) {
                let next = queue.remove(at: index)
                happenings += begin(next.number, next.key, at: now)
            }
        }
        for (key, wait) in waits where wait.due <= now {
            waits[key] = schedule == .at ? (Self.tick(after: now), wait.number) : nil
            since[key] = nil
            if schedule == .throttle { rests[key] = now + delay }
            let more = begin(wait.number, key, at: now)
            happenings += more
        }
        return happenings
    }

    private mutating func begin(_ number: Int, _ key: Int, at now: Duration) -> [Happening] {
        var happenings: [Happening] = []
        if runs.contains(where: { $0.key == key }) {
            switch mode {
            case .parallel: break
            case .single: return []
            case .queued:
                queue.append(Run(number: number, key: key, end: now))
                return []
            case .restart:
                happenings += runs.filter { $0.key == key }
                    .map { Happening(kind: .cancelled, feedback: name, number: $0.number) }
                runs.removeAll { $0.key == key }
            }
        }
        happenings.append(Happening(kind: .began, feedback: name, number: number))
        if length > .zero {
            runs.append(Run(number: number, key: key, end: now + length))
        } else {
            happenings.append(Happening(kind: .ended, feedback: name, number: number))
        }
        return happenings
    }

    /// When something happens next.
    var next: Duration? { (waits.values.map(\.due) + runs.map(\.end)).min() }
}

@Suite(.timeLimit(.minutes(20))) struct `The waits of random feedbacks` {
    @Test(arguments: 1...(20 * soakFactor))
    func `last exactly as long as their states`(seed: Int) async throws {
        var random = SplitMix64(seed: UInt64(seed))
        var models = (0..<Int.random(in: 1...4, using: &random)).map { Model($0, &random) }
        let (stream, told) = AsyncStream<Happening>.makeStream()
        let clock = ManualClock()
        let begin = try #require(Timestamp(seconds: 1_700_000_000, nanoseconds: 0))
        @Sendable func moment(_ offset: Duration) -> Timestamp { begin.advanced(by: offset) ?? begin }
        let effects = EffectCatalogue([NoteEffect(told: told)])
        let text = """
            system: a
            states: { Begin: {}, A: { number: int, key: int }, B: { number: int, key: int }, C: { number: int, key: int } }
            events:
              A: { number: int, key: int }
              B: { number: int, key: int }
              C: { number: int, key: int }
            fromOutside: any
            initialState: Begin
            feedbacks:
            \(models.map(\.text).joined(separator: "\n"))
            transitions:
              any:
                A: { to: A, set: { number: "${event.number}", key: "${event.key}" } }
                B: { to: B, set: { number: "${event.number}", key: "${event.key}" } }
                C: { to: C, set: { number: "${event.number}", key: "${event.key}" } }

            """
        let host = try Host(
            graph: try graph(text, effects: effects.schemas), effects: effects,
            time: HostTime.settling(clock) { moment(clock.now.offset) },
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        host.start()
        var happenings = stream.makeAsyncIterator()
        for step in 1...80 {
            let now = clock.now.offset
            var expected: [Happening] = []
            let next = models.compactMap(\.next).min()
            // A tick that is less than a millisecond away may count as missed.
            if let next, Int.random(in: 0..<3, using: &random) > 0 || next - now <= .milliseconds(1) {
                // To the next thing that happens, or to a moment before.
                let span = Int((next - now) / .nanoseconds(1))
                let part = Bool.random(using: &random) ? span : Int.random(in: 1...span, using: &random)
                clock.advance(by: .nanoseconds(part))
                for index in models.indices { expected += models[index].fire(at: clock.now.offset) }
            } else {
                // Nothing becomes due on the way.
                let room = next.map { Int(($0 - now) / .nanoseconds(1)) - 1 } ?? 1_000
                clock.advance(by: .nanoseconds(min(room, Int.random(in: 1...1_000, using: &random))))
                let state = Model.stateNames[Int.random(in: 0..<3, using: &random)]
                let key = Int.random(in: 1...2, using: &random)
                try host.emit(state, to: "a", fields: [.int(Int64(step)), .int(Int64(key))])
                for index in models.indices {
                    expected += models[index].enter(state, step, key, at: clock.now.offset)
                }
            }
            await host.settled()
            var seen: [Happening] = []
            while seen.count < expected.count, let happening = await happenings.next() { seen.append(happening) }
            let dues: [String: Timestamp] = models.reduce(into: [:]) { dues, model in
                dues[model.name] = model.waits.values.map { moment($0.due) }.min()
            }
            try #require(Set(seen) == Set(expected), "in step \(step) of\n\(text)")
            let status = try host.systemStatus("a")
            try #require(status.nextRuns == dues, "in step \(step) of\n\(text)")
            for model in models {
                let runs = status.runs(of: model.name)
                let count = model.waits.count + model.runs.count + model.queue.count
                try #require(runs.running + runs.waiting == count, "\(model.name) in step \(step) of\n\(text)")
            }
            let due = models.compactMap(\.next).min()
            try #require(clock.nextDeadline?.offset == due, "in step \(step) of\n\(text)")
        }
        #expect(try host.systemStatus("a").faults == 0)
        await host.stop(within: .zero)
        told.finish()
        // Nothing has begun that was not expected.
        while let more = await happenings.next() { #expect(more.kind == .cancelled) }
    }
}
