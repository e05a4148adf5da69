import CommonExpression
import Foundation
import MediatorConfiguration
import Testing

/// Compares the page about limits with the constants of the program.
@Suite struct `The page about limits` {
    private static func rows() throws -> [String] {
        let page = Snapshots.repository.appending(path: "Documentation/Reference/Limits.md")
        return try String(contentsOf: page, encoding: .utf8).split(separator: "\n").map(String.init)
    }

    /// A number with its thousands apart: `10 000`.
    private static func count(_ number: Int) -> String {
        var digits = String(number)
        var groups: [String] = []
        while digits.count > 3 {
            groups.insert(String(digits.suffix(3)), at: 0)
            digits.removeLast(3)
        }
        return ([digits] + groups).joined(separator: " ")
    }

    private static let expressions = Environment().limits

    private static let limits: [(what: String, limit: String)] = [
        ("size of a file", ByteSize.text(of: ConfigurationLimits.fileSize)),
        ("size of a file with all its drop-ins", ByteSize.text(of: ConfigurationLimits.layeredSize)),
        ("files of a configuration", count(ConfigurationLimits.files)),
        ("nesting of lists and mappings", count(ConfigurationLimits.nesting)),
        ("keys and values of a file, each alias counted as its content", count(ConfigurationLimits.nodes)),
        ("characters of a name", count(ConfigurationLimits.nameLength)),
        ("states of a system", count(ConfigurationLimits.states)),
        ("events of a system", count(ConfigurationLimits.events)),
        ("fields of a state, event or bus value", count(ConfigurationLimits.fields)),
        ("nesting of types; `list(list(int))` is 3", count(ConfigurationLimits.typeNesting)),
        (
            "rules of a system, each `any` expanded, and pairs of its states and events",
            count(ConfigurationLimits.expandedRules)
        ),
        (
            "compiled programs of a system or link, one for each state; 8 fields count as one",
            count(ConfigurationLimits.statePrograms)
        ),
        (
            "pairs of state and event of all instances, and one more for each state",
            count(ConfigurationLimits.instancePairs)
        ),
        ("programs of all instances", count(ConfigurationLimits.instancePrograms)),
        ("users, groups, systems and buses named by `access`", count(AccessRules.limit)),
        ("diagnostics of one file", count(ConfigurationLimits.diagnostics)),
        ("documents of one file with YAML errors", count(ConfigurationLimits.brokenDocuments)),
        ("a state, an event, a value of a bus", ByteSize.text(of: MemoryLimits.standard.value)),
        ("all states and values of buses", ByteSize.text(of: MemoryLimits.standard.states)),
        ("events in all mailboxes", ByteSize.text(of: MemoryLimits.standard.mailboxes)),
        ("data of the events in one mailbox", ByteSize.text(of: ConfigurationLimits.mailboxBytes)),
        ("length of an expression", ByteSize.text(of: expressions.sourceLength)),
        ("nesting of an expression", count(expressions.nesting)),
        ("literals, names, operators and calls of an expression", count(expressions.nodes)),
        ("literal regular expressions of an expression", count(expressions.patterns)),
        ("memory of a regular expression", ByteSize.text(of: expressions.patternMemory)),
        ("steps of an evaluation", count(expressions.cost)),
        (
            "text, or elements of a list or map, that an evaluation creates",
            ByteSize.text(of: expressions.valueSize)
        ),
        ("result of an evaluation", ByteSize.text(of: expressions.resultSize)),
        ("runs of a feedback, waiting ones included", count(FeedbackDefinition.mostRuns)),
        ("calendar times of a feedback", count(ConfigurationLimits.calendarTimes)),
        ("ticks made up for by `missed: all`", count(MissedTicks.most)),
    ]

    @Test(arguments: limits.indices)
    func `has each limit as the program has it`(index: Int) throws {
        let (what, limit) = Self.limits[index]
        #expect(
            try Self.rows().contains { $0 == "| \(what) | \(limit) |" || $0.hasPrefix("| \(what) | \(limit) | ") },
            "| \(what) | \(limit) | …")
    }
}
