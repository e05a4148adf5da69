import MediatorControl
import Varlink

/// A state that was waited for, and has been entered.
struct ReachedState: Encodable, Sendable {
    /// The name of the system.
    let name: String
    /// The state.
    let state: SystemState
    /// When it was entered (RFC 3339, UTC).
    let time: String

    private enum CodingKeys: String, CodingKey {
        case name = "system"
        case state, time
    }

    private enum ListKey: String, CodingKey {
        case reached
    }

    /// Writes the awaited states beside the sent event, if there are any.
    static func encode(_ states: [ReachedState], to encoder: any Encoder) throws {
        guard !states.isEmpty else { return }
        var container = encoder.container(keyedBy: ListKey.self)
        try container.encode(states, forKey: .reached)
    }

    /// For people.
    func text(_ style: TextStyle) -> String {
        "\(PlainText.cleaned(name)) is in \(StateText.brief(state, style))\n"
    }
}

/// Since when a system is paused, and by whom.
enum PauseText {
    static func text(_ pause: Pause, _ style: TextStyle) -> String {
        "since \(style.moment(pause.since)) by \(PlainText.cleaned(pause.user ?? "user \(pause.uid)"))"
    }
}

/// The answer of `emit`: what was sent.
struct EmittedReport: Report {
    let event: EmitParameters
    /// Its system is paused, so it waits.
    var paused: Pause?
    /// The awaited state, which has come.
    var reached: [ReachedState] = []

    private enum Key: String, CodingKey {
        case paused
    }

    func encode(to encoder: any Encoder) throws {
        try event.encode(to: encoder)
        var container = encoder.container(keyedBy: Key.self)
        try container.encodeIfPresent(paused, forKey: .paused)
        try ReachedState.encode(reached, to: encoder)
    }

    func text(_ style: TextStyle) -> String {
        let fields = StateText.brief(event.data.map(style.fields) ?? "")
        let name = PlainText.cleaned(event.system)
        let waits = paused.map { pause in
            "it waits: \(name) is paused \(PauseText.text(pause, style)), until `mediatorctl resume \(name)`\n"
        }
        return "emitted \(PlainText.cleaned(event.event))\(fields.isEmpty ? "" : " \(fields)") "
            + "to system \(name)\n" + (waits ?? "") + reached.map { $0.text(style) }.joined()
    }
}

/// The answer of `publish`: what was sent.
struct PublishedReport: Report {
    let value: PublishParameters
    /// The awaited state, which has come.
    var reached: [ReachedState] = []

    func encode(to encoder: any Encoder) throws {
        try value.encode(to: encoder)
        try ReachedState.encode(reached, to: encoder)
    }

    func text(_ style: TextStyle) -> String {
        "published \(StateText.brief(style.value(value.value))) on bus \(PlainText.cleaned(value.bus))\n"
            + reached.map { $0.text(style) }.joined()
    }
}

/// The answer of `log-level`.
struct LogLevelReport: Report {
    let reply: LogLevelReply

    func encode(to encoder: any Encoder) throws { try reply.encode(to: encoder) }

    func text(_ style: TextStyle) -> String {
        let other = reply.level == reply.given ? "" : ", and was started with \(reply.given.rawValue)"
        return "mediatord logs \(reply.level.rawValue) and more severe levels\(other)\n"
    }
}

/// The answer of `restart`, `reset`, `pause` and `resume` if the daemon cannot describe the system afterwards.
struct BareTreatedReport: Report {
    /// The act.
    let word: String
    let name: String
    /// Whether it was not so already.
    let isNews: Bool
    /// The reason why the system cannot be described.
    let reason: String

    private enum Key: String, CodingKey {
        case name, changed, reason
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Key.self)
        try container.encode(name, forKey: .name)
        try container.encode(isNews, forKey: .changed)
        try container.encode(reason, forKey: .reason)
    }

    func text(_ style: TextStyle) -> String {
        let outcome = isNews ? "is \(word)" : word == "resumed" ? "is not paused" : "is \(word) already"
        return "\(PlainText.cleaned(name)) \(outcome); its present state is not known: \(PlainText.cleaned(reason))\n"
    }
}

/// The answer of `restart`, `reset`, `pause` and `resume`: how the system is then.
struct TreatedReport: Report {
    /// The act.
    let word: String
    let system: SystemSummary
    /// Whether it was not so already.
    var isNews = true

    private enum Key: String, CodingKey {
        case changed
    }

    func encode(to encoder: any Encoder) throws {
        try system.encode(to: encoder)
        guard !isNews else { return }
        var container = encoder.container(keyedBy: Key.self)
        try container.encode(false, forKey: .changed)
    }

    func text(_ style: TextStyle) -> String {
        let state = StateText.brief(system.state, style)
        guard isNews else {
            let since = system.paused.map { " \(PauseText.text($0, style))" } ?? ""
            let word = since.isEmpty ? "not paused" : "\(word) already"
            return "system \(PlainText.cleaned(system.name)) is \(word)\(since), and is in \(state)\n"
        }
        let name = PlainText.cleaned(system.name)
        // Events for a paused system wait like its others.
        if word == "reset", let pause = system.paused {
            return
                "\(name) is reset when it is resumed: it is paused \(PauseText.text(pause, style)), and is in \(state)\n"
        }
        return "\(word) system \(name), which is in \(state)\n"
    }
}
