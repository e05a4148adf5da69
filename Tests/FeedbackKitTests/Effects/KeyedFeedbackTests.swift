import FeedbackKit
import Testing

/// A side effect for each value of a part of the state.
@Suite struct `A feedback with a part of the state` {
    private struct Idle: FeedbackKit.State, Equatable {}
    private struct Running: FeedbackKit.State, Equatable {
        var job: Int
        var waiting: [Int] = []
        var results = 0
    }
    private struct Submitted: Event { let job: Int }
    private struct Next: Event {}
    private struct Rest: Event {}
    private struct Done: Event { let job: Int }

    /// The starts and ends of side effects, in their order, and the events that these can send.
    private let log = Record<String>()
    private let senders = Record<Send<any Event>>()
    private let finishers = Record<@Sendable () -> Void>()

    private func system(_ feedback: Feedback<any FeedbackKit.State, any Event>) -> System {
        System {
            InitialState { Idle() }
            Feedbacks { feedback }
            Transitions {
                From(Idle.self) { On(Submitted.self, transitionTo: Running.self) { Running(job: $0.job) } }
                From(Running.self) { running in
                    On(Submitted.self, transitionTo: Running.self) {
                        Running(job: running.job, waiting: running.waiting + [$0.job], results: running.results)
                    }
                    On(Next.self, transitionTo: Running.self) { _ in
                        Running(job: running.waiting.first ?? running.job, waiting: Array(running.waiting.dropFirst()))
                    }
                    On(Done.self, transitionTo: Running.self) { _ in
                        Running(job: running.job, waiting: running.waiting, results: running.results + 1)
                    }
                    On(Rest.self, transitionTo: Idle())
                }
            }
        }.execute(on: .sendersThread)
    }

    private func jobs() -> Feedback<any FeedbackKit.State, any Event> {
        Feedback(on: Running.self, while: \.job) { [log, senders, finishers] running in
            .subscribe { send, finish in
                log.add("start \(running.job)")
                senders.add(send)
                finishers.add(finish)
                return Subscription { log.add("cancel \(running.job)") }
            }
        }
    }

    @Test func `runs one side effect for each value, and cancels it when the value or the state changes`() {
        let system = system(jobs())
        system.start()
        system.send(Submitted(job: 1))
        for job in 2...4 { system.send(Submitted(job: job)) }
        #expect(log.values == ["start 1"])
        system.send(Next())
        #expect(log.values == ["start 1", "cancel 1", "start 2"])
        system.send(Rest())
        system.send(Submitted(job: 2))
        #expect(log.values == ["start 1", "cancel 1", "start 2", "cancel 2", "start 2"])
        system.cancel()
        #expect(log.values.last == "cancel 2" && log.values.count == 6)
    }

    @Test func `takes events of the running side effect, and none of a cancelled one`() {
        let system = system(jobs())
        system.start()
        system.send(Submitted(job: 1))
        system.send(Submitted(job: 2))
        senders.values[0](Done(job: 1))
        #expect((system.state as? Running) == Running(job: 1, waiting: [2], results: 1))
        system.send(Next())
        senders.values[0](Done(job: 1))
        #expect((system.state as? Running) == Running(job: 2))
        senders.values[1](Done(job: 2))
        #expect((system.state as? Running) == Running(job: 2, results: 1))
        system.cancel()
    }

    @Test func `takes the events of a side effect that has ended, also after the part has changed`() {
        let feedback = Feedback(on: Running.self, while: \.job) { (running: Running) -> Effect<any Event> in
            guard running.job == 1 else { return .nothing }
            return .just([Submitted(job: 2), Next(), Done(job: 1)])
        }
        let system = system(feedback)
        system.start()
        system.send(Submitted(job: 1))
        #expect((system.state as? Running) == Running(job: 2, results: 1))
        system.cancel()
    }

    @Test func `runs a function without await on the loop's executor`() {
        let feedback = Feedback(on: Running.self, while: \.job) { [log] (running: Running) -> (any Event)? in
            log.add("\(running.job)")
            return running.job == 1 ? Done(job: 1) : nil
        }
        let system = system(feedback)
        system.start()
        system.send(Submitted(job: 1))
        // On the sender's thread, the function has been called and its event has been taken.
        #expect((system.state as? Running) == Running(job: 1, results: 1))
        #expect(log.values == ["1"])
        system.cancel()
    }

    @Test func `does not start a side effect again that has ended`() {
        let system = system(jobs())
        system.start()
        system.send(Submitted(job: 1))
        finishers.values[0]()
        for job in 2...4 { system.send(Submitted(job: job)) }
        // The end of a subscription cancels it.
        #expect(log.values == ["start 1", "cancel 1"])
        system.send(Next())
        #expect(log.values == ["start 1", "cancel 1", "start 2"])
        system.cancel()
    }

    @Test func `remembers for each system by itself, and is named after its state`() {
        let feedback = jobs()
        #expect(feedback.name.hasPrefix("on ") && feedback.name.hasSuffix(".Running"))
        for _ in 0..<2 {
            let system = system(feedback)
            system.start()
            system.send(Submitted(job: 1))
            system.cancel()
        }
        #expect(log.values == ["start 1", "cancel 1", "start 1", "cancel 1"])
    }

    @Test(.timeLimit(.minutes(20)), arguments: 0..<3)
    func `accepts an async function, one that sends, and a sequence`(form: Int) async {
        let feedback: Feedback<any FeedbackKit.State, any Event> =
            switch form {
            case 0: Feedback(on: Running.self, while: \.job) { (running: Running) async in Done(job: running.job) }
            case 1: Feedback(on: Running.self, while: \.job) { running, send in send(Done(job: running.job)) }
            default:
                Feedback(on: Running.self, while: \.job) { running in
                    AsyncStream<any Event> { continuation in
                        continuation.yield(Done(job: running.job))
                        continuation.finish()
                    }
                }
            }
        let system = system(feedback)
        system.start()
        system.send(Submitted(job: 1))
        for await state in system.stream where (state as? Running)?.results == 1 { break }
        system.send(Submitted(job: 2))
        // The thread of the side effect may take the event.
        for await state in system.stream where (state as? Running)?.waiting == [2] { break }
        system.cancel()
        await system.stopped()
        #expect(system.snapshot.counters.effectsStarted == 1)
    }
}
