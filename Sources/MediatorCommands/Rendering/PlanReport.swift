import MediatorControl
import StrictJSON

/// The answer of `plan`.
struct PlanReport: Report {
    let reply: PlanReply

    func encode(to encoder: any Encoder) throws { try reply.encode(to: encoder) }

    func text(_ style: TextStyle) -> String {
        let diagnostics = DiagnosticText.text(reply.diagnostics, errors: reply.errors, warnings: reply.warnings)
        let steps = StepTable.text(reply.steps, style)
        guard reply.valid else {
            return diagnostics + steps + "a reload would be rejected: \(PlainText.cleaned(reply.summary))\n"
        }
        let isEmpty = reply.steps.allSatisfy { $0.action == .keep }
        let summary = PlainText.cleaned(reply.summary)
        let links = reply.transient
        let changes = Count.text(links.count, "change that is in no file stays", "changes that are in no file stay")
        return diagnostics + steps + (isEmpty ? "nothing to do: \(summary)\n" : "a reload would do: \(summary)\n")
            + (links.isEmpty ? "" : "\(changes) in force, of \(PlainText.names(links))\n")
    }
}

/// The answer of `reload`.
struct ReloadReport: Report {
    let reply: ReloadReply

    func encode(to encoder: any Encoder) throws { try reply.encode(to: encoder) }

    func text(_ style: TextStyle) -> String {
        let diagnostics = DiagnosticText.text(reply.diagnostics, errors: reply.errors, warnings: reply.warnings)
        let summary = PlainText.cleaned(reply.summary)
        guard reply.applied else { return diagnostics + "reload rejected, nothing has changed: \(summary)\n" }
        var lines = diagnostics + StepTable.text(reply.steps, style)
        lines += "reloaded: \(summary)\n"
        lines += LateText.text(reply.late, reply.lateReasons)
        if !reply.leftBehind.isEmpty {
            lines += "side effects did not end in time, and were left behind: \(PlainText.names(reply.leftBehind))\n"
        }
        return lines
    }
}

/// Diagnostics as the daemon prints them.
enum DiagnosticText {
    static func text(_ diagnostics: [ReportedDiagnostic], errors: Int, warnings: Int) -> String {
        // Each line is cleaned by itself, since a diagnostic has several.
        var lines = diagnostics.flatMap { $0.text.split(separator: "\n", omittingEmptySubsequences: false) }
            .map { PlainText.cleaned(String($0)) + "\n" }
        let hidden = errors + warnings - diagnostics.count
        if hidden > 0 { lines.append("… and \(hidden) more; see mediatorctl validate\n") }
        return lines.joined()
    }
}

/// The systems that were not ready in time, or are failed, a line each.
enum LateText {
    static func text(_ late: [String], _ reasons: [String: String]) -> String {
        late.map { PlainText.cleaned("\($0): \(reasons[$0] ?? "not ready in time")") + "\n" }.joined()
    }
}

/// The steps of a plan as a table.
enum StepTable {
    static func text(_ steps: [PlanStep], _ style: TextStyle) -> String {
        guard !steps.isEmpty else { return "" }
        let columns: [Table.Column] = [
            .text("PART"), .name("NAME"), .text("ACTION"), .text("VALUE"), .flexible("FEEDBACKS"), .flexible("WHY"),
        ]
        let rows = steps.map { step -> [Table.Cell] in
            [
                .init(step.kind.rawValue), .init(step.name), .init(step.action.rawValue, color(step.action)),
                .init(step.value?.rawValue ?? ""), .init(step.feedbacks.map(text) ?? ""),
                .init(step.reason ?? ""),
            ]
        }
        return Table(columns, rows: rows).text(style) + steps.map { changes(of: $0, style) }.joined()
    }

    /// The side effects by the effect of a reload on them: `goes on: probe; ends: copy`.
    private static func text(_ feedbacks: FeedbackChanges) -> String {
        let words = [
            ("refuses", feedbacks.refusing), ("goes on", feedbacks.goingOn), ("finishes", feedbacks.finishing),
            ("ends", feedbacks.ending), ("begins", feedbacks.beginning),
        ]
        return words.filter { !$0.1.isEmpty }.map { "\($0.0): \($0.1.joined(separator: ", "))" }
            .joined(separator: "; ")
    }

    /// The parts of its definition that differ:
    /// `changed  feedback measure  1m → 5m  disk.yaml:12:3, was disk.yaml:11:3`.
    private static func changes(of step: PlanStep, _ style: TextStyle) -> String {
        guard !step.changes.isEmpty else { return "" }
        let hasValues = step.changes.contains { $0.newValue != nil }
        let rows = step.changes.map { change -> [Table.Cell] in
            let was = change.old == change.new ? nil : change.old.map { change.new == nil ? $0 : "was \($0)" }
            return [
                .init(change.change.rawValue), .init(change.part),
            ] + (hasValues ? [.init(values(of: change))] : []) + [
                .init([change.new, was].compactMap(\.self).joined(separator: ", "), .dim)
            ]
        }
        let columns: [Table.Column] =
            [.text(""), .name("")] + (hasValues ? [.flexible("")] : []) + [.flexible("")]
        let more = step.moreChanges > 0 ? "  and \(step.moreChanges) more\n" : ""
        return "\(step.kind.rawValue) \(PlainText.cleaned(step.name)):\n"
            + Table(columns, rows: rows).text(style, indentation: 2, hasHead: false)
            + more
    }

    private static func values(of change: PartChange) -> String {
        guard let old = change.oldValue, let new = change.newValue else { return "" }
        return "\(PlainText.value(.string(old))) → \(PlainText.value(.string(new)))"
    }

    private static func color(_ action: PlanAction) -> TextStyle.Color? {
        switch action {
        case .keep: nil
        case .add, .migrate, .change: .yellow
        case .restart, .remove: .red
        }
    }
}
