import CommonExpression
import MediatorConfiguration
import Synchronization

/// Keeps the runs of a feedback apart from each other: those that come too close together are put off, and of several that
/// are put off only the last is made. Each key is for itself.
///
/// It is decided on the system's turn who is put off, so that it does not depend on how tasks are scheduled.
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
        /// When a run began last, and until when none may begin.
        var rest: Duration = .zero
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

    /// A run is asked for that begins when there has been no other request for so long. `nil`: there are too many keys.
    func debounce(_ key: Value?, _ quiet: Duration) -> Request? {
        ask(key, rest: .zero) { elapsed, _ in elapsed + quiet }
    }

    /// A run is asked for that begins so long after the one before at the earliest. `nil`: there are too many keys.
    func throttle(_ key: Value?, _ interval: Duration) -> Request? {
        ask(key, rest: interval) { elapsed, lane in max(elapsed, lane.rest) }
    }

    private func ask(_ key: Value?, rest: Duration, _ due: (Duration, Lane) -> Duration) -> Request? {
        let elapsed = time.elapsed()
        let (request, old) = machine.withLock { machine -> (Request?, Waits.Ticket?) in
            if machine.lanes[key] == nil, machine.lanes.count >= Self.mostKeys {
                machine.lanes = machine.lanes.filter { $0.value.waiting != nil || $0.value.rest > elapsed }
                guard machine.lanes.count < Self.mostKeys else { return (nil, nil) }
            }
            var lane = machine.lanes[key] ?? Lane()
            let due = due(elapsed, lane)
            let request = Request(number: machine.next, key: key, due: due, rest: rest, isPutOff: due > elapsed)
            machine.next += 1
            let old = lane.ticket
            lane.ticket = nil
            lane.waiting = request.isPutOff ? request.number : nil
            if !request.isPutOff { lane.rest = elapsed + rest }
            machine.lanes[key] = lane
            return (request, old)
        }
        if let old { waits.interrupt(old) }
        return request
    }

    /// Returns when a request that is put off is due; `false`: another has taken its place, it is cancelled, or the system
    /// stops.
    func wait(_ request: Request) async -> Bool {
        while let ticket = begin(request) {
            guard let ticket = ticket else { return true }
            guard await waits.finish(ticket) else { break }
        }
        machine.withLock { machine in
            guard machine.lanes[request.key]?.waiting == request.number else { return }
            machine.lanes[request.key]?.waiting = nil
            machine.lanes[request.key]?.ticket = nil
        }
        return false
    }

    /// Begins to wait for a request's time. `.some(nil)`: it has come; `nil`: it will not.
    private func begin(_ request: Request) -> Waits.Ticket?? {
        let elapsed = time.elapsed()
        return machine.withLock { machine -> Waits.Ticket?? in
            guard var lane = machine.lanes[request.key], lane.waiting == request.number else { return .none }
            if request.due > elapsed {
                guard let ticket = waits.begin({ [time] in try await time.sleep(request.due) }) else { return .none }
                lane.ticket = ticket
                machine.lanes[request.key] = lane
                return .some(ticket)
            }
            lane.waiting = nil
            lane.ticket = nil
            lane.rest = elapsed + request.rest
            machine.lanes[request.key] = lane
            return .some(nil)
        }
    }
}
