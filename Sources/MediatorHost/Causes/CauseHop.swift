public import CommonExpression
import FeedbackKit
import MediatorConfiguration

/// The history of the state of a system, from the latest step back to the input from outside.
public struct CauseChain: Sendable {
    /// The steps, the latest first. The first is the state itself.
    public let hops: [CauseHop]
    /// A Boolean value that indicates whether earlier causes are no longer kept.
    public let isCut: Bool
}

/// One step in the history of a state.
public struct CauseHop: Sendable {
    /// The kind of a step.
    public enum Kind: String, Sendable, Hashable, CaseIterable {
        /// A system entered a state.
        case state
        /// The event that led to the state.
        case event
        /// A link sent an event, put a value on a bus, or made an event from a value of a bus.
        case link
        /// A value of a bus.
        case value
        /// A feedback emitted an event.
        case feedback
        /// The clock made a feedback due. This ends the chain.
        case tick
        /// A rule of `always` applied in the state that follows.
        case always
        /// A system that is written in Swift changed by itself. This ends the chain.
        case inside
        /// A client asked for the change. This ends the chain.
        case client
        /// The program that contains the host asked for the change. This ends the chain.
        case program
        /// The system began at the start. This ends the chain.
        case start
        /// A reload started the system, or sent it to its initial state. This ends the chain, unless the system had a
        /// state before.
        case reload
        /// A reload gave the system another definition, and the system kept its state.
        case migration
        /// The daemon was restarted, and the system or the bus continues with its saved state or value. This ends the
        /// chain.
        case restored
        /// A fault restarted or reset the system. This ends the chain.
        case fault
        /// The first value in the definition of a bus. This ends the chain.
        case firstValue
    }

    /// The kind of the step.
    public let kind: Kind
    /// The time of the step, or `nil` if only the time of its result is known.
    public let time: Timestamp?
    /// The time at which the event was sent, if it waited for ``leastWait`` or longer.
    public internal(set) var sent: Timestamp?
    /// The system of the step.
    public internal(set) var system: String?
    /// The name of the state of the system.
    public internal(set) var state: String?
    /// The name of the previous state, for a step with a state. `nil` if the system began in the state.
    public internal(set) var previous: String?
    /// The time at which the state was entered, for a step with a state that an event has updated in place.
    public internal(set) var entered: Timestamp?
    /// The name of the event.
    public internal(set) var event: String?
    /// The data of the state or the event.
    public internal(set) var data: Value?
    /// The name of the link.
    public internal(set) var link: String?
    /// The name of the bus.
    public internal(set) var bus: String?
    /// The value of the bus, or the result of the side effect.
    public internal(set) var value: Value?
    /// The name of the feedback.
    public internal(set) var feedback: String?
    /// The outcome of the side effect, or `nil` if the feedback emits by itself.
    public internal(set) var outcome: String?
    /// The client that asked.
    public internal(set) var client: HostClient?
    /// A Boolean value that indicates whether the bus had the value before the link read it, as after a reload.
    public internal(set) var isReplay = false
    /// The description of the step for people, without the time.
    public internal(set) var text = ""

    /// The shortest waiting time of an event that is shown.
    public static let leastWait = Duration.seconds(1)

    init(_ kind: Kind, at time: Timestamp?) {
        self.kind = kind
        self.time = time
    }
}

extension CauseChain {
    /// Creates the chain of causes of a state.
    init(of state: SystemState) {
        var story = Story()
        isCut = story.tell(state)
        hops = story.hops
    }
}

/// The text of a chain of causes.
private struct Story {
    var hops: [CauseHop] = []

    /// Describes the history of a state. Returns `true` if earlier causes are no longer kept.
    mutating func tell(_ state: SystemState) -> Bool {
        var record = state.record
        // `true` if the side effect that led to the last described state began in the next one and outlasted it.
        var isBeginning = false
        while true {
            let wasBeginning = isBeginning
            isBeginning = record.cause.map { $0.outlasted(before: record) } ?? false
            tellState(record, wasBeginning: wasBeginning)
            guard !record.isCut else { return true }
            let cause = record.cause
            if let event = record.event, event.index >= -1 {
                tell(event, of: record, cause, in: isBeginning ? record.nameOfPrevious : nil)
            }
            guard let cause else {
                add(.inside, at: record.time) { hop in
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

    /// Describes a state.
    ///
    /// - Parameter wasBeginning: A Boolean value that indicates whether a side effect began in this state, outlasted
    ///   it, and led to the state described before.
    private mutating func tellState(_ record: StateRecord, wasBeginning: Bool) {
        let verb = hops.isEmpty ? "is" : "was"
        add(.state, at: record.time) { hop in
            hop.system = record.definition.name
            hop.state = record.definition.states[record.index].name
            hop.data = record.data
            hop.previous = record.nameOfPrevious
            hop.text =
                (wasBeginning ? "when that side effect began, " : "")
                + "\(record.definition.name) \(verb) in \(Self.described(record))"
            guard record.isUpdated else { return }
            hop.entered = record.since
            hop.text += ", which it \(record.visit.text)"
        }
    }

    /// Describes an event.
    ///
    /// - Parameter previous: The state in which the event was taken, if the next described state is another one.
    private mutating func tell(_ event: SystemEvent, of record: StateRecord, _ cause: Cause?, in previous: String?) {
        add(.event, at: record.time) { hop in
            let name = record.definition.eventName(event)
            hop.system = record.definition.name
            hop.event = name
            hop.data = event.data
            hop.text =
                "by the event \(Shown.text(name, event.data))" + (previous.map { ", which it took in \($0)" } ?? "")
            if let around = record.handler(of: event) { hop.text += ", by a rule of \(around)" }
            // A link that joins later reads a value that was no event before.
            guard event.via?.isReplay != true, let sent = cause?.sent else { return }
            let wait = record.time.span(since: sent)
            guard wait >= CauseHop.leastWait else { return }
            hop.sent = sent
            hop.text += " (it had waited for \(Shown.text(wait)))"
        }
        guard let via = event.via else { return }
        add(.link, at: record.time) { hop in
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

    /// Describes a cause. Returns the state that the history continues with, or `nil` at its end.
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
        case let origin as Cause.AlwaysOrigin:
            let rule = origin.rule
            add(.always, at: cause.time) { hop in
                hop.system = cause.record?.definition.name
                hop.state = cause.record?.name
                let condition = rule.condition.isEmpty ? "" : ": \(Shown.cut(rule.condition))"
                let around = rule.compound.flatMap { cause.record?.definition.compounds[$0].name }
                hop.text = "by a rule of always\(around.map { " of \($0)" } ?? "")\(condition)"
            }
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
        case .startAnew(let reason):
            add(.start, at: time) { $0.text = "as it began at the start; \(Shown.cut(reason))" }
        case .reload: add(.reload, at: time) { $0.text = "as it began on account of a reload" }
        case .restored(let isStored):
            add(.restored, at: time) {
                $0.text = isStored ? "restored from the store" : "kept over a restart of the daemon"
            }
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
    /// The name of the previous state. `nil` if the system began in this one, or if its event updated it in place.
    var nameOfPrevious: String? {
        isUpdated ? nil : previous.flatMap { definition.states.indices.contains($0) ? definition.states[$0].name : nil }
    }
}

extension StateRecord {
    /// The compound state whose rule handled the event, if that is certain and not the state itself.
    fileprivate func handler(of event: SystemEvent) -> String? {
        guard !definition.compounds.isEmpty, let previous, definition.rules.indices.contains(previous),
            let event = event.worded(by: definition), (0..<definition.ownEvents).contains(event.index)
        else { return nil }
        // Rules of `always` may have led on from another state.
        let rules = definition.rules[previous][event.index].filter { rule in
            isUpdated
                ? rule.outcome.entered.isEmpty && rule.outcome.setting != nil
                : rule.outcome.entered.contains { $0.state == index }
        }
        let names = Set(
            rules.map { rule in definition.transitions.first { $0.source == rule.source }?.from ?? WhyNot.any })
        guard names.count == 1, let name = names.first, definition.compounds.contains(where: { $0.name == name })
        else { return nil }
        return name
    }
}

extension Cause {
    /// Returns a Boolean value that indicates whether a side effect that outlasted its state led to this one. Such a
    /// side effect began in an earlier state than the previous one.
    fileprivate func outlasted(before record: StateRecord) -> Bool {
        guard origin is FeedbackOrigin, let seen = self.record else { return false }
        return record.previous != nil && seen.serial + 1 < record.serial
    }

    /// The time at which its event was sent, or `nil` if it is unknown. Such an event was taken soon.
    fileprivate var sent: Timestamp? {
        if let time { return time }
        // The link fired when the state was entered.
        return origin is LinkOrigin ? record?.time : nil
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

/// Texts of values for people. The caller cuts them to the width of the terminal. Each text has a limit of its own,
/// since there may be many.
package enum Shown {
    /// The maximum length of the text of one value, in code points.
    package static let longestValue = 2048
    /// The maximum length of the text of all fields of a structure, in code points.
    static let longestText = 4096

    /// Returns a name with the fields of a structure: `Filling { used: 83 }`.
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

    /// Returns the text of a duration: `250 ms`, and from ten seconds on `1m3s`.
    static func text(_ span: Duration) -> String {
        let span = max(span, .zero)
        guard span >= .seconds(10) else { return "\(Int64(span / .milliseconds(1))) ms" }
        return TimeSpan(seconds: span.components.seconds, nanoseconds: 0)?.brief ?? "\(span)"
    }

    /// Returns a text that is cut off after ``longestText`` code points.
    static func cut(_ text: String) -> String {
        let scalars = text.unicodeScalars
        guard scalars.count > longestText else { return text }
        return String(String.UnicodeScalarView(scalars.prefix(longestText))) + "…"
    }
}

extension Host {
    /// Returns the history of the state of a system, back to the input from outside.
    public func why(_ name: String) throws(HostError) -> CauseChain {
        CauseChain(of: try named(name).presentState)
    }
}
