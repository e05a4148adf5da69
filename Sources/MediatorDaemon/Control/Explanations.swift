import CommonExpression
import MediatorConfiguration
import MediatorControl
import MediatorHost
import StrictJSON
import Varlink

// The host's explanations, as messages of the control interface.

extension HostClient {
    /// The peer of a connection.
    init(_ peer: VarlinkPeer) { self.init(userID: peer.userID, processID: peer.processID) }
}

/// Values in lists, cut where they are long.
private enum Bounded {
    /// The limit on the JSON of one value, in bytes.
    static let longest = 4096

    static func json(_ value: Value) -> JSONValue? {
        // A large value is not even encoded.
        guard value.heldBytes(upTo: 16 * longest) <= 16 * longest else { return nil }
        let json = ValueCoding.json(value)
        // With `? :` nil would be the JSON null.
        guard json.description.utf8.count <= longest else { return nil }
        return json
    }

    /// The fields of a structure; one that is null has no key.
    static func fields(of value: Value) -> JSONObject? {
        json(value).flatMap(\.objectValue)?.filter { $0.value != .null }
    }
}

extension WhyReply {
    init(_ chain: CauseChain, failing: String?) {
        self.init(hops: chain.hops.map { CauseHop($0) }, cut: chain.isCut, failing: failing)
    }
}

extension MediatorControl.CauseHop {
    init(_ hop: MediatorHost.CauseHop) {
        self.init(
            kind: CauseKind(hop.kind), time: hop.time.map { "\($0)" }, system: hop.system, state: hop.state,
            previous: hop.previous, entered: hop.entered.map { "\($0)" }, event: hop.event,
            data: hop.data.flatMap(Bounded.fields), link: hop.link, bus: hop.bus,
            value: hop.value.flatMap(Bounded.json), feedback: hop.feedback, outcome: hop.outcome,
            sent: hop.sent.map { "\($0)" },
            who: hop.client.map { "uid \($0.userID), process \($0.processID)" }, replayed: hop.isReplay, text: hop.text)
    }
}

extension CauseKind {
    init(_ kind: MediatorHost.CauseHop.Kind) {
        switch kind {
        case .state: self = .state
        case .event: self = .event
        case .link: self = .link
        case .value: self = .value
        case .feedback: self = .feedback
        case .tick: self = .tick
        case .always: self = .always
        case .inside: self = .inside
        case .client: self = .client
        case .program: self = .program
        case .start: self = .start
        case .reload: self = .reload
        case .migration: self = .migration
        case .restored: self = .restored
        case .fault: self = .fault
        case .firstValue: self = .firstValue
        }
    }
}

extension WhyNotReply {
    init(_ answer: WhyNot, detached: [String]) {
        self.init(
            state: SystemState(answer.state, of: answer.definition, cutBeyond: Cut.alone),
            since: "\(answer.state.since)",
            obstacle: answer.obstacle, transitions: answer.transitions.map { CandidateTransition($0) },
            otherStates: answer.otherStates, opaque: answer.isOpaque, senders: answer.senders.map { Sender($0) },
            unknownSenders: answer.unknownSenders, detached: detached)
    }
}

extension CandidateTransition {
    init(_ candidate: WhyNot.Candidate) {
        self.init(
            from: candidate.from, event: candidate.event, to: candidate.to, condition: candidate.condition,
            source: "\(candidate.source)", holds: candidate.holds, fails: candidate.fails, reason: candidate.reason,
            field: candidate.field, fieldReason: candidate.fieldReason, due: candidate.due.map { "\($0)" })
    }
}

extension Sender {
    init(_ sender: WhyNot.Sender) {
        self.init(
            kind: sender.isLink ? .link : .feedback, name: sender.name, description: sender.summary,
            source: "\(sender.source)", reasons: sender.reasons, waits: sender.waits)
    }
}

extension MediatorControl.TraceStep {
    init(_ step: MediatorHost.TraceStep) {
        func state(_ state: (name: String, data: Value)?) -> MediatorControl.SystemState? {
            state.map { MediatorControl.SystemState(name: $0.name, data: Bounded.fields(of: $0.data) ?? [:]) }
        }
        self.init(
            kind: TraceKind(step.kind), time: "\(step.time)", ended: step.ended.map { "\($0)" },
            state: state(step.state), event: step.event?.name, data: step.event.flatMap { Bounded.fields(of: $0.data) },
            entered: state(step.new),
            guards: step.guards.map {
                TraceGuard(condition: $0.text, source: "\($0.source)", holds: $0.holds, reason: $0.reason)
            },
            feedback: step.feedback,
            outcomes: step.outcomes.map {
                TraceOutcome(
                    name: $0.name, result: Bounded.fields(of: $0.result), time: "\($0.time)",
                    retried: $0.isRetried ? true : nil, text: $0.text)
            },
            more: step.otherOutcomes, reason: step.reason, number: step.number, text: step.text)
    }
}

extension TraceKind {
    init(_ kind: MediatorHost.TraceStep.Kind) {
        switch kind {
        case .began: self = .began
        case .transition: self = .transition
        case .update: self = .update
        case .stay: self = .stay
        case .unhandled: self = .unhandled
        case .dropped: self = .dropped
        case .fault: self = .fault
        case .run: self = .run
        case .skipped: self = .skipped
        case .paused: self = .paused
        case .resumed: self = .resumed
        }
    }
}
