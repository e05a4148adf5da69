import CommonExpression
import FeedbackKit
import Glibc
import Logging
import MediatorConfiguration
import MediatorHost
import ServiceLifecycle
import Synchronization
import Systemd

/// Runs a host for as long as the daemon runs, and tells the service manager how it is.
struct HostService: Service, CustomStringConvertible {
    let host: Host
    let notifier: Notifier
    let readyLimit: Duration
    let stopLimit: Duration
    let logger: Logger
    /// The systems that begin with a pause.
    let pausing: Set<String>
    /// Called when every system has begun.
    let began: @Sendable () -> Void
    /// Called before the service manager is told that everything is ready.
    let becomesReady: @Sendable () -> Void
    /// Calls a function with one line about how everything is.
    let withStatus: @Sendable (_ send: (String) -> Void) async -> Void
    /// The log line when everything is ready.
    let greeting: @Sendable () -> Void
    /// Called before everything is stopped.
    let stopping: @Sendable () -> Void
    /// Called when everything has been stopped, or left behind.
    let ended: @Sendable () async -> Void
    /// Called when something had not ended in time.
    let overdue: @Sendable () -> Void

    /// The name in the group of services, which would otherwise print every property.
    var description: String { "host" }

    func run() async {
        host.start(pausing: pausing, by: geteuid(), named: "mediatord", because: StoreKeeper.pauseReason)
        began()
        await cancelWhenGracefulShutdown {
            let late = await notifier.askingForTime(
                host.time, telling: { "starting: \(host.statusText)" }
            ) { await host.ready(within: readyLimit) }
            if Task.isCancelled { return }
            if !late.isEmpty {
                logger.warning(
                    "not every system is ready; going on without them",
                    metadata: .about(
                        .notEverythingReady,
                        [
                            "systems": "\(late.joined(separator: ", "))",
                            "limit": "\(host.readinessLimits(of: late, else: readyLimit))",
                        ]))
            }
            // A client that learns that the daemon is ready may reload at once, and waits for the result.
            becomesReady()
            await withStatus { notifier.tellReady($0, "everything is ready", logger) }
            greeting()
            for await _ in host.healthChanges {
                await withStatus { notifier.notify(.status($0)) }
            }
        }
        // A second signal ends the wait. The log line below may cause one at once, so this comes first.
        let signals = SignalThread.shared?.signals(SIGTERM, SIGINT)
        logger.info("stopping", metadata: .about(.stopping))
        stopping()
        let impatience = Task { [host, logger] in
            guard let signals else { return }
            for await signal in signals {
                let name = signal == SIGTERM ? "SIGTERM" : "SIGINT"
                logger.notice("side effects are cancelled now, on a second signal", metadata: ["signal": "\(name)"])
                return host.cancelSideEffects()
            }
        }
        let leftBehind = await notifier.askingForTime(host.time) {
            await host.stop(within: stopLimit)
        }
        impatience.cancel()
        // A task that is cancelled waits for nothing that runs.
        if leftBehind.isEmpty, !Task.isCancelled {
            logger.info("stopped", metadata: .about(.stopped))
        } else {
            logger.error(
                "side effects did not end in time; they are abandoned",
                metadata: .about(
                    .leftBehind,
                    [
                        "systems": "\(leftBehind.joined(separator: ", "))",
                        "limit": "\(stopLimit + Host.forcedEndLimit)",
                    ]))
            overdue()
        }
        await ended()
    }
}

extension Host {
    /// The time that systems had to become ready: one limit for all, or the different ones by name.
    func readinessLimits(of systems: [String], else limit: Duration) -> String {
        let own = Dictionary(
            snapshot.graph.systems.compactMap { system in
                system.readinessLimit.within.map { (system.name, $0.brief) }
            }, uniquingKeysWith: { first, _ in first })
        let common = TimeSpan(limit)?.brief ?? "\(limit)"
        let texts = systems.map { own[$0] ?? common }
        guard let first = texts.first, texts.contains(where: { $0 != first }) else { return texts.first ?? common }
        return zip(systems, texts).map { "\($0) \($1)" }.joined(separator: ", ")
    }
}

extension Notifier {
    /// Tells the service manager that a start or a reload is over. It waits for that: what cannot be sent is at least said.
    ///
    /// - Parameter event: the message to the service manager, for the log.
    func tellReady(_ status: String, _ event: String, _ logger: Logger) {
        guard case .failed(let number) = notify(.ready, .status(status)) else { return }
        logger.error(
            "cannot tell the service manager that \(event)",
            metadata: ["reason": "\(String(cString: strerror(number)))"])
    }

    /// The interval between two requests for more time.
    private static let askPeriod = Duration.seconds(2)
    /// The time that each request asks for.
    private static let askedTime = Duration.seconds(15)

    /// Asks the service manager for more time while something lasts. It must have a limit of its own. Without that, the
    /// service manager would take a long start, reload or stop for one that hangs.
    ///
    /// - Parameter status: a description of the work, sent with each request.
    func askingForTime<Result>(
        _ time: HostTime, telling status: (@Sendable () -> String)? = nil, _ body: () async -> Result
    ) async -> Result {
        let asking = Task(priority: .management) {
            while (try? await time.clock.sleep(for: Self.askPeriod)) != nil {
                if let status {
                    notify(.extendTimeout(Self.askedTime), .status(status()))
                } else {
                    notify(.extendTimeout(Self.askedTime))
                }
            }
        }
        let result = await body()
        // This ends before any other message, so that no message seems to ask for more time.
        asking.cancel()
        await asking.value
        return result
    }
}
