import CommonExpression
import FeedbackKit
import Logging
import MediatorConfiguration

/// Tells the log, and the hosted system, what its loop does.
struct SystemObserver: LoopObserver {
    let definition: SystemDefinition
    let repeats: RepeatLog
    /// Those transitions of which no more is asked than that they happen.
    let transitions: RepeatLog
    let logger: Logger
    /// The logger's own, since to ask the logger for its level costs as much as all else in an event's way.
    private let handler: any LogHandler
    let reports: Incarnation.Reports

    init(
        definition: SystemDefinition, repeats: RepeatLog, transitions: RepeatLog, logger: Logger,
        reports: Incarnation.Reports
    ) {
        self.definition = definition
        self.repeats = repeats
        self.transitions = transitions
        self.logger = logger
        handler = logger.handler
        self.reports = reports
    }

    func loopDidStart(with state: SystemState) {
        // Readiness may follow, and its line comes after this one.
        defer { reports.entered(state, nil) }
        logger.info(
            "started",
            metadata: .about(.systemStarted, because: state.cause?.id, ["state": "\(name(state))"])
                .inJournal([JournalDetails.stateID: state.id]))
    }

    func loopDidTransition(from old: SystemState, to new: SystemState, on event: SystemEvent) {
        defer { reports.entered(new, old) }
        let grave = definition.stateHealth.isEmpty ? nil : worsening(from: old, to: new)
        guard handler.logLevel <= grave ?? .info else { return }
        // A state that only repeats itself is not news.
        let level = grave ?? (old.index == new.index && old.data == new.data ? .debug : .info)
        guard handler.logLevel <= level else { return }
        // Nor is one that comes again and again, unless somebody asks for more: by `health`, or with the level `debug`.
        let isPlain = grave == nil && handler.logLevel > .debug
        let line: RepeatLog.Line = {
            (
                "\(definition.states[old.index].name) → \(describe(new))",
                told(event, as: .stateEntered).inJournal([
                    "state": name(new), "previous": name(old), JournalDetails.stateID: new.id,
                ])
            )
        }
        (isPlain ? transitions : repeats).log(
            logger, level,
            key: level == .debug ? "repeat" : RepeatLog.Key(definition.eventName(event), old.index, new.index),
            burst: 10, old.size + new.size + event.size > 0 ? made(line) : line)
    }

    /// How grave it is that a state is one in which the system is worse, by its configuration; nil: it is not.
    private func worsening(from old: SystemState, to new: SystemState) -> Logger.Level? {
        let (before, now) = (
            definition.stateHealth[old.index] ?? .healthy, definition.stateHealth[new.index] ?? .healthy
        )
        guard before != now else { return nil }
        switch now {
        case .failed: return .warning
        case .degraded: return before == .healthy ? .notice : nil
        case .healthy: return nil
        }
    }

    func loopDidNotHandle(_ event: SystemEvent, in state: SystemState) {
        reports.unhandled(state, event)
        @Sendable func metadata() -> Logger.Metadata {
            told(event, as: .eventNotHandled).merging(["state": "\(name(state))"]) { $1 }
        }
        let eventName = definition.eventName(event)
        switch definition.unhandled {
        case .ignore: logger.debug("event not handled", metadata: metadata())
        case .warn:
            let line: RepeatLog.Line = { ("event not handled", metadata()) }
            repeats.log(
                logger, .warning, key: "unhandled \(eventName) \(state.index)",
                state.size + event.size > 0 ? made(line) : line)
        case .fault:
            reports.failed(
                Fault(
                    "state \(name(state))", in: .whole,
                    message: "the event '\(eventName)' is not handled"))
        }
    }

    func loopDidDrop(_ event: SystemEvent, because reason: DropReason) {
        reports.dropped(event, reason)
        if reason == .stopped || reason == .cancelled {
            logger.debug("event dropped", metadata: told(event))
        } else {
            let name = definition.eventName(event)
            let line: RepeatLog.Line = {
                ("event dropped", told(event, as: .eventDropped).merging(["reason": "\(reason.rawValue)"]) { $1 })
            }
            repeats.log(
                logger, .warning, key: "drop \(name) \(reason)", event.size > 0 ? made(line) : line)
        }
    }

    func loopDidFault(_ fault: LoopFault) {
        reports.broke(fault)
    }

    func loopDidStop(with state: SystemState) {
        transitions.tellWithheld(all: true)
        repeats.tellWithheld(all: true)
        logger.debug("stopped", metadata: ["state": "\(name(state))"])
        reports.ended()
    }

    /// An event in the log: its name, and for the journal what brought it about, and by which way.
    private func told(_ event: SystemEvent, as id: MessageID? = nil) -> Logger.Metadata {
        // What comes from inside a system that is written in Swift has no cause that is known.
        var details = event.cause?.journalDetails(of: event) ?? [JournalDetails.cause: "inside:\(definition.name)"]
        details[JournalDetails.id] = id?.rawValue
        return .inJournal(details, ["event": "\(definition.eventName(event))"])
    }

    /// A line that is made now: one that is withheld would keep large states, which nobody counts.
    private func made(_ line: RepeatLog.Line) -> RepeatLog.Line {
        let (message, metadata) = line()
        return { (message, metadata) }
    }

    private func name(_ state: SystemState) -> String { definition.states[state.index].name }

    /// The state with its data: `Filling { used: 83 }`.
    private func describe(_ state: SystemState) -> String {
        let shown = state.size > 0 ? Excerpt.of(state.data) : state.data
        guard case .structure(let data) = shown, !data.fields.isEmpty else { return name(state) }
        let fields = zip(data.type.fields, data.fields).map { "\($0.name): \($1)" }
        return "\(name(state)) { \(fields.joined(separator: ", ")) }"
    }
}
