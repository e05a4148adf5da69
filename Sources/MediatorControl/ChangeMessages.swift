/// The kind of a link's change that is in no file.
public enum ChangeKind: String, Codable, Sendable, Hashable, CaseIterable {
    /// There is the link because of it.
    case attached
    /// The link is written, and some of its keys are other ones.
    case changed
    /// The link is written, and taken away.
    case detached
}

/// A change of a link that holds until the daemon ends, or until it is written down or dropped.
public struct TransientChange: Codable, Sendable, Hashable {
    /// The link's name.
    public var link: String
    /// The kind of the change.
    public var kind: ChangeKind
    /// The change in YAML, as a drop-in would say it.
    public var text: String

    /// A change.
    public init(link: String, kind: ChangeKind, text: String) {
        self.link = link
        self.kind = kind
        self.text = text
    }
}

/// The reply to `ListChanges`.
public struct ListChangesReply: Codable, Sendable, Hashable {
    /// The changes, by link.
    public var changes: [TransientChange]

    /// A reply.
    public init(changes: [TransientChange]) {
        self.changes = changes
    }
}

/// A key of a link with its new value.
public struct Setting: Codable, Sendable, Hashable {
    /// The key; those of mappings within each other are joined by points, such as `emitEvent.Ring.by`.
    public var key: String
    /// The value in YAML; nothing removes the key.
    public var value: String

    /// A key with its new value.
    public init(key: String, value: String) {
        self.key = key
        self.value = value
    }
}

/// The parameters of `AttachLink`.
public struct AttachParameters: Codable, Sendable, Hashable {
    /// The name of the link.
    public var link: String
    /// The definition in YAML or JSON. Without one, and without settings, a detached link gets its definition in the
    /// files back.
    public var definition: String?
    /// Keys that are set in the definition.
    public var settings: [Setting]
    /// Whether it is also written into a file.
    public var persist: Bool?
    /// Whether to report the effect only.
    public var dryRun: Bool?
    /// Whether the steps include parts that do not change.
    public var all: Bool?

    /// A new link.
    public init(
        link: String, definition: String? = nil, settings: [Setting] = [], persist: Bool? = nil, dryRun: Bool? = nil,
        all: Bool? = nil
    ) {
        self.link = link
        self.definition = definition
        self.settings = settings
        self.persist = persist
        self.dryRun = dryRun
        self.all = all
    }
}

/// The parameters of `DetachLink`.
public struct DetachParameters: Codable, Sendable, Hashable {
    /// The name of the link.
    public var link: String
    /// Whether it is also written into a file.
    public var persist: Bool?
    /// Whether to report the effect only.
    public var dryRun: Bool?
    /// Whether the steps include parts that do not change.
    public var all: Bool?

    /// The parameters of `Detach`.
    public init(link: String, persist: Bool? = nil, dryRun: Bool? = nil, all: Bool? = nil) {
        self.link = link
        self.persist = persist
        self.dryRun = dryRun
        self.all = all
    }
}

/// The parameters of `SetLink`.
public struct SetParameters: Codable, Sendable, Hashable {
    /// The name of the link.
    public var link: String
    /// The keys that change.
    public var settings: [Setting]
    /// Whether it is also written into a file.
    public var persist: Bool?
    /// Whether to report the effect only.
    public var dryRun: Bool?
    /// Whether the steps include parts that do not change.
    public var all: Bool?

    /// The parameters of `SetLink`.
    public init(link: String, settings: [Setting], persist: Bool? = nil, dryRun: Bool? = nil, all: Bool? = nil) {
        self.link = link
        self.settings = settings
        self.persist = persist
        self.dryRun = dryRun
        self.all = all
    }
}

/// A file that was written, or would be.
public struct WrittenFile: Codable, Sendable, Hashable {
    /// Its path.
    public var path: String
    /// All of its text; none if it is removed.
    public var text: String
    /// Whether it had nothing left to say, and is removed.
    public var removed: Bool

    /// A file.
    public init(path: String, text: String, removed: Bool = false) {
        self.path = path
        self.text = text
        self.removed = removed
    }
}

/// The reply to `AttachLink`, `DetachLink` and `SetLink`.
public struct ChangeReply: Codable, Sendable, Hashable {
    /// Whether nothing is wrong with the change.
    public var valid: Bool
    /// Whether it was made; if not, nothing has changed.
    public var applied: Bool
    /// Whether there was, or is, anything to do.
    public var changed: Bool
    /// The number of the configuration that runs.
    public var generation: Int
    /// The change, or the reason why there was none, in a line.
    public var summary: String
    /// The change of every part, or the planned one.
    public var steps: [PlanStep]
    /// The number of errors.
    public var errors: Int
    /// The number of warnings that are new with the change.
    public var warnings: Int
    /// The first of them.
    public var diagnostics: [ReportedDiagnostic]
    /// The systems that were not ready in time, or are failed.
    public var late: [String]
    /// By their names, how they are, and why.
    public var lateReasons: [String: String]
    /// The links that are changed and in no file, with this change.
    public var transient: [String]
    /// The file that was written, or would be.
    public var file: WrittenFile?

    /// A reply.
    public init(
        valid: Bool, applied: Bool, changed: Bool = true, generation: Int, summary: String, steps: [PlanStep] = [],
        errors: Int = 0, warnings: Int = 0, diagnostics: [ReportedDiagnostic] = [], late: [String] = [],
        lateReasons: [String: String] = [:], transient: [String] = [],
        file: WrittenFile? = nil
    ) {
        self.changed = changed
        self.valid = valid
        self.applied = applied
        self.generation = generation
        self.summary = summary
        self.steps = steps
        self.errors = errors
        self.warnings = warnings
        self.diagnostics = diagnostics
        self.late = late
        self.lateReasons = lateReasons
        self.transient = transient
        self.file = file
    }
}

/// A reply to `ReadConfiguration`: one of the files that the configuration that runs was made of.
public struct ReadConfigurationReply: Codable, Sendable, Hashable {
    /// Its path; nil if it has none.
    public var path: String?
    /// The file that it changes, if it is a drop-in.
    public var owner: String?
    /// Its text.
    public var text: String
    /// Whether it lies on no disk, but is a change of a link.
    public var transient: Bool

    /// A reply.
    public init(path: String?, owner: String? = nil, text: String, transient: Bool = false) {
        self.path = path
        self.owner = owner
        self.text = text
        self.transient = transient
    }
}
