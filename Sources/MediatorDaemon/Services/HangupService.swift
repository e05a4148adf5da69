import Logging
import MediatorHost
import ServiceLifecycle

/// Reloads the configuration at each `SIGHUP`, as daemons do by custom, and sees to the file of the control socket.
struct HangupService: Service, CustomStringConvertible {
    let signals: AsyncStream<Int32>
    let host: Host
    let reloader: Reloader
    let keeper: ControlSocketKeeper

    /// The name in the group of services, which would otherwise print every property.
    var description: String { "reload on SIGHUP" }

    func run() async {
        // Nobody waits here for its end, so that it does not hold up the daemon's.
        await cancelWhenGracefulShutdown {
            for await _ in signals {
                // A reload may wait for the side effects of systems that it ends. A further signal ends that.
                host.cancelSideEffects()
                await keeper.check()
                reloader.reloadSoon(["cause": "SIGHUP"])
            }
        }
    }
}
