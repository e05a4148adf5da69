import CommonExpression
import FeedbackKit
package import MediatorConfiguration
package import MediatorControl
import MediatorHost
import StrictJSON
import Varlink

// The host's descriptions, as messages of the control interface.

extension MediatorControl.Health {
    init(_ health: MediatorHost.Health) {
        switch health {
        case .starting: self = .starting
        case .healthy: self = .healthy
        case .degraded: self = .degraded
        case .failed: self = .failed
        case .stopped: self = .stopped
        }
    }
}

/// With how many bytes of data a state or a value is no longer told as a whole: then its beginning is, and that it is cut.
enum Cut {
    /// The limits in a list.
    static let inList = 1 << 10
    /// The limits in the description of one part.
    static let alone = 64 << 10
}

extension MediatorControl.SystemState {
    /// - Parameter most: the limit on bytes of data, beyond which a value is cut; nil for no limit.
    init(_ state: MediatorHost.SystemState, of definition: SystemDefinition, cutBeyond most: Int? = nil) {
        let isLong = most.map { state.size > $0 } ?? false
        let data = isLong ? Excerpt.of(state.data) : state.data
        self.init(
            name: definition.states[state.index].name, data: ValueCoding.fields(of: data),
            cut: isLong && data != state.data ? true : nil)
    }
}

extension Field {
    static func all(of type: StructureType) -> [Field] {
        type.fields.map { Field(name: $0.name, type: "\($0.type)") }
    }

    static func all(of event: EventDefinition) -> [Field] {
        event.type.fields.map {
            Field(name: $0.name, type: "\($0.type)", expected: event.expectation(of: $0.name))
        }
    }
}

extension Parameter {
    /// The parameters of an instance, without external values.
    package static func all(of instance: KindInstance) -> [Parameter] {
        all(of: instance.parameters, concealing: instance.concealed)
    }

    /// The parameters of an instance of a template, without external values.
    package static func all(of instance: TemplateInstance) -> [Parameter] {
        all(of: instance.parameters, concealing: instance.concealed)
    }

    private static func all(of parameters: Structure, concealing concealed: Set<String>) -> [Parameter] {
        zip(parameters.type.fields, parameters.fields).map { field, value in
            let isConcealed = concealed.contains(field.name)
            let shown: JSONValue? = isConcealed || value == .optional(nil) ? .none : .some(ValueCoding.json(value))
            return Parameter(name: field.name, type: "\(field.type)", value: shown, isConcealed: isConcealed)
        }
    }
}

extension SystemSummary {
    /// - Parameter most: the limit on bytes of data, beyond which the state is cut.
    init(_ status: SystemStatus, cutBeyond most: Int = Cut.inList) {
        let counters = status.loop.counters
        self.init(
            name: status.definition.name,
            description: status.definition.description,
            health: Health(status.health),
            healthSince: status.healthSince.map { "\($0)" },
            healthReason: status.healthReason,
            healthReasonSince: status.healthReasonSince.map { "\($0)" },
            state: SystemState(status.state, of: status.definition, cutBeyond: most),
            since: "\(status.state.since)",
            counters: Counters(
                events: Int(clamping: counters.events),
                transitions: Int(clamping: counters.transitions),
                updates: Int(clamping: counters.updates),
                unhandled: Int(clamping: counters.unhandled),
                dropped: Int(clamping: counters.droppedByLimit + counters.refused),
                faults: Int(clamping: status.faults),
                failures: Int(clamping: status.failures),
                restarts: Int(clamping: status.restarts),
                resets: Int(clamping: status.resets)),
            effectsRunning: status.runs.reduce(0) { $0 + $1.running },
            effectsWaiting: status.runs.reduce(0) { $0 + $1.waiting },
            begins: status.begins.map { "\($0.toMillisecond)" },
            waiting: status.loop.waiting,
            waitingBytes: status.waitingBytes,
            paused: status.pause.map {
                MediatorControl.Pause(since: "\($0.since)", uid: Int($0.user), user: $0.userName)
            })
    }
}

extension SystemDescription {
    init(_ status: SystemStatus) {
        let definition = status.definition
        self.init(
            summary: SystemSummary(status, cutBeyond: Cut.alone),
            source: "\(definition.source)",
            template: definition.instance?.template,
            instanceParameters: definition.instance.map { Parameter.all(of: $0) },
            kind: definition.kind?.kind,
            parameters: definition.kind.map { Parameter.all(of: $0) },
            states: definition.states.enumerated().map { index, state in
                StateType(
                    name: state.name, fields: Field.all(of: state.type),
                    health: definition.stateHealth[index]?.rawValue)
            },
            events: definition.events.prefix(definition.ownEvents).map {
                EventType(name: $0.name, fields: Field.all(of: $0))
            },
            inputs: definition.inputs.isEmpty ? nil : status.inputs.map { Input($0) },
            initialState: definition.states[definition.initialState.state].name,
            transitions: definition.transitions.map {
                Transition(from: $0.from, event: $0.event, to: $0.to, condition: $0.condition, hold: $0.hold)
            },
            feedbacks: definition.feedbacks.map { feedback in
                let runs = status.runs(of: feedback.name)
                let progress = status.progress[feedback.name]
                return FeedbackSummary(
                    name: feedback.name, onState: feedback.selector.text, strategy: feedback.strategy.rawValue,
                    mode: feedback.mode.rawValue, effect: feedback.summary, running: runs.running,
                    waiting: runs.waiting,
                    next: status.nextRuns[feedback.name].map { "\($0.toMillisecond)" },
                    lastResult: progress?.lastResult, lastResultTime: progress?.lastTime.map { "\($0)" },
                    runningSince: progress?.runningSince.map { "\($0)" },
                    missedTicks: progress.flatMap { $0.missedTicks > 0 ? $0.missedTicks : nil },
                    outcomes: FeedbackOutcome.all(of: feedback, in: definition),
                    reactions: feedback.failureReactions.isEmpty
                        ? nil : feedback.failureReactions.mapValues(\.rawValue),
                    options: feedback.options.isEmpty ? nil : feedback.options)
            },
            links: status.links,
            lastFault: status.lastFault.map { "\($0.place): \($0.message)" },
            lastFaultTime: status.lastFaultTime.map { "\($0)" },
            supervision: Supervision(definition.supervision),
            group: status.group.map { group in
                GroupSummary(name: group.name, strategy: group.strategy.rawValue, systems: status.groupSystems)
            },
            ready: definition.readyStates.isEmpty ? nil : Readiness(definition),
            watchdog: definition.watchdog?.brief,
            unhandled: definition.unhandled.rawValue,
            mailbox: Mailbox(limit: definition.mailbox.limit, overflow: definition.mailbox.overflow.rawValue))
    }
}

extension Input {
    init(_ status: InputStatus) {
        let value = status.value.heldBytes(upTo: Cut.inList) > Cut.inList ? Excerpt.of(status.value) : status.value
        self.init(
            name: status.name, type: "\(status.type)", value: ValueCoding.json(value), links: status.links)
    }
}

extension FeedbackOutcome {
    /// The events that outcomes of a feedback emit, in any state. The summary has the event that the feedback itself
    /// emits.
    static func all(of feedback: FeedbackDefinition, in definition: SystemDefinition) -> [FeedbackOutcome] {
        var all: [FeedbackOutcome] = []
        for (_, outcomes) in feedback.outcomes.sorted(by: { $0.key < $1.key }) {
            for (name, rules) in outcomes.sorted(by: { $0.key < $1.key }) where name != EffectSchema.emit.name {
                for rule in rules {
                    let outcome = FeedbackOutcome(
                        outcome: name, event: definition.events[rule.event.event].name,
                        condition: rule.condition?.source)
                    if !all.contains(outcome) { all.append(outcome) }
                }
            }
        }
        return all
    }
}

extension Readiness {
    init(_ definition: SystemDefinition) {
        let limit = definition.readinessLimit
        self.init(
            states: definition.names(of: definition.readyStates), within: limit.within?.brief,
            otherwise: limit.otherwise.rawValue)
    }
}

extension Supervision {
    init(_ policy: SupervisionPolicy) {
        self.init(
            onFault: policy.onFault.rawValue, delay: policy.delay.brief, maxDelay: policy.maxDelay.brief,
            limit: policy.limit.description, beyond: policy.beyond.rawValue)
    }
}

extension BusSummary {
    /// - Parameter most: the limit on bytes, beyond which the value is cut.
    init(_ status: BusStatus, cutBeyond most: Int = Cut.inList) {
        let value = status.value
        let told = value.map { $0.heldBytes(upTo: most) > most ? Excerpt.of($0) : $0 }
        self.init(
            name: status.definition.name,
            description: status.definition.description,
            kind: status.definition.kind == .currentValue ? .currentValue : .passthrough,
            valueType: "\(status.definition.valueType)",
            value: told.map(ValueCoding.json),
            cut: told == value ? nil : true,
            since: status.since.map { "\($0)" },
            published: Int(clamping: status.mediator.sent),
            dropped: Int(clamping: status.mediator.dropped),
            readers: status.readers.count,
            writers: status.writers.count)
    }
}

extension BusDescription {
    init(_ status: BusStatus) {
        let type = status.definition.valueType
        let fields = if case .structure(let structure) = type { Field.all(of: structure) } else { [Field]() }
        self.init(
            summary: BusSummary(status, cutBeyond: Cut.alone),
            source: "\(status.definition.source)",
            fields: fields,
            limit: status.definition.buffer.limit,
            overflow: status.definition.buffer.overflow.rawValue,
            links: (status.readers + status.writers).sorted(),
            fromOutside: status.definition.fromOutside?.rawValue)
    }
}

extension ChangeKind {
    init(_ kind: TransientLayer.Kind) {
        switch kind {
        case .attached: self = .attached
        case .changed: self = .changed
        case .detached: self = .detached
        }
    }
}

extension LinkChange.Setting {
    init(_ setting: Setting) { self.init(key: setting.key, value: setting.value) }
}

extension ReadConfigurationReply {
    init(_ file: ConfigurationFile, owner: String?) {
        self.init(
            path: file.path, owner: owner, text: String(decoding: file.contents, as: UTF8.self),
            transient: file.isTransient)
    }
}

extension LinkOrigin {
    /// The origin of a link that runs.
    init(ofLink name: String, _ layer: TransientLayer) {
        switch layer.kind(ofLink: name) {
        case .attached: self = .attached
        case .changed: self = .changed
        // One that is detached runs only until that has been applied.
        case .detached, nil: self = .written
        }
    }
}

extension LinkSummary {
    init(_ status: LinkStatus, _ layer: TransientLayer) {
        let definition = status.definition
        let form: LinkForm =
            switch definition.form {
            case .systemToBus: .systemToBus
            case .busToSystem: .busToSystem
            case .systemToSystem: .systemToSystem
            }
        self.init(
            name: definition.name, form: form, system: status.system, bus: status.bus,
            toSystem: status.target, description: definition.summary, fired: Int(clamping: status.fired),
            lastFired: status.lastFired.map { "\($0)" }, open: status.isOpen, dropped: Int(clamping: status.dropped),
            origin: LinkOrigin(ofLink: definition.name, layer))
    }
}

extension LinkDescription {
    init(_ status: LinkStatus, _ layer: TransientLayer) {
        self.init(
            summary: LinkSummary(status, layer),
            source: "\(status.definition.source)",
            condition: status.definition.conditionText,
            emits: status.definition.emits,
            limit: status.definition.loop.map { "\($0.rate)" },
            hops: status.definition.loop?.hops,
            openBecause: status.whyOpen, faults: Int(clamping: status.faults),
            lastFault: status.lastFault.map { "\($0)" })
    }
}

extension ReportedDiagnostic {
    /// A diagnostic with the members that `mediatorctl validate --format json` prints of it, and as it is printed.
    init(_ diagnostic: Diagnostic) {
        let location = diagnostic.location
        self.init(
            severity: diagnostic.severity.rawValue, code: diagnostic.code.rawValue,
            location: location.map { "\($0)" }, file: location?.file, line: location?.line, column: location?.column,
            length: location == nil ? nil : diagnostic.caretLength, message: diagnostic.message,
            hint: diagnostic.hint, excerpt: diagnostic.excerpt,
            notes: diagnostic.notes.isEmpty ? nil : diagnostic.notes.map { DiagnosticNote($0) },
            text: diagnostic.rendered())
    }
}

extension DiagnosticNote {
    init(_ note: Diagnostic.Note) {
        self.init(
            file: note.location.file, line: note.location.line, column: note.location.column, message: note.message)
    }
}
