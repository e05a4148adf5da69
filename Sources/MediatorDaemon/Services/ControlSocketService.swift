import ServiceLifecycle
import Varlink

/// Serves the control socket until the daemon ends.
struct ControlSocketService: Service, CustomStringConvertible {
    let service: VarlinkService
    /// Whether somebody else keeps the socket open, so that who connects while the daemon ends is served by the next one.
    let isLasting: Bool
    /// The time that calls in progress have to finish.
    static let closeLimit = Duration.seconds(1)
    /// The time that connected clients have for their first call, if later clients wait for the next daemon.
    static let firstCallLimit = Duration.seconds(3)

    /// The name in the group of services, which would otherwise print every property.
    var description: String { "control socket" }

    func run() async {
        try? await gracefulShutdown()
        // The daemon answers clients that it accepted before the stop. They are not sent to the next daemon.
        let limit = isLasting ? Self.firstCallLimit : Self.closeLimit
        await service.close(within: limit, servingFirstCalls: isLasting)
    }
}

/// Lets clients in until the daemon begins to end, where the control socket outlasts it.
struct ControlSocketEntrance: Service, CustomStringConvertible {
    let service: VarlinkService

    /// The name in the group of services, which would otherwise print every property.
    var description: String { "entrance of the control socket" }

    func run() async {
        try? await gracefulShutdown()
        await service.stopListening()
    }
}
