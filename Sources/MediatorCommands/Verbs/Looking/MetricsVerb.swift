import ArgumentParser
import MediatorControl

/// `mediatorctl metrics`
struct MetricsVerb: ControlVerb {
    static let configuration = CommandConfiguration(
        commandName: "metrics",
        abstract: "Print the metrics of the daemon in Prometheus' text format.",
        discussion: """
            Per system: health, state, events, transitions, faults, restarts, mailbox; per feedback: running side \
            effects, their outcomes and durations; per bus: values, drops, readers; per link: the number of times \
            that it fired. `mediatord --metrics` serves the same over HTTP. With --json it is one object with the \
            member 'text'.

            EXAMPLES
              mediatorctl metrics
              mediatorctl metrics > /var/lib/prometheus/node-exporter/mediatord.prom

            \(CommandStatus.help(.ofControl))
            """
    )

    @OptionGroup var options: CommandOptions

    func perform(in session: Session) async throws -> CommandStatus {
        try session.show(MetricsReport(reply: ReadMetricsReply(text: try await session.client.metrics())))
        return .success
    }
}

/// The answer of `metrics`.
private struct MetricsReport: Report {
    let reply: ReadMetricsReply

    func encode(to encoder: any Encoder) throws { try reply.encode(to: encoder) }

    func text(_ style: TextStyle) -> String {
        let isPlain = reply.text.utf8.allSatisfy { (0x20..<0x7F).contains($0) || $0 == UInt8(ascii: "\n") }
        if isPlain, reply.text.hasSuffix("\n") { return reply.text }
        return reply.text.split(separator: "\n").map { PlainText.cleaned(String($0)) + "\n" }.joined()
    }
}
