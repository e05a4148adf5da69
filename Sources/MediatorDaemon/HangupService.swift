import Logging
import ServiceLifecycle
import UnixSignals

/// Reloads the configuration at each `SIGHUP`, as daemons do by custom.
struct HangupService: Service, CustomStringConvertible {
    let signals: UnixSignalsSequence
    let reloader: Reloader

    /// What the group of services calls it; by itself that would write out everything that it holds.
    var description: String { "reload on SIGHUP" }

    func run() async {
        // Nobody waits here for its end, so that it does not hold up the daemon's.
        await cancelWhenGracefulShutdown {
            for await _ in signals { reloader.reloadSoon(["cause": "SIGHUP"]) }
        }
    }
}
