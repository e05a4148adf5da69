import Logging
import ServiceLifecycle
import UnixSignals

/// Reloads the configuration at each `SIGHUP`, as daemons do by custom.
struct HangupService: Service {
    let signals: UnixSignalsSequence
    let reloader: Reloader

    func run() async {
        // Nobody waits here for its end, so that it does not hold up the daemon's.
        await cancelWhenGracefulShutdown {
            for await _ in signals { reloader.reloadSoon(["cause": "SIGHUP"]) }
        }
    }
}
