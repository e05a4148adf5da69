import CommonExpression
import MediatorConfiguration
import Synchronization

/// The waits of a feedback with `after`, `debounce` or `throttle`: one for each key.
///
/// A wait belongs to the states that ask for it. A state that asks anew replaces the wait with the same key. A state that
/// does not ask ends every wait. That is decided on the system's turn, and so is whether a wait is
/// due: the outcome does not depend on how tasks are scheduled.
final class Pacer: Sendable {
    /// A run that has been asked for.
    struct Request: Sendable {
        fileprivate let number: UInt64
        fileprivate let key: Value?
        fileprivate let due: Duration
        /// How long none other may begin once it has.
        fileprivate let rest: Duration
        /// Whether it may not begin at once.
        let isPutOff: Bool
    }

    private struct Lane {
        /// The request that is put off.
        var waiting: UInt64?
        var ticket: Waits.Ticket?
        /// When the calendar says so, it is due.
        var moment: Timestamp?
        /// When the first of the requests was put off of which this is the last.
        var since: Duration?
        /// Until when no run may begin.
        var rest: Duration = .zero

        /// Nothing is waited for any more. Returns what was.
        mutating func endWaiting() -> Waits.Ticket? {
            (waiting, moment, since) = (nil, nil, nil)
            return ticket.take()
        }
    }

    private struct Machine {
        var next: UInt64 = 1
        var lanes: [Value?: Lane] = [:]
    }

    /// How many keys are told apart; there are more where so many are put off, or have run of late.
    static let mostKeys = 1_024

    private let machine = Mutex(Machine())
    private let time: HostTime
    private let waits: Waits

    init(time: HostTime, waits: Waits) {
        self.time = time
        self.waits = waits
    }

    /// When the first of the runs that wait is due, while one does.
    var next: Timestamp? {
        waits.isClosed ? nil : machine.withLock { $0.lanes.values.compactMap(\.moment).min() }
    }

    /// Asks for a run that begins after a delay in which nobody asks for another. `nil`: there are too many keys.
    ///
    /// - Parameter maxWait: how long after the first request that was put off it begins at the latest.
    func delay(_ key: Value?, by delay: Duration, maxWait: Duration? = nil) -> Request? {
        ask(key, rest: .zero) { elapsed, lane in
            let due = elapsed + delay
            return maxWait.map { min(due, (lane.since ?? elapsed) + $0) } ?? due
        }
    }

    /// Asks for a run that begins so long after the one before at the earliest. `nil`: there are too many keys.
    func throttle(_ key: Value?, _ interval: Duration) -> Request? {
        ask(key, rest: interval) { elapsed, lane in max(elapsed, lane.rest) }
    }

    private func ask(_ key: Value?, rest: Duration, _ due: (Duration, Lane) -> Duration) -> Request? {
        let (elapsed, now) = (time.elapsed(), time.now())
        let (request, old) = machine.withLock { machine -> (Request?, Waits.Ticket?) in
            if machine.lanes[key] == nil, machine.lanes.count >= Self.mostKeys {
                machine.lanes = machine.lanes.filter { $0.value.waiting != nil || $0.value.rest > elapsed }
                guard machine.lanes.count < Self.mostKeys else { return (nil, nil) }
            }
            var lane = machine.lanes[key] ?? Lane()
            let due = due(elapsed, lane)
            let request = Request(number: machine.next, key: key, due: due, rest: rest, isPutOff: due > elapsed)
            machine.next += 1
            let since = lane.since ?? elapsed
            let old = lane.endWaiting()
            if request.isPutOff {
                (lane.waiting, lane.moment) = (request.number, now.advanced(by: due - elapsed))
                lane.since = since
            } else {
                lane.rest = elapsed + rest
            }
            machine.lanes[key] = lane
            return (request, old)
        }
        if let old { waits.interrupt(old) }
        return request
    }

    /// The system has entered a state that does not ask for the side effect: nothing is waited for any more.
    func leave() {
        let elapsed = time.elapsed()
        let tickets = machine.withLock { machine -> [Waits.Ticket] in
            guard !machine.lanes.isEmpty else { return [] }
            var tickets: [Waits.Ticket] = []
            for key in machine.lanes.keys {
                if let ticket = machine.lanes[key]?.endWaiting() { tickets.append(ticket) }
            }
            machine.lanes = machine.lanes.filter { $0.value.rest > elapsed }
            return tickets
        }
        for ticket in tickets { waits.interrupt(ticket) }
    }

    /// Takes a step of the wait of a request that is put off, on the system's turn.
    func step(_ request: Request) -> WaitStep {
        let elapsed = time.elapsed()
        return machine.withLock { machine in
            guard var lane = machine.lanes[request.key], lane.waiting == request.number else { return .ended }
            guard request.due <= elapsed else {
                guard let ticket = waits.begin({ [time] in try await time.sleep(request.due) }) else { return .ended }
                lane.ticket = ticket
                machine.lanes[request.key] = lane
                return .wait(ticket)
            }
            _ = lane.endWaiting()
            lane.rest = elapsed + request.rest
            machine.lanes[request.key] = lane
            return .due
        }
    }
}
