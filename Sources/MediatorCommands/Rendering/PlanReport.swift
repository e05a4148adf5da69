import MediatorControl

/// The answer of `plan`.
struct PlanReport: Report {
    let reply: PlanReply

    func encode(to encoder: any Encoder) throws { try reply.encode(to: encoder) }

    func text(_ style: TextStyle) -> String {
        let diagnostics = DiagnosticText.text(reply.diagnostics, errors: reply.errors, warnings: reply.warnings)
        guard reply.valid else {
            return diagnostics + "a reload would be rejected: \(PlainText.cleaned(reply.summary))\n"
        }
        let steps = StepTable.text(reply.steps, style)
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
            .text("PART"), .name("NAME"), .text("ACTION"), .text("VALUE"), .flexible("ENDING"), .flexible("WHY"),
        ]
        let rows = steps.map { step -> [Table.Cell] in
            [
                .init(step.kind.rawValue), .init(step.name), .init(step.action.rawValue, color(step.action)),
                .init(step.value?.rawValue ?? ""), .init(step.ending.joined(separator: ", ")),
                .init(step.reason ?? ""),
            ]
        }
        return Table(columns, rows: rows).text(style) + steps.map { changes(of: $0, style) }.joined()
    }

    /// The parts of its definition that differ: `feedback measure changed  disk.yaml:12:3, was disk.yaml:11:3`.
    private static func changes(of step: PlanStep, _ style: TextStyle) -> String {
        guard !step.changes.isEmpty else { return "" }
        let rows = step.changes.map { change -> [Table.Cell] in
            let was = change.old.map { change.new == nil ? $0 : "was \($0)" }
            return [
                .init(change.change.rawValue), .init(change.part),
                .init([change.new, was].compactMap(\.self).joined(separator: ", "), .dim),
            ]
        }
        let more = step.moreChanges > 0 ? "  and \(step.moreChanges) more\n" : ""
        return "\(step.kind.rawValue) \(PlainText.cleaned(step.name)):\n"
            + Table([.text(""), .name(""), .flexible("")], rows: rows).text(style, indentation: 2, hasHead: false)
            + more
    }

    private static func color(_ action: PlanAction) -> TextStyle.Color? {
        switch action {
        case .keep: nil
        case .add, .migrate, .change: .yellow
        case .restart, .remove: .red
        }
    }
}
