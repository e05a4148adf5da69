/// The kind of part that a step of a plan is about.
public enum PartKind: String, Codable, Sendable, Hashable, CaseIterable {
    /// A system.
    case system
    /// A bus.
    case bus
    /// A link.
    case link
    /// A group of systems.
    case group
    /// The access rules.
    case access
    /// The limits on memory for data.
    case limits
}

/// The change of a part of the configuration.
public enum PlanAction: String, Codable, Sendable, Hashable, CaseIterable {
    /// It goes on, undisturbed.
    case keep
    /// A system that is written in Swift begins again, in its present state.
    case migrate
    /// A system begins again, in its initial state.
    case restart
    /// A system goes on in its present state, with another definition. Of a bus or a link, another takes its place.
    case change
    /// It is new.
    case add
    /// It is taken away.
    case remove
}

/// The value of a bus that remembers, after the change.
public enum ValueAfterChange: String, Codable, Sendable, Hashable, CaseIterable {
    /// The one it has now.
    case keep
    /// The one that is written as its first.
    case initial
}

/// The way in which a part of a definition differs.
public enum ChangeOfPart: String, Codable, Sendable, Hashable, CaseIterable {
    /// Only the new definition has it.
    case added
    /// Only the old one has it.
    case removed
    /// It means something else.
    case changed
}

/// A part in which the running and the written definition differ.
public struct PartChange: Codable, Sendable, Hashable {
    /// The part: `state Full`, `feedback measure`, `transition any: Measured`, `when`.
    public var part: String
    /// The way in which it differs.
    public var change: ChangeOfPart
    /// The place where the old one is written, `file:line:column`, if it has one of its own.
    public var old: String?
    /// The place where the new one is written.
    public var new: String?
    /// The value that differs, in the old definition, if it is the only one.
    public var oldValue: String?
    /// The same in the new definition.
    public var newValue: String?

    /// A change.
    public init(
        part: String, change: ChangeOfPart, old: String? = nil, new: String? = nil, oldValue: String? = nil,
        newValue: String? = nil
    ) {
        self.part = part
        self.change = change
        self.old = old
        self.new = new
        self.oldValue = oldValue
        self.newValue = newValue
    }
}

/// The effects of a reload on the side effects of a system that run or wait. Names of feedbacks, sorted.
public struct FeedbackChanges: Codable, Sendable, Hashable {
    /// They go on, because the feedback means the same.
    public var goingOn: [String]
    /// They end.
    public var ending: [String]
    /// Running ones finish before the new definition begins.
    public var finishing: [String]
    /// The reload is rejected while they run.
    public var refusing: [String]
    /// New or changed feedbacks for the state in which the system continues or begins, unless a condition excludes it.
    public var beginning: [String]

    /// Changes of side effects.
    public init(
        goingOn: [String] = [], ending: [String] = [], finishing: [String] = [], refusing: [String] = [],
        beginning: [String] = []
    ) {
        self.goingOn = goingOn
        self.ending = ending
        self.finishing = finishing
        self.refusing = refusing
        self.beginning = beginning
    }
}

/// The change of one part.
public struct PlanStep: Codable, Sendable, Hashable {
    /// The kind of the part.
    public var kind: PartKind
    /// Its name.
    public var name: String
    /// The kind of the change.
    public var action: PlanAction
    /// The value of the bus afterwards.
    public var value: ValueAfterChange?
    /// The reason, if it is not obvious.
    public var reason: String?
    /// The effects on the side effects of a system; nil if none runs, waits or begins.
    public var feedbacks: FeedbackChanges?
    /// The parts in which its definition differs: the first of them.
    public var changes: [PartChange]
    /// The number of further ones.
    public var moreChanges: Int

    /// The limit on parts in a step.
    public static let mostChanges = 16

    /// A step.
    public init(
        kind: PartKind, name: String, action: PlanAction, value: ValueAfterChange? = nil, reason: String? = nil,
        feedbacks: FeedbackChanges? = nil,
        changes: [PartChange] = [], moreChanges: Int = 0
    ) {
        self.kind = kind
        self.name = name
        self.action = action
        self.value = value
        self.reason = reason
        self.feedbacks = feedbacks
        self.changes = changes
        self.moreChanges = moreChanges
    }
}

/// A further place that takes part in a diagnostic, such as a hop of a loop.
public struct DiagnosticNote: Codable, Sendable, Hashable {
    /// The file.
    public var file: String
    /// The line, from 1.
    public var line: Int
    /// The character of the line, from 1.
    public var column: Int
    /// Its part in the diagnostic.
    public var message: String

    /// A note.
    public init(file: String, line: Int, column: Int, message: String) {
        self.file = file
        self.line = line
        self.column = column
        self.message = message
    }
}

/// An error or a warning about a configuration. Its name on the wire is `Diagnostic`.
public struct ReportedDiagnostic: Codable, Sendable, Hashable {
    /// `error` or `warning`.
    public var severity: String
    /// Its code.
    public var code: String
    /// Where: `file:line:column`.
    public var location: String?
    /// The file.
    public var file: String?
    /// The line, from 1.
    public var line: Int?
    /// The character of the line, from 1.
    public var column: Int?
    /// The number of characters of the place.
    public var length: Int?
    /// The problem.
    public var message: String
    /// The advice.
    public var hint: String?
    /// The line, without control characters; of long ones a part.
    public var excerpt: String?
    /// The further places; nil for none.
    public var notes: [DiagnosticNote]?
    /// All of it, as it is printed; several lines.
    public var text: String

    /// A diagnostic.
    public init(
        severity: String, code: String, location: String? = nil, file: String? = nil, line: Int? = nil,
        column: Int? = nil, length: Int? = nil, message: String, hint: String? = nil, excerpt: String? = nil,
        notes: [DiagnosticNote]? = nil, text: String
    ) {
        self.severity = severity
        self.code = code
        self.location = location
        self.file = file
        self.line = line
        self.column = column
        self.length = length
        self.message = message
        self.hint = hint
        self.excerpt = excerpt
        self.notes = notes
        self.text = text
    }
}

/// The result of the last reload, or change of a link.
public struct ReloadVerdict: Codable, Sendable, Hashable {
    /// When (RFC 3339, UTC).
    public var time: String
    /// Whether it was applied; if not, nothing changed.
    public var applied: Bool
    /// The changes, or the reason why there were none.
    public var summary: String
    /// The link, if it was a change of one.
    public var link: String?

    /// A verdict.
    public init(time: String, applied: Bool, summary: String, link: String? = nil) {
        self.link = link
        self.time = time
        self.applied = applied
        self.summary = summary
    }
}

/// A reload, or the change of a link, in progress.
public struct ChangeUnderway: Codable, Sendable, Hashable {
    /// Since when (RFC 3339, UTC).
    public var since: String
    /// The link, if it is a change of one.
    public var link: String?
    /// The number of others that wait for their turn.
    public var waiting: Int

    /// A change.
    public init(since: String, link: String? = nil, waiting: Int = 0) {
        self.since = since
        self.link = link
        self.waiting = waiting
    }
}

/// The number of reloads and changes of links since the start.
public struct ReloadCounters: Codable, Sendable, Hashable {
    /// The number that was applied, including those without any change.
    public var applied: Int
    /// The number that was rejected; each changed nothing.
    public var rejected: Int

    /// Numbers.
    public init(applied: Int = 0, rejected: Int = 0) {
        self.applied = applied
        self.rejected = rejected
    }
}

/// The parameters of `Reload`.
public struct ReloadParameters: Codable, Sendable, Hashable {
    /// Whether to forget the changes of links that are in no file.
    public var dropTransient: Bool?
    /// Whether the steps include parts that do not change.
    public var all: Bool?

    /// A request.
    public init(dropTransient: Bool? = nil, all: Bool? = nil) {
        self.dropTransient = dropTransient
        self.all = all
    }
}

/// The parameters of `Plan`.
public struct PlanParameters: Codable, Sendable, Hashable {
    /// The directory to read, absolute; nil: those of the daemon.
    public var directory: String?
    /// Whether the changes of links that are in no file would be forgotten.
    public var dropTransient: Bool?
    /// Whether the steps include parts that do not change.
    public var all: Bool?

    /// A question.
    public init(directory: String? = nil, dropTransient: Bool? = nil, all: Bool? = nil) {
        self.directory = directory
        self.dropTransient = dropTransient
        self.all = all
    }
}

/// The reply to `Plan`.
public struct PlanReply: Codable, Sendable, Hashable {
    /// Whether the configuration on disk has no error.
    public var valid: Bool
    /// All of it in a line.
    public var summary: String
    /// The change of every part: systems, buses, links, each by name. It is empty if the configuration is not valid.
    public var steps: [PlanStep]
    /// The number of errors.
    public var errors: Int
    /// The number of warnings.
    public var warnings: Int
    /// The first of them.
    public var diagnostics: [ReportedDiagnostic]
    /// The links whose changes, which are in no file, would stay in force.
    public var transient: [String]

    /// A reply.
    public init(
        valid: Bool, summary: String, steps: [PlanStep] = [], errors: Int = 0, warnings: Int = 0,
        diagnostics: [ReportedDiagnostic] = [], transient: [String] = []
    ) {
        self.transient = transient
        self.valid = valid
        self.summary = summary
        self.steps = steps
        self.errors = errors
        self.warnings = warnings
        self.diagnostics = diagnostics
    }
}

/// The reply to `Reload`.
public struct ReloadReply: Codable, Sendable, Hashable {
    /// Whether the configuration on disk is active now; if not, nothing has changed.
    public var applied: Bool
    /// The number of the configuration that runs.
    public var generation: Int
    /// The changes, or the reason why there were none, in a line.
    public var summary: String
    /// The change of every part; those that do not change are included on request only.
    public var steps: [PlanStep]
    /// The number of errors.
    public var errors: Int
    /// The number of warnings.
    public var warnings: Int
    /// The first of them.
    public var diagnostics: [ReportedDiagnostic]
    /// The new systems that were not ready in time, or are failed.
    public var late: [String]
    /// By their names, how they are, and why.
    public var lateReasons: [String: String]
    /// The old systems whose side effects did not end in time.
    public var leftBehind: [String]
    /// The links whose changes, which are in no file, are in force.
    public var transient: [String]

    /// A reply.
    public init(
        applied: Bool, generation: Int, summary: String, steps: [PlanStep] = [], errors: Int = 0, warnings: Int = 0,
        diagnostics: [ReportedDiagnostic] = [], late: [String] = [], lateReasons: [String: String] = [:],
        leftBehind: [String] = [],
        transient: [String] = []
    ) {
        self.transient = transient
        self.applied = applied
        self.generation = generation
        self.summary = summary
        self.steps = steps
        self.errors = errors
        self.warnings = warnings
        self.diagnostics = diagnostics
        self.late = late
        self.lateReasons = lateReasons
        self.leftBehind = leftBehind
    }
}
