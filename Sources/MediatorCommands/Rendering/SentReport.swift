import MediatorControl
import Varlink

/// The answer of `emit`: what was sent.
struct EmittedReport: Report {
    let event: EmitParameters

    func encode(to encoder: any Encoder) throws { try event.encode(to: encoder) }

    func text(_ style: TextStyle) -> String {
        let fields = event.data.map(PlainText.fields) ?? ""
        return "emitted \(PlainText.cleaned(event.event))\(fields.isEmpty ? "" : " \(fields)") "
            + "to system \(PlainText.cleaned(event.system))\n"
    }
}

/// The answer of `publish`: what was sent.
struct PublishedReport: Report {
    let value: PublishParameters

    func encode(to encoder: any Encoder) throws { try value.encode(to: encoder) }

    func text(_ style: TextStyle) -> String {
        "published \(PlainText.value(value.value)) on bus \(PlainText.cleaned(value.bus))\n"
    }
}

/// The answer of `restart` and `reset`: how the system is then.
struct TreatedReport: Report {
    /// What was done with it.
    let word: String
    let system: SystemSummary

    func encode(to encoder: any Encoder) throws { try system.encode(to: encoder) }

    func text(_ style: TextStyle) -> String {
        let state = StateText.text(system.state)
        return "\(word) system \(PlainText.cleaned(system.name)), which is in \(state)\n"
    }
}
