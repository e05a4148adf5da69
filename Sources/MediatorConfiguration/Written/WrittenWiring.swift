/// The buses and links of one document, as written.
struct WrittenWiring: Sendable {
    var source: SourceText
    var buses: [WrittenBus]
    var links: [WrittenLink]
    var instances: [WrittenInstance]
    var groups: [WrittenGroup]
    /// The grants of rights.
    var grants: [WrittenGrant]
    /// The limits of memory; nil: the default.
    var limits: WrittenLimits?
    /// The default of `persist`; nil: not written.
    var store: WrittenStore?
    /// A Boolean value that indicates whether `buses` had the wrong shape, so that the buses are unknown.
    var hidesBuses: Bool
}

/// A bus as written.
struct WrittenBus: Sendable {
    var source: SourceText
    var name: Scalar
    var description: String?
    var kind: BusKind?
    /// Its values' type; nil if missing.
    var value: Node?
    var initial: Node?
    var initialKey: Scalar?
    var buffer: BufferPolicy
    /// The use by other programs; nil: none.
    var fromOutside: ExternalUse?
    /// A Boolean value that indicates whether its value survives the end of the process; nil: the default of the
    /// configuration.
    var isPersisted: Bool?
    /// The template whose instances each have one: `uplink@*`.
    var each: Scalar?
    var span: Span
}

/// A link as written, its form already decided. One reference, since it is handed on often.
final class WrittenLink: Sendable {
    /// The forms, each with its ends.
    enum Form: Sendable {
        case systemToBus(bus: Scalar, selector: WrittenSelector, value: Node)
        case busToSystem(bus: Scalar, onValue: Node?, event: WrittenConstruct)
        case systemToSystem(target: Scalar, selector: WrittenSelector, event: WrittenConstruct)
        /// None of these, which has been reported.
        case unclear(selector: WrittenSelector?)
    }
    let source: SourceText
    let name: Scalar
    let system: Scalar
    /// A Boolean value that indicates whether the system is missing or could not be read, which has been reported.
    let isSystemBroken: Bool
    let condition: Scalar?
    /// A Boolean value that indicates whether there is a condition that could not be read.
    let isConditionBroken: Bool
    let form: Form
    /// A Boolean value that indicates whether the key of its bus is `from`.
    let hasFrom: Bool
    /// A Boolean value that indicates whether it also fires when an update in place changes its value or event.
    let firesOnChange: Bool
    /// The limit as part of a loop.
    let loop: LoopLimit?
    /// The key of that limit on the link itself.
    let loopKey: Scalar?
    /// The feedback that makes it fire; nil: states and values do.
    let trigger: LinkTrigger?

    /// A link of the given parts.
    init(
        source: SourceText, name: Scalar, system: Scalar, isSystemBroken: Bool = false, condition: Scalar?,
        isConditionBroken: Bool = false, form: Form, hasFrom: Bool = false, firesOnChange: Bool = false,
        loop: LoopLimit? = nil, loopKey: Scalar? = nil, trigger: LinkTrigger? = nil
    ) {
        self.hasFrom = hasFrom
        self.firesOnChange = firesOnChange
        self.source = source
        self.name = name
        self.system = system
        self.isSystemBroken = isSystemBroken
        self.condition = condition
        self.isConditionBroken = isConditionBroken
        self.form = form
        self.loop = loop
        self.loopKey = loopKey
        self.trigger = trigger
    }
}

extension WrittenSystem {
    /// The links that its feedbacks are which put values on buses.
    var publications: [WrittenLink] {
        feedbacks.compactMap { feedback in
            guard let publication = feedback.effect?.publication, let selector = feedback.selector else { return nil }
            let isTemplate = name.text.hasSuffix("@")
            // With a throttle the first of each key is published at once, and each may have another key.
            let isThrottled = feedback.handling.throttle != nil && feedback.handling.key == nil
            var waits = feedback.handling.debounce != nil || isThrottled
            if case .atOnce = feedback.schedule {} else { waits = true }
            func named(_ text: String, _ scalar: Scalar) -> Scalar {
                Scalar(text: text, style: scalar.style, span: scalar.span)
            }
            return WrittenLink(
                source: source,
                // No link in a file can be called so; of a template it is `NAME@/FEEDBACK` until it is one for each instance.
                name: named("\(name.text)/\(feedback.name.text)", feedback.name),
                system: named(isTemplate ? "\(name.text)*" : name.text, name), condition: feedback.condition,
                form: .systemToBus(bus: publication.bus, selector: selector, value: publication.value),
                trigger: LinkTrigger(feedback: feedback.name.text, waits: waits))
        }
    }
}

/// Systems that belong together, as written.
struct WrittenGroup: Sendable {
    var source: SourceText
    var name: Scalar
    var strategy: GroupStrategy
    var systems: [Scalar]
}
