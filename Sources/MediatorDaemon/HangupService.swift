import Logging
import ServiceLifecycle
import UnixSignals

/// Reloads the configuration at each `SIGHUP`, as daemons do by custom.
struct HangupService: Service {
    let signals: UnixSignalsSequence
    let reloader: Reloader

    func run() async {
        await cancelWhenGracefulShutdown {
            for await _ in signals { _ = await reloader.reload(["cause": "SIGHUP"]) }
        }
    }
}
