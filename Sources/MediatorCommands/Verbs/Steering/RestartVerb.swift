import ArgumentParser
import MediatorControl
import Varlink

/// `mediatorctl restart`
struct RestartVerb: ControlVerb {
    static let configuration = CommandConfiguration(
        commandName: "restart",
        abstract: "Stop a system and start it again, in its initial state.",
        discussion: """
            Its side effects are cancelled, and the events in its mailbox are dropped. Buses that remember send it \
            their values again. A system that has ended because of faults starts, too. Others of its group go on. \
            Returns when the system has started.

            EXAMPLES
              mediatorctl restart uplink
              mediatorctl restart uplink --json

            \(CommandStatus.help(.ofControl))
            """
    )

    @Argument(help: "The name of the system.")
    var system: String

    @OptionGroup var options: CommandOptions

    /// The time to end side effects by force, and some more.
    var patience: Double { 15 }

    func perform(in session: Session) async throws -> CommandStatus {
        try await treat(system, in: session, word: "restarted") {
            try await $0.restart($1)
            return true
        }
    }
}

/// `mediatorctl reset`
struct ResetVerb: ControlVerb {
    static let configuration = CommandConfiguration(
        commandName: "reset",
        abstract: "Send a system to its initial state.",
        discussion: """
            It goes there before it takes another event, as by a transition: side effects that end with each new \
            state end, others go on, and the events in its mailbox stay.

            EXAMPLES
              mediatorctl reset uplink
              mediatorctl reset uplink --json

            \(CommandStatus.help(.ofControl))
            """
    )

    @Argument(help: "The name of the system.")
    var system: String

    @OptionGroup var options: CommandOptions

    func perform(in session: Session) async throws -> CommandStatus {
        try await treat(system, in: session, word: "reset") {
            try await $0.reset($1)
            return true
        }
    }
}

extension ControlVerb {
    /// Does something with a system, and shows how it is then. It needs no description first: an administrator can also act on
    /// a system that cannot be described.
    ///
    /// - Parameter body: whether it was not so already.
    func treat(
        _ name: String, in session: Session, word: String,
        _ body: @Sendable (ControlClient, String) async throws -> Bool
    ) async throws -> CommandStatus {
        var target = Target(name)
        guard target.kind == nil || target.kind == .system else {
            throw CommandError(.usage, "only a system can be \(word)")
        }
        target.kind = .system
        let (name, found) = (target.name, target)
        let isNews: Bool
        do {
            isNews = try await session.act { try await body($0, name) }
        } catch let error as ControlError {
            // The message for an unknown name suggests a similar one.
            if case .noSuchSystem = error {
                _ = try await session.freshly { try await found.find(in: $0, among: [.system]) }
            }
            throw error
        }
        // The act is done. It is no failure if a daemon that is stopping has closed the other connection since, or
        // cannot describe the system.
        do {
            let system = try await session.freshly { try await $0.describeSystem(name) }
            try session.show(TreatedReport(word: word, system: system.summary, isNews: isNews))
        } catch let error as VarlinkError {
            try session.show(BareTreatedReport(word: word, name: name, isNews: isNews, reason: "\(error)"))
        } catch let error as ControlError {
            try session.show(BareTreatedReport(word: word, name: name, isNews: isNews, reason: "\(error)"))
        }
        return .success
    }
}
