import CommonExpression
import FeedbackKit
import MediatorConfiguration
import Synchronization

/// The waits of a feedback with `after`, `debounce` or `throttle`: one for each key.
///
/// A wait belongs to the states that ask for it. A state that asks again replaces the wait with the same key. A state that
/// does not ask ends every wait, or that of one key. The activation of the system decides this, and also decides whether a
/// wait is due. So the result does not depend on the scheduling of tasks.
final class Pacer: Sendable {
    /// A request for a run.
    struct Request: Sendable {
        let place: Place
        /// The wait for the due time, or `nil` if the run may begin at once.
        let pause: EffectPause<SystemEvent>?
    }

    /// The place of a request among the others of its key.
    struct Place: Sendable {
        fileprivate let number: UInt64
        fileprivate let key: Value?
        fileprivate let due: Duration
        /// The time after the begin of the run in which no other run may begin.
        fileprivate let rest: Duration
    }

    private struct Lane {
        /// The number of the request that waits.
        var waiting: UInt64?
        var interruption: Interruption?
        /// The time at which the request is due.
        var due: Duration?
        /// The time of the first of the requests that waited, each replaced by the next.
        var since: Duration?
        /// The time before which no run may begin.
        var rest: Duration = .zero

        /// Ends the wait. The caller must interrupt it.
        mutating func endWaiting() -> Interruption? {
            (waiting, due, since) = (nil, nil, nil)
            return interruption.take()
        }
    }

    private struct Machine {
        var next: UInt64 = 1
        var lanes = Lanes()
    }

    /// The lanes by key. That of the requests without a key, which most feedbacks have alone, needs no table.
    private struct Lanes {
        private var plain: Lane?
        private var keyed: [Value: Lane] = [:]

        var count: Int { keyed.count + (plain == nil ? 0 : 1) }

        var all: [(key: Value?, lane: Lane)] {
            (plain.map { [(nil, $0)] } ?? []) + keyed.map { ($0.key, $0.value) }
        }

        subscript(_ key: Value?) -> Lane? {
            get { if let key { keyed[key] } else { plain } }
            set { if let key { keyed[key] = newValue } else { plain = newValue } }
        }

        mutating func keep(where holds: (Lane) -> Bool) {
            if let lane = plain, !holds(lane) { plain = nil }
            keyed = keyed.filter { holds($0.value) }
        }
    }

    /// The maximum number of keys that have a wait or may not yet run again. Requests with further keys are refused.
    static let mostKeys = 1_024

    private let machine = Mutex(Machine())
    private let time: HostTime
    private let waits: Waits

    init(time: HostTime, waits: Waits) {
        self.time = time
        self.waits = waits
    }

    /// The calendar time at which the first of the waiting runs is due.
    var next: Timestamp? {
        waits.isClosed ? nil : machine.withLock { $0.lanes.all.compactMap(\.lane.due).min() }.flatMap(time.moment)
    }

    /// The keys of the waiting runs, with the times at which they are due.
    var pending: [(key: Value?, due: Duration)] {
        guard !waits.isClosed else { return [] }
        return machine.withLock { machine in
            machine.lanes.all.compactMap { key, lane in lane.due.map { (key, $0) } }
        }
    }

    /// Asks for a run that begins after a delay without another request. Returns `nil` if there are too many keys.
    ///
    /// - Parameter maxWait: The longest time from the first request that waited to the begin of the run.
    func delay(_ key: Value?, by delay: Duration, maxWait: Duration? = nil) -> Request? {
        ask(key, rest: .zero) { elapsed, lane in
            let due = elapsed + delay
            return maxWait.map { min(due, (lane.since ?? elapsed) + $0) } ?? due
        }
    }

    /// Asks for a run that begins no sooner than the interval after the previous one. Returns `nil` if there are too many
    /// keys.
    func throttle(_ key: Value?, _ interval: Duration) -> Request? {
        ask(key, rest: interval) { elapsed, lane in max(elapsed, lane.rest) }
    }

    private func ask(_ key: Value?, rest: Duration, _ due: (Duration, Lane) -> Duration) -> Request? {
        let elapsed = time.elapsed()
        let (request, old) = machine.withLock { machine -> (Request?, Interruption?) in
            if machine.lanes[key] == nil, machine.lanes.count >= Self.mostKeys {
                machine.lanes.keep { $0.waiting != nil || $0.rest > elapsed }
                guard machine.lanes.count < Self.mostKeys else { return (nil, nil) }
            }
            var lane = machine.lanes[key] ?? Lane()
            let due = due(elapsed, lane)
            let interruption = due > elapsed ? Interruption() : nil
            let request = Request(
                place: Place(number: machine.next, key: key, due: due, rest: rest),
                pause: interruption.map { time.pause(from: elapsed, until: due, unless: $0) })
            machine.next += 1
            let since = lane.since ?? elapsed
            let old = lane.endWaiting()
            if let interruption {
                (lane.waiting, lane.due) = (request.place.number, due)
                (lane.since, lane.interruption) = (since, interruption)
            } else {
                lane.rest = elapsed + rest
            }
            machine.lanes[key] = lane
            return (request, old)
        }
        old?.interrupt()
        return request
    }

    /// Ends the wait for a key.
    func leave(_ key: Value?) {
        let wait = machine.withLock { $0.lanes[key]?.endWaiting() }
        wait?.interrupt()
    }

    /// Ends all waits, because the system has entered a state that does not ask for the side effect.
    func leave() {
        let elapsed = time.elapsed()
        let waits = machine.withLock { machine -> [(number: UInt64, interruption: Interruption)] in
            guard machine.lanes.count > 0 else { return [] }
            var waits: [(number: UInt64, interruption: Interruption)] = []
            for (key, lane) in machine.lanes.all {
                let number = lane.waiting ?? 0
                if let wait = machine.lanes[key]?.endWaiting() { waits.append((number, wait)) }
            }
            machine.lanes.keep { $0.rest > elapsed }
            return waits
        }
        // In the order of the requests, so that one seed gives one simulation.
        for wait in waits.sorted(by: { $0.number < $1.number }) { wait.interruption.interrupt() }
    }

    /// Takes a step of the wait of a request, in the activation of the system.
    func step(_ request: Place) -> WaitStep {
        let elapsed = time.elapsed()
        return machine.withLock { machine in
            guard var lane = machine.lanes[request.key], lane.waiting == request.number else { return .ended }
            guard request.due <= elapsed else {
                let interruption = Interruption()
                lane.interruption = interruption
                machine.lanes[request.key] = lane
                return .wait(time.pause(from: elapsed, until: request.due, unless: interruption))
            }
            _ = lane.endWaiting()
            lane.rest = elapsed + request.rest
            machine.lanes[request.key] = lane
            return .due
        }
    }
}
