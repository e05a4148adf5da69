import CommonExpression
import FeedbackKit
import Logging
import MediatorConfiguration

/// An observer that logs the activity of a loop and reports it to the hosted system.
struct SystemObserver: LoopObserver {
    /// The definition that names the system and its events. A state is named by its own definition.
    let definition: SystemDefinition
    let repeats: RepeatLog
    /// The log of transitions to a state of no worse health, unless the level is `debug`.
    let recurring: RepeatLog
    /// The logger of the host. Each line names the system.
    let logger: Logger
    /// The handler of the logger. A read of the logger's level would cost as much as the rest of an event's path.
    private let handler: any LogHandler
    let reports: Reports

    init(
        definition: SystemDefinition, repeats: RepeatLog, recurring: RepeatLog, logger: Logger,
        reports: Reports
    ) {
        self.definition = definition
        self.repeats = repeats
        self.recurring = recurring
        self.logger = logger
        handler = logger.handler
        self.reports = reports
    }

    func loopDidStart(with state: SystemState) {
        // Readiness may follow, and its log line must come after this one.
        defer { reports.entered(state, nil) }
        logger.info(
            "started",
            metadata: .about(
                .systemStarted, because: state.cause?.id, ["system": "\(definition.name)", "state": "\(name(state))"]
            )
            .inJournal([JournalDetails.stateID: state.id]))
    }

    func loopDidTransition(from old: SystemState, to new: SystemState, on event: SystemEvent) {
        defer { reports.entered(new, old) }
        let grave = new.definition.stateHealth.isEmpty ? nil : worsening(from: old, to: new)
        guard handler.logLevel <= grave ?? .info else { return }
        // A transition to an equal state is not worth an info line.
        let level = grave ?? (old.index == new.index && old.data == new.data ? .debug : .info)
        guard handler.logLevel <= level else { return }
        // A repeated transition is logged rarely, unless `health` or the level `debug` asks for more.
        let isPlain = grave == nil && handler.logLevel > .debug
        let line: RepeatLog.Line = {
            (
                "\(name(old)) → \(describe(new))",
                told(event, as: .stateEntered).inJournal([
                    "state": name(new), "previous": name(old), JournalDetails.stateID: new.id,
                ])
            )
        }
        (isPlain ? recurring : repeats).log(
            logger, level,
            key: level == .debug ? "repeat" : RepeatLog.Key(definition.eventName(event), old.index, new.index),
            burst: 10, old.size + new.size + event.size > 0 ? made(line) : line)
    }

    func loopDidUpdate(from old: SystemState, to new: SystemState, on event: SystemEvent) {
        defer { reports.entered(new, old) }
        guard handler.logLevel <= .debug else { return }
        let line: RepeatLog.Line = {
            (
                "updated to \(describe(new))",
                told(event).inJournal(["state": name(new), JournalDetails.stateID: new.id])
            )
        }
        repeats.log(
            logger, .debug, key: RepeatLog.Key("update \(definition.eventName(event))", new.index, new.index),
            burst: 10,
            new.size + event.size > 0 ? made(line) : line)
    }

    /// Returns the log level for a transition to a state whose declared health is worse, or `nil` for other transitions.
    private func worsening(from old: SystemState, to new: SystemState) -> Logger.Level? {
        let (before, now) = (
            old.definition.stateHealth[old.index] ?? .healthy, new.definition.stateHealth[new.index] ?? .healthy
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
        guard event.worded(by: state.definition) != nil else {
            return repeats.log(
                logger, .warning, "event dropped: the system has no such event any more", key: "foreign \(eventName)",
                told(event, as: .eventDropped))
        }
        switch state.definition.unhandled {
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
                ("event dropped", told(event, as: .eventDropped).merging(["reason": "\(reason.explanation)"]) { $1 })
            }
            repeats.log(
                logger, .warning, key: "drop \(name) \(reason)", event.size > 0 ? made(line) : line)
        }
    }

    func loopDidFault(_ fault: LoopFault) {
        reports.broke(fault)
    }

    func loopDidStop(with state: SystemState) {
        recurring.tellWithheld()
        repeats.tellWithheld()
        logger.debug("stopped", metadata: ["system": "\(definition.name)", "state": "\(name(state))"])
        reports.ended()
    }

    /// Returns the metadata of an event: its name, and for the journal its cause and its way into the system.
    private func told(_ event: SystemEvent, as id: MessageID? = nil) -> Logger.Metadata {
        // Events from inside a system written in Swift have no known cause.
        var details = event.cause?.journalDetails(of: event) ?? [JournalDetails.cause: "inside:\(definition.name)"]
        details[JournalDetails.id] = id?.rawValue
        return .inJournal(details, ["system": "\(definition.name)", "event": "\(definition.eventName(event))"])
    }

    /// Returns a line that is made now. A withheld closure would keep large states, which no limit counts.
    private func made(_ line: RepeatLog.Line) -> RepeatLog.Line {
        let (message, metadata) = line()
        return { (message, metadata) }
    }

    private func name(_ state: SystemState) -> String { state.record.name }

    /// Returns the name of a state with its data, such as `Filling { used: 83 }`.
    private func describe(_ state: SystemState) -> String {
        let shown = state.size > 0 ? Excerpt.of(state.data) : state.data
        guard case .structure(let data) = shown, !data.fields.isEmpty else { return name(state) }
        let fields = zip(data.type.fields, data.fields).map { "\($0.name): \($1)" }
        return "\(name(state)) { \(fields.joined(separator: ", ")) }"
    }
}
