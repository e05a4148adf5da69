import Durability
import MediatorHost
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

/// Tells the host which systems go on in memory, because the store does not have their states.
struct StoreTroubleService: Service, CustomStringConvertible {
    let store: StoreKeeper
    let host: Host

    /// The name in the group of services, which would otherwise print every property.
    var description: String { "troubles of the store" }

    func run() async {
        await cancelWhenGracefulShutdown {
            for await _ in store.news { store.tellTroubles(to: host) }
            try? await gracefulShutdown()
        }
    }
}
