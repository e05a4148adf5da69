import ServiceLifecycle
import Varlink

/// Serves the control socket until the daemon ends.
struct ControlSocketService: Service, CustomStringConvertible {
    let service: VarlinkService
    /// Whether somebody else keeps the socket open, so that who connects while the daemon ends is served by the next one.
    let isLasting: Bool
    /// How long calls under way may take to finish.
    static let closeLimit = Duration.seconds(1)
    /// How long those who have connected may take to call, where the next ones wait for another daemon.
    static let firstCallLimit = Duration.seconds(3)

    /// What the group of services calls it; by itself that would write out everything that it holds.
    var description: String { "control socket" }

    func run() async {
        try? await gracefulShutdown()
        // Who was let in before the end began is answered, and not sent to the next daemon.
        let limit = isLasting ? Self.firstCallLimit : Self.closeLimit
        await service.close(within: limit, servingFirstCalls: isLasting)
    }
}

/// Lets clients in until the daemon begins to end, where the control socket outlasts it.
struct ControlSocketEntrance: Service, CustomStringConvertible {
    let service: VarlinkService

    /// What the group of services calls it; by itself that would write out everything that it holds.
    var description: String { "entrance of the control socket" }

    func run() async {
        try? await gracefulShutdown()
        await service.stopListening()
    }
}
