import MediatorControl

/// The answer of `attach`, `detach` and `set`.
struct ChangeReport: Report {
    let reply: ChangeReply
    let link: String
    /// The change, such as `attached`.
    let done: String
    let isDryRun: Bool

    func encode(to encoder: any Encoder) throws { try reply.encode(to: encoder) }

    func text(_ style: TextStyle) -> String {
        let diagnostics = DiagnosticText.text(reply.diagnostics, errors: reply.errors, warnings: reply.warnings)
        let summary = PlainText.cleaned(reply.summary)
        guard reply.valid else {
            return diagnostics
                + (isDryRun ? "it would be rejected: \(summary)\n" : "rejected, nothing has changed: \(summary)\n")
        }
        guard reply.changed else { return "nothing \(isDryRun ? "would change" : "has changed"): \(summary)\n" }
        let name = PlainText.cleaned(link)
        var lines = diagnostics + StepTable.text(reply.steps, style)
        if isDryRun {
            lines += "link '\(name)' would be \(done): \(summary)\n"
            if let file = reply.file {
                let path = PlainText.cleaned(file.path)
                lines +=
                    file.removed
                    ? "removed would be \(path), in which nothing is left\n"
                    : "written would be \(path):\n" + Self.indented(file.text)
            }
            return lines
        }
        lines += "link '\(name)' \(done): \(summary)\n"
        if let file = reply.file {
            let path = PlainText.cleaned(file.path)
            lines += file.removed ? "removed, since nothing is left in it: \(path)\n" : "written: \(path)\n"
        } else if reply.transient.contains(link) {
            let verb = done == "detached" ? "detach" : "set"
            lines +=
                "It is in no file, and holds until mediatord ends; 'mediatorctl \(verb) \(name) --persist' writes it.\n"
        }
        lines += LateText.text(reply.late, reply.lateReasons)
        return lines
    }

    private static func indented(_ text: String) -> String {
        text.split(separator: "\n").map { "  " + PlainText.cleaned(String($0)) + "\n" }.joined()
    }
}
