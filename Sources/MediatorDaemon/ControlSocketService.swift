import ServiceLifecycle
import Varlink

/// Serves the control socket until the daemon ends.
struct ControlSocketService: Service {
    let service: VarlinkService
    /// How long calls under way may take to finish.
    static let closeLimit = Duration.seconds(1)

    func run() async {
        try? await gracefulShutdown()
        await service.close(within: Self.closeLimit)
    }
}
