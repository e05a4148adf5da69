public import CommonExpression

/// The limit of a buffer.
public struct BufferPolicy: Sendable, Hashable {
    /// The treatment of a value that arrives when the buffer is full.
    public enum Overflow: String, Sendable, Hashable, CaseIterable {
        /// The oldest waiting value makes room.
        case dropOldest
        /// The new value is dropped.
        case dropNewest
        /// The new value is dropped, and the receiving system has failed. Only for mailboxes.
        case fail

        /// The policies of a bus. A bus does nothing that could fail.
        static let ofBuses = [Overflow.dropOldest, .dropNewest]
    }
    /// The largest number of waiting values, at least 1.
    public var limit: Int
    /// The treatment of further values.
    public var overflow: Overflow

    /// A policy of the given limit.
    public init(limit: Int, overflow: Overflow) {
        self.limit = limit
        self.overflow = overflow
    }

    /// The default of a system: 10 000 events; the newest is dropped.
    public static let mailboxDefault = BufferPolicy(limit: 10_000, overflow: .dropNewest)
    /// The default of a bus: 1 024 values; the oldest is dropped.
    public static let busDefault = BufferPolicy(limit: 1_024, overflow: .dropOldest)
}

/// A Boolean value that indicates whether a bus remembers.
public enum BusKind: String, Sendable, Hashable, CaseIterable {
    /// No memory: a new subscriber gets only later values.
    case passthrough
    /// The bus keeps its last value, and each new subscriber gets it first.
    case currentValue
}

/// The use of a bus by other programs, such as `mediatorctl`.
public enum ExternalUse: String, Sendable, Hashable, CaseIterable {
    /// They put values on it.
    case write
    /// They watch it.
    case read
    /// They do both.
    case both
}

/// One bus.
public struct BusDefinition: Sendable {
    /// Its unique name.
    public var name: String
    /// The description by its author.
    public var description: String?
    /// The place of the definition.
    public var source: SourceLocation
    /// A Boolean value that indicates whether it remembers.
    public var kind: BusKind
    /// The type of its values.
    public var valueType: ValueType
    /// A current-value bus's first value; nil for a passthrough bus.
    public var initial: Value?
    /// The limit of waiting values.
    public var buffer: BufferPolicy
    /// The use by other programs; nil: none.
    public var fromOutside: ExternalUse?
    /// A Boolean value that indicates whether its value survives the end of the process. Always `false` for a passthrough
    /// bus.
    public var isPersisted = false
    var lazyFingerprint: LazyFingerprint
    /// The same for two definitions that mean the same, wherever and in whatever order of keys they are written: 32
    /// hexadecimal digits.
    public var fingerprint: String { lazyFingerprint.text }
}

/// One link.
public final class LinkDefinition: Sendable {
    /// The four forms (the two of bus → system differ only in their filter).
    public enum Form: Sendable {
        /// A state of the system puts a value on the bus. By state index (variables `state`, `now`).
        case systemToBus(bus: Int, selector: StateSelector, value: [Int: DataProgram])
        /// A value of the bus puts an event into the system. Variables: `value`, `now`.
        case busToSystem(bus: Int, filter: ValueFilter, event: EventProgram)
        /// A state of the system puts an event into another system. By state index (variables `state`, `now`).
        case systemToSystem(target: Int, selector: StateSelector, event: [Int: EventProgram])
    }
    /// Its unique name.
    public let name: String
    /// The place of the definition.
    public let source: SourceLocation
    /// The attached system's index.
    public let system: Int
    /// The ends of the link, with their programs.
    public let form: Form
    /// One line for people: `disk-guard: Full → bus alarms`.
    public let summary: String
    /// The condition as written.
    public let conditionText: String?
    /// The value or event that it emits, as written (one line).
    public let emits: String
    /// The limit that breaks a loop; nil: it is part of no loop, or another link of the loop has a limit.
    public let loop: LoopLimit?
    /// The same for two definitions that mean the same, wherever and in whatever order of keys they are written;
    /// systems and buses count by name: 32 hexadecimal digits.
    public var fingerprint: String { lazyFingerprint.text }
    let lazyFingerprint: LazyFingerprint
    /// The feedback of the attached system that makes it fire, where that puts values on a bus; nil: states and values do.
    public let trigger: LinkTrigger?

    /// A Boolean value that indicates whether the link from a system also fires when an update in place changes its value or
    /// event.
    public let firesOnChange: Bool
    /// A Boolean value that indicates whether the link reads the bus that its key `to` names.
    public let readsTo: Bool

    /// A definition of the given parts.
    init(
        name: String, source: SourceLocation, system: Int, form: Form, summary: String, conditionText: String?,
        emits: String, loop: LoopLimit?, firesOnChange: Bool, fingerprint: LazyFingerprint, trigger: LinkTrigger?,
        readsTo: Bool
    ) {
        self.readsTo = readsTo
        self.firesOnChange = firesOnChange
        self.trigger = trigger
        self.name = name
        self.source = source
        self.system = system
        self.form = form
        self.summary = summary
        self.conditionText = conditionText
        self.emits = emits
        self.loop = loop
        lazyFingerprint = fingerprint
    }
}

/// The feedback that makes a link fire.
public struct LinkTrigger: Sendable, Hashable {
    /// Its name.
    public let feedback: String
    /// A Boolean value that indicates whether it waits for the clock first, rather than do it as soon as a state is
    /// entered.
    public let waits: Bool

    /// A trigger.
    init(feedback: String, waits: Bool) {
        self.feedback = feedback
        self.waits = waits
    }
}

/// The values of a bus that a link lets through.
public enum ValueFilter: Sendable {
    /// All.
    case all
    /// Those equal to this one.
    case equals(Value)
    /// Those for which this holds (variables `value`, `now`).
    case condition(Program)
}

extension LinkDefinition {
    /// Returns whether it puts an event into a system.
    package func sends(_ event: Int, to system: Int) -> Bool {
        switch form {
        case .systemToBus: false
        case .busToSystem(_, _, let program): self.system == system && program.event == event
        case .systemToSystem(let target, _, let events):
            target == system && events.values.contains { $0.event == event }
        }
    }

    /// A copy with other ends.
    package func replacing(system: Int, form: Form) -> LinkDefinition {
        LinkDefinition(
            name: name, source: source, system: system, form: form, summary: summary, conditionText: conditionText,
            emits: emits, loop: loop, firesOnChange: firesOnChange, fingerprint: lazyFingerprint, trigger: trigger,
            readsTo: readsTo)
    }
}
