public import CommonExpression
import FeedbackKit
import MediatorConfiguration

/// Why a system is in its state: what happened, from the latest back to what came from outside.
public struct CauseChain: Sendable {
    /// What happened, the latest first. The first is the state itself.
    public let hops: [CauseHop]
    /// Whether earlier causes are no longer kept.
    public let isCut: Bool
}

/// One step of the story why a system is in its state.
public struct CauseHop: Sendable {
    /// What it is.
    public enum Kind: String, Sendable, Hashable, CaseIterable {
        /// A system entered a state.
        case state
        /// On an event.
        case event
        /// A link sent an event, or put a value on a bus.
        case link
        /// A value of a bus.
        case value
        /// A feedback emitted.
        case feedback
        /// A feedback was due by the clock. The end of the chain.
        case tick
        /// A system that is written in Swift did it by itself. The end of the chain.
        case inside
        /// A client asked for it. The end of the chain.
        case client
        /// The program of which the host is a part asked for it. The end of the chain.
        case program
        /// The system began at the start. The end of the chain.
        case start
        /// The system began on account of a reload. The end of the chain.
        case reload
        /// A reload put the system in the place of another, in whose state it is.
        case migration
        /// The system or the bus goes on from where it was when the daemon was restarted. The end of the chain.
        case restored
        /// The system began anew on account of a fault. The end of the chain.
        case fault
        /// The value that is written as a bus's first. The end of the chain.
        case firstValue
    }

    /// What it is.
    public let kind: Kind
    /// When.
    public let time: Timestamp?
    /// When the event was sent, where it waited for ``leastWait`` or longer before it was taken.
    public internal(set) var sent: Timestamp?
    /// The system that it is about.
    public internal(set) var system: String?
    /// The name of its state.
    public internal(set) var state: String?
    /// Of a state, the name of the state that was left for it; nil: the system began with it.
    public internal(set) var previous: String?
    /// The name of its event.
    public internal(set) var event: String?
    /// The data of the state or the event.
    public internal(set) var data: Value?
    /// The link.
    public internal(set) var link: String?
    /// The bus.
    public internal(set) var bus: String?
    /// The value of the bus, or the result of the side effect.
    public internal(set) var value: Value?
    /// The feedback.
    public internal(set) var feedback: String?
    /// The outcome of its side effect; nil: it emits by itself.
    public internal(set) var outcome: String?
    /// The client.
    public internal(set) var client: HostClient?
    /// Whether the bus had the value already when the link was shown it, as after a reload.
    public internal(set) var isReplay = false
    /// The same in words, for people; without the time.
    public internal(set) var text = ""

    /// What need not be told of how long an event waited.
    public static let leastWait = Duration.seconds(1)

    init(_ kind: Kind, at time: Timestamp?) {
        self.kind = kind
        self.time = time
    }
}

extension CauseChain {
    /// The chain that a state holds.
    init(of state: SystemState) {
        var story = Story()
        isCut = story.tell(state)
        hops = story.hops
    }
}

/// Puts a chain of causes into words.
private struct Story {
    var hops: [CauseHop] = []

    /// Tells how a state came about; whether there was more.
    mutating func tell(_ state: SystemState) -> Bool {
        var record = state.record
        // Whether it is told of as the state in which a side effect began that has outlasted it.
        var isBeginning = false
        while true {
            let wasBeginning = isBeginning
            isBeginning = record.cause.map { $0.outlasted(before: record) } ?? false
            tellState(record, wasBeginning: wasBeginning)
            guard !record.isCut else { return true }
            let cause = record.cause
            if let event = record.event, !event.isReset {
                tell(event, of: record, cause, in: isBeginning ? record.nameOfPrevious : nil)
            }
            guard let cause else {
                add(.inside, at: record.since) { hop in
                    hop.system = record.definition.name
                    hop.text = "from inside \(record.definition.name), which is written in Swift"
                }
                return false
            }
            if let bus = cause.bus { tell(cause, on: bus, isReplay: record.event?.via?.isReplay ?? false) }
            guard let seen = tell(cause) else { return false }
            record = seen
        }
    }

    /// Tells of a state.
    ///
    /// - Parameter wasBeginning: whether a side effect began in it that has outlasted it, and led to the state told before.
    private mutating func tellState(_ record: StateRecord, wasBeginning: Bool) {
        let verb = hops.isEmpty ? "is" : "was"
        add(.state, at: record.since) { hop in
            hop.system = record.definition.name
            hop.state = record.definition.states[record.index].name
            hop.data = record.data
            hop.previous = record.nameOfPrevious
            hop.text =
                (wasBeginning ? "when that side effect began, " : "")
                + "\(record.definition.name) \(verb) in \(Self.described(record))"
        }
    }

    /// Tells of an event.
    ///
    /// - Parameter previous: the state in which it was taken, where the story does not go on with that.
    private mutating func tell(_ event: SystemEvent, of record: StateRecord, _ cause: Cause?, in previous: String?) {
        add(.event, at: record.since) { hop in
            let name = record.definition.eventName(event.index)
            hop.system = record.definition.name
            hop.event = name
            hop.data = event.data
            hop.text =
                "by the event \(Shown.text(name, event.data))" + (previous.map { ", which it took in \($0)" } ?? "")
            // What a link was shown that joined later was no event before.
            guard event.via?.isReplay != true, let sent = cause?.sent else { return }
            let wait = record.since.span(since: sent)
            guard wait >= CauseHop.leastWait else { return }
            hop.sent = sent
            hop.text += " (it had waited for \(Shown.text(wait)))"
        }
        guard let via = event.via else { return }
        add(.link, at: record.since) { hop in
            hop.link = via.link.name
            hop.bus = cause?.bus
            hop.text = "which the link \(via.link.name) made of a value of the bus \(cause?.bus ?? "")"
        }
    }

    private mutating func tell(_ cause: Cause, on bus: String, isReplay: Bool) {
        add(.value, at: cause.time) { hop in
            hop.bus = bus
            hop.value = cause.value
            hop.isReplay = isReplay
            let value = cause.value.description(longest: Shown.longestValue)
            hop.text =
                isReplay
                ? "when the link was joined, the bus \(bus) had \(value) already" : "the bus \(bus) got \(value)"
        }
    }

    /// Tells what happened; the state that was seen, if the story goes on with it.
    private mutating func tell(_ cause: Cause) -> StateRecord? {
        let verb = cause.bus == nil ? "sent by" : "put there by"
        switch cause.origin {
        case let origin as Cause.LinkOrigin:
            let link = origin.link
            add(.link, at: cause.time) { hop in
                hop.link = link.name
                hop.bus = origin.bus
                hop.feedback = link.trigger?.feedback
                hop.text = "\(verb) the link \(link.name)"
            }
            guard origin.isTick, let record = cause.record else { return cause.record }
            tellTick(link.trigger?.feedback ?? link.name, record, at: cause.time)
        case let origin as Cause.FeedbackOrigin:
            guard let record = cause.record else { return nil }
            let (source, begun) = (origin.source, origin.begun)
            let took = begun.flatMap { begun in cause.time.map { " after \(Shown.text($0.span(since: begun)))" } } ?? ""
            add(.feedback, at: cause.time) { hop in
                hop.system = record.definition.name
                hop.feedback = source.name
                hop.outcome = source.outcome
                hop.value = source.outcome == nil ? nil : cause.value
                hop.text =
                    source.outcome.map {
                        "since the feedback \(source.name) came\(took) to \(Shown.text($0, cause.value))"
                    } ?? "emitted by the feedback \(source.name)"
            }
            guard source.isTick else { return record }
            tellTick(source.name, record, at: begun ?? cause.time)
        case let request as Cause.RequestOrigin:
            add(request.client == nil ? .program : .client, at: cause.time) { hop in
                hop.client = request.client
                let who =
                    request.client.map { "a client (user \($0.userID), process \($0.processID))" } ?? "the program"
                hop.text = request.verb.text(by: who)
            }
        case let treatment as Cause.FaultOrigin:
            add(.fault, at: cause.time) { hop in
                hop.system = treatment.system
                let reason = treatment.fault.map { ": \($0.place): \($0.message)" } ?? ""
                hop.text = "\(treatment.action) on account of a fault of \(treatment.system)\(Shown.cut(reason))"
            }
        case let beginning as Cause.BeginningOrigin: tell(beginning.kind, at: cause.time)
        default: break
        }
        return cause.origin.isTick ? nil : cause.record
    }

    private mutating func tell(_ beginning: Cause.BeginningOrigin.Kind, at time: Timestamp?) {
        switch beginning {
        case .start: add(.start, at: time) { $0.text = "as it began at the start" }
        case .reload: add(.reload, at: time) { $0.text = "as it began on account of a reload" }
        case .restored: add(.restored, at: time) { $0.text = "kept over a restart of the daemon" }
        case .migration:
            add(.migration, at: time) { $0.text = "carried over by a reload, which changed the system" }
        case .firstValue(let place):
            add(.firstValue, at: time) { $0.text = "the first value of the bus, \(place.now)" }
        }
    }

    private mutating func tellTick(_ feedback: String, _ record: StateRecord, at time: Timestamp?) {
        add(.tick, at: time) { hop in
            let definition = record.definition.feedbacks.first { $0.name == feedback }
            hop.system = record.definition.name
            hop.state = record.definition.states[record.index].name
            hop.data = record.data
            hop.feedback = feedback
            hop.text =
                "by the clock, while \(record.definition.name) was in \(Self.described(record))"
                + (definition.map { " (\($0.summary))" } ?? "")
        }
    }

    private static func described(_ record: StateRecord) -> String {
        Shown.text(record.definition.states[record.index].name, record.data)
    }

    private mutating func add(_ kind: CauseHop.Kind, at time: Timestamp?, _ fill: (inout CauseHop) -> Void) {
        var hop = CauseHop(kind, at: time)
        fill(&hop)
        hops.append(hop)
    }
}

extension StateRecord {
    /// The name of the state that was left for it.
    fileprivate var nameOfPrevious: String? {
        previous.flatMap { definition.states.indices.contains($0) ? definition.states[$0].name : nil }
    }
}

extension Cause {
    /// Whether it is a side effect that began in a state that the system had left before it led to another one.
    fileprivate func outlasted(before record: StateRecord) -> Bool {
        guard origin is FeedbackOrigin, let seen = self.record else { return false }
        return record.previous != nil && seen.serial + 1 < record.serial
    }

    /// When what it brought about was sent; nil: that is not known, and was taken soon.
    fileprivate var sent: Timestamp? {
        if let time { return time }
        // It fired when the state was entered.
        return origin is LinkOrigin ? record?.since : nil
    }
}

extension Cause.RequestOrigin.Verb {
    fileprivate func text(by who: String) -> String {
        switch self {
        case .emit: "emitted by \(who)"
        case .publish: "published by \(who)"
        case .restart: "restarted by \(who)"
        case .reset: "reset by \(who)"
        }
    }
}

/// How values are shown to people. Who shows them cuts them to the width of a terminal; what is in one text is bounded all
/// the same, since there may be many.
package enum Shown {
    /// Of one value, in code points.
    package static let longestValue = 2048
    /// Of all the fields of a structure together, in code points.
    static let longestText = 4096

    /// A name and the fields of a structure: `Filling { used: 83 }`.
    package static func text(_ name: String, _ data: Value) -> String {
        guard case .structure(let structure) = data, !structure.fields.isEmpty else { return name }
        var room = longestText
        var fields: [String] = []
        for (field, value) in zip(structure.type.fields, structure.fields) {
            guard room > 0 else {
                fields.append("…")
                break
            }
            let text = "\(field.name): \(value.description(longest: min(room, longestValue)))"
            room -= text.unicodeScalars.count
            fields.append(text)
        }
        return "\(name) { \(fields.joined(separator: ", ")) }"
    }

    /// How long something took: `250 ms`, and from ten seconds on `1m3s`.
    static func text(_ span: Duration) -> String {
        let span = max(span, .zero)
        guard span >= .seconds(10) else { return "\(Int64(span / .milliseconds(1))) ms" }
        return TimeSpan(seconds: span.components.seconds, nanoseconds: 0)?.brief ?? "\(span)"
    }

    /// A text that is cut off after so many code points.
    static func cut(_ text: String) -> String {
        let scalars = text.unicodeScalars
        guard scalars.count > longestText else { return text }
        return String(String.UnicodeScalarView(scalars.prefix(longestText))) + "…"
    }
}

extension Host {
    /// Why a system is in its state: what happened, back to what came from outside.
    public func why(_ name: String) throws(HostError) -> CauseChain {
        CauseChain(of: try named(name).presentState)
    }
}
