import ServiceLifecycle
import Varlink

/// Serves the control socket until the daemon ends.
struct ControlSocketService: Service, CustomStringConvertible {
    let service: VarlinkService
    /// How long calls under way may take to finish.
    static let closeLimit = Duration.seconds(1)

    /// What the group of services calls it; by itself that would write out everything that it holds.
    var description: String { "control socket" }

    func run() async {
        try? await gracefulShutdown()
        await service.close(within: Self.closeLimit)
    }
}
