import Durability
import ServiceLifecycle

/// Ends the daemon, in order, when its store fails for good.
struct StoreFailureService: Service, CustomStringConvertible {
    let failures: AsyncStream<StoreTrouble>
    /// Called when that is so.
    let failed: @Sendable () -> Void

    /// The name in the group of services, which would otherwise print every property.
    var description: String { "failures of the store" }

    func run() async {
        await cancelWhenGracefulShutdown {
            for await _ in failures {
                failed()
                return
            }
            try? await gracefulShutdown()
        }
    }
}
