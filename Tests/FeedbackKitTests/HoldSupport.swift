import FeedbackKit
import Synchronization

/// Keeps held transitions until a test completes them, in their order.
final class Desk: Sendable {
    private struct Transition: Sendable {
        var state: [Int]
        var event: Int
    }

    private struct Content {
        weak var loop: Loop<[Int], Int>?
        var transitions: [Transition] = []
    }

    private let content = Mutex(Content())
    /// Receives an element for each held transition.
    private let held = AsyncStream<Void>.makeStream()

    func serve(_ loop: Loop<[Int], Int>) {
        content.withLock { $0.loop = loop }
    }

    func hold(_ state: [Int], on event: Int) {
        let loop = content.withLock { $0.loop }
        guard loop?.hold() == true else { return }
        content.withLock { $0.transitions.append(Transition(state: state, event: event)) }
        held.continuation.yield()
    }

    /// Completes the earliest transition. Returns `false` without one, or if the loop has been cancelled.
    @discardableResult
    func complete(isUpdate: Bool = false) -> Bool {
        let loop = content.withLock { $0.loop }
        let transition = content.withLock { $0.transitions.isEmpty ? nil : $0.transitions.removeFirst() }
        guard let loop, let transition else { return false }
        return loop.complete(transition.state, on: transition.event, isUpdate: isUpdate)
    }

    /// Completes transitions as they come, until the end.
    func completeAll() async {
        for await _ in held.stream { complete() }
    }

    func end() {
        held.continuation.finish()
    }
}

/// A loop that collects its events. It holds the transitions of some of them, as a system does that writes its states
/// down first.
final class Holding: Sendable {
    /// A step of a test.
    enum Step: Sendable, Hashable {
        case send(Int), sendFirst(Int)
        case mark, watch, due, awaitExchange, exchange
        case pause, resume, stop, cancel, complete
    }

    /// The log of events, states and calls, in their order.
    let log = Log<String>()
    let desk = Desk()
    let loop: Loop<[Int], Int>
    private let show: Feedback<[Int], Int>
    private let subscriptions = Log<Subscription>()

    /// Creates a loop that is not yet started.
    ///
    /// - Parameters:
    ///   - completesAtOnce: A Boolean value that indicates whether the reducer itself completes each transition.
    ///   - holds: Returns whether the loop holds the transition of an event.
    init(
        executor: any LoopExecutor = .sendersThread, clock: any Clock<Duration> = ContinuousClock(),
        limit: Int = .max, overflow: Overflow = .dropNewest, feedbacks: [Feedback<[Int], Int>] = [],
        observer: (any LoopObserver<[Int], Int>)? = nil, completesAtOnce: Bool = false,
        holds: @escaping @Sendable (Int) -> Bool = { $0 < 10 }
    ) {
        let (log, desk) = (log, desk)
        show = .sink(name: "show") { state, _ in log.add("show \(state)") }
        loop = Loop(
            initial: [], feedbacks: [show] + feedbacks, executor: executor, clock: clock, mailboxLimit: limit,
            overflow: overflow, observer: observer
        ) { state, event in
            log.add("take \(event)")
            state.append(event)
            guard holds(event) else { return .handled }
            desk.hold(state, on: event)
            if completesAtOnce { desk.complete() }
            return .stay
        }
        desk.serve(loop)
        subscriptions.add(loop.whenStopped { log.add("stopped") })
    }

    func carryOut(_ step: Step) {
        let (log, show) = (log, show)
        switch step {
        case .send(let event): loop.send(event)
        case .sendFirst(let event): loop.sendFirst(event)
        case .mark: loop.afterPending { log.add("mark") }
        case .watch: subscriptions.add(loop.watch { log.add("watch \($0)") })
        case .due:
            loop.whenDue(
                {
                    log.add("due")
                    return nil
                }, ended: { log.add("not due") })
        case .awaitExchange: loop.awaitExchange()
        case .exchange:
            loop.exchange(
                { state in
                    log.add("exchange \(state)")
                    return LoopExchange(
                        state: state, parts: [.kept(slot: 0, by: show)], limit: .max, overflow: .dropNewest)
                }, ended: { log.add("no exchange") })
        case .pause: loop.pause()
        case .resume: loop.resume()
        case .stop: loop.beginStop()
        case .cancel: loop.cancel()
        case .complete: desk.complete()
        }
    }
}

/// An observer that notes the transitions, as ``Holding`` notes what feedbacks see.
struct TransitionLog: LoopObserver {
    typealias State = [Int]
    typealias Event = Int

    let log = Log<String>()

    func loopDidTransition(from old: [Int], to new: [Int], on event: Int) {
        log.add(new == old + [event] ? "show \(new)" : "\(event) leads from \(old) to \(new)")
    }
}
