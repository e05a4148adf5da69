import CommonExpression
import Dispatch
import Glibc
import MediatorConfiguration
import MediatorEffectTesting
import MediatorHost
import Synchronization
import Testing
import TestSupport

/// A side effect made of functions, most of which break a rule.
private struct Made: EffectImplementation {
    var schema: EffectSchema = Made.outline()
    var end: @Sendable () async -> Void = {}
    var body: @Sendable (EffectContext) async -> Void

    static let result = StructureType(name: "result", fields: [.init(name: "count", type: .int)])

    static func outline(isLasting: Bool = false, shortForm: String? = "text") -> EffectSchema {
        EffectSchema(
            name: "made", parameters: [.init(name: "text", type: .string, required: true, allowsEmpty: false)],
            shortForm: shortForm,
            outcomes: [.init(name: "onDone", result: result), .init(name: "onOther", result: result)],
            isLasting: isLasting)
    }

    func run(_ arguments: [String: Value], in context: EffectContext) async { await body(context) }
    func shutDown() async { await end() }
}

extension EffectContext {
    fileprivate func done(_ name: String = "onDone") {
        report(name, .structure(Structure(type: Made.result, fields: [.int(1)])))
    }

    /// Waits until the run is cancelled.
    fileprivate func last() async {
        let (nothing, _) = AsyncStream<Never>.makeStream()
        for await _ in nothing {}
    }
}

@Suite(.serialized, .timeLimit(.minutes(5))) struct `The check of side effects` {
    /// Returns the flaws that are found.
    ///
    /// - Parameter limit: The limit on a run and its cancellation. It is short for a side effect that does not end, because the
    ///   check waits for it, and long for any other, because the machine may be busy.
    private func flaws(
        _ effect: Made, arguments: [String: Value] = ["text": .string("a")], outcomes: Set<String> = ["onDone"],
        memoryLimit: Int = 1 << 30, limit: Duration = .seconds(60)
    ) async -> [EffectFlaw] {
        var check = EffectCheck(effect, arguments: arguments, outcomes: outcomes)
        check.runLimit = limit
        check.cancellationLimit = limit
        check.settleLimit = .zero
        check.memoryLimit = memoryLimit
        return await check.flaws()
    }

    /// The broken rules, without those on leftovers: other tests may run at the same time.
    private func rules(_ flaws: [EffectFlaw]) -> Set<EffectFlaw.Rule> { Set(flaws.map(\.rule)).subtracting([.remains]) }

    @Test func `finds nothing where nothing is wrong`() async {
        let brief = await flaws(Made { $0.done() })
        #expect(rules(brief) == [], "\(brief)")
        let lasting = await flaws(
            Made(schema: Made.outline(isLasting: true)) { context in
                context.done()
                await context.last()
            })
        #expect(rules(lasting) == [], "\(lasting)")
    }

    @Test func `finds a schema that no configuration can use`() async {
        let result = StructureType(name: "result", fields: [.init(name: "a-b", type: .int)])
        let schema = EffectSchema(
            name: "onState",
            parameters: [
                .init(name: "text", type: .string), .init(name: "text", type: .int, default: .string("x")),
                .init(name: "low", type: .int, required: true, default: .int(1), choices: ["a"], upperBound: "high"),
            ], shortForm: "word", outcomes: [.init(name: "after", result: result)])
        let found = await flaws(Made(schema: schema) { $0.done() }, arguments: [:], outcomes: [])
        #expect(
            Set(found.filter { $0.rule == .schema }.map(\.message)) == [
                "'onState' cannot name a side effect", "there are two of a parameter named 'text'",
                "'a-b' cannot name a field of the outcome 'after'",
                "the outcome 'after' has the name of something else in a feedback",
                "the parameter 'text' has a default of another type",
                "the parameter 'low' must be given, and has a default",
                "the parameter 'low' has choices, and is no text",
                "the parameter 'low' has a bound, 'high', that is no parameter",
                "it speaks of the parameter 'word', which there is not",
            ], "\(found)")
    }

    @Test func `finds that it is not given what the schema wants`() async {
        for arguments in [[:], ["text": .int(1)], ["text": .string("a"), "more": .int(1)]] as [[String: Value]] {
            let found = await flaws(Made { $0.done() }, arguments: arguments)
            #expect(rules(found) == [.arguments], "\(found)")
        }
        let found = await flaws(Made { $0.done() }, outcomes: ["onDine"])
        #expect(rules(found) == [.arguments])
    }

    @Test func `finds outcomes that are none`() async {
        let made: [(Made, String)] = [
            (Made { $0.report("onElse", .null) }, "reported 'onElse'"),
            (Made { $0.report("onDone", .int(1)) }, "does not have the fields"),
            (
                Made {
                    $0.report("onDone", .structure(Structure(type: Made.result, fields: [.string("1")])))
                }, "the field 'count' of onDone is int"
            ),
            (Made { $0.done("onOther") }, "was to report onDone, and reported onOther"),
            (Made { _ in }, "and reported nothing"),
            (Made { $0.fail("no wire") }, "could not do its work: no wire"),
        ]
        for (effect, message) in made {
            let found = await flaws(effect)
            #expect(found.contains { $0.rule == .outcomes && $0.message.contains(message) }, "\(message): \(found)")
        }
    }

    @Test func `finds what is told after the end`() async {
        // The first of two that run at the same time tells once more when the second one runs.
        let before = Mutex<EffectContext?>(nil)
        let found = await flaws(
            Made(schema: Made.outline(isLasting: true)) { context in
                let last = before.withLock { last in
                    defer { last = context }
                    return last
                }
                last?.done()
                context.done()
                await context.last()
            })
        #expect(found.contains { $0.rule == .outcomes && $0.message.contains("after it had ended") }, "\(found)")
    }

    @Test func `finds what does not end, or ends too early`() async {
        let endless = await flaws(
            Made { context in
                context.done()
                await context.last()
            }, limit: .milliseconds(500))
        #expect(rules(endless) == [.ending], "\(endless)")
        let early = await flaws(Made(schema: Made.outline(isLasting: true)) { $0.done() })
        #expect(rules(early).isSuperset(of: [.ending]), "\(early)")
    }

    @Test func `finds what does not heed cancellation`() async {
        let (nothing, end) = AsyncStream<Never>.makeStream()
        let found = await flaws(
            Made(schema: Made.outline(isLasting: true)) { context in
                context.done()
                // Nobody cancels this task; it ends with the test.
                await Task.detached { for await _ in nothing {} }.value
            }, limit: .milliseconds(500))
        #expect(rules(found) == [.cancellation], "\(found)")
        end.finish()
    }

    @Test func `finds descriptors, processes and threads that are left`() async {
        let descriptors = await flaws(
            Made { context in
                _ = open("/dev/null", O_RDONLY | O_CLOEXEC)
                context.done()
            })
        #expect(descriptors.contains { $0.rule == .remains && $0.message.contains("descriptors") }, "\(descriptors)")
        let started = Mutex<[pid_t]>([])
        let processes = await flaws(
            Made { context in
                var pid = pid_t()
                let arguments = [strdup("sleep"), strdup("60"), nil]
                if posix_spawnp(&pid, "sleep", nil, nil, arguments, environ) == 0 {
                    started.withLock { $0.append(pid) }
                }
                for argument in arguments { free(argument) }
                context.done()
            })
        #expect(processes.contains { $0.rule == .remains && $0.message.contains("child processes") }, "\(processes)")
        for pid in started.withLock({ $0 }) {
            kill(pid, SIGKILL)
            waitpid(pid, nil, 0)
        }
        let semaphore = ThreadSemaphore()
        let count = Mutex(0)
        let threads = await flaws(
            Made { context in
                count.withLock { $0 += 1 }
                DispatchQueue(label: "left").async { semaphore.wait() }
                context.done()
            })
        #expect(threads.contains { $0.rule == .remains && $0.message.contains("threads") }, "\(threads)")
        for _ in 0..<count.withLock({ $0 }) { semaphore.signal() }
    }

    @Test func `finds memory that each run takes`() async {
        let kept = Mutex<[[UInt8]]>([])
        let found = await flaws(
            Made { context in
                kept.withLock { $0.append(Array(repeating: 1, count: 1 << 20)) }
                context.done()
            }, memoryLimit: 4 << 20)
        #expect(rules(found) == [.growth], "\(found)")
        kept.withLock { $0 = [] }
    }

    @Test func `finds that two disturb each other`() async {
        let isBusy = Mutex(false)
        let found = await flaws(
            Made { context in
                let isFirst = isBusy.withLock { busy in
                    defer { busy = true }
                    return !busy
                }
                guard isFirst else { return context.fail("it is busy") }
                // One that is alone must end by itself, so it can wait for the other only so long.
                try? await context.clock.sleep(for: .milliseconds(50))
                isBusy.withLock { $0 = false }
                context.done()
            })
        #expect(rules(found).contains(.concurrency), "\(found)")
        // One that is ended takes the other along.
        let all = Mutex<[Task<Void, Never>]>([])
        let shared = await flaws(
            Made(schema: Made.outline(isLasting: true)) { context in
                context.done()
                let task = Task { await context.last() }
                all.withLock { $0.append(task) }
                await withTaskCancellationHandler {
                    await task.value
                } onCancel: {
                    for task in all.withLock({ $0 }) { task.cancel() }
                }
            })
        #expect(rules(shared).contains(.concurrency), "\(shared)")
    }

    @Test func `finds what does not run after it was shut down`() async {
        let ends = Mutex(0)
        let found = await flaws(
            Made(
                end: { ends.withLock { $0 += 1 } },
                body: { context in
                    // Between the checks it is shut down once at a time, here twice.
                    if ends.withLock({ $0 }) >= 6 { return context.fail("it was shut down") }
                    context.done()
                }))
        #expect(rules(found) == [.shutDown], "\(found)")
    }
}
