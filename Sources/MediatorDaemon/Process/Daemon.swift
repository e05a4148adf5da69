import CommonExpression
import Glibc
public import Logging
public import MediatorConfiguration
public import MediatorHost
import NIOCore
import ServiceLifecycle
import SideEffects
import Synchronization
public import Systemd
import Varlink

/// The whole daemon: configuration → host → control socket → service manager.
///
/// It is a plain value, so that a test, or a program of one's own, can run it like `mediatord` does.
public struct Daemon: Sendable {
    /// The directories with the configuration.
    public var configuration: ConfigurationLayers
    /// The path of the control socket.
    public var socket: String
    /// Whether the directory of the control socket is made if it is not there.
    public var makesSocketDirectory = true
    /// The address that serves metrics over HTTP, such as `127.0.0.1:9464`; nil to serve none.
    public var metrics: String?
    /// The time that systems have to become ready. Then the daemon goes on without them.
    public var readyLimit = Duration.seconds(30)
    /// The time that side effects have to finish after a request to stop.
    public var stopLimit = Duration.seconds(10)
    /// The sockets and files that the service manager has passed to the process, including those that the previous
    /// daemon left.
    package var inheritance = Inheritance()
    /// The limit on open descriptors, of which connections may take half. With nil, ``run()`` raises the limit of the
    /// process as far as it wants and may, and uses that.
    package var descriptors: Int?
    /// The kinds of side effects that configured systems may use.
    public var effects = EffectCatalogue.builtin
    /// The kinds of systems written in Swift of which configurations may make instances.
    public var kinds = SystemCatalogue()
    /// The metrics that the process records through swift-metrics, to be served with the daemon's own; nil if somebody
    /// else serves them.
    package var recorded: RecordedMetrics?
    /// The source of values that the configuration only references.
    public var values = ExternalValues.process()
    /// The directory of the store; nil: what persists runs in memory.
    package var storePlace: StorePlace?
    /// The users and groups that there are.
    package var accounts = Accounts.machine
    /// The time within which a client without any right must send its first call.
    package var unauthorizedLimit = Duration.seconds(5)
    /// Whether a configuration with a warning is not valid.
    public var deniesWarnings = false
    /// The log.
    public var logger: Logger
    /// By which the level of ``logger`` can be changed while the daemon runs; nil: it cannot.
    public var logLevels: LogLevelSwitch?
    /// The service manager to notify.
    public var notifier = Notifier()
    /// The clock and the calendar; nil: the machine's.
    package var time: HostTime?
    /// Receives the diagnostics of the configuration, one call for each.
    public var report: @Sendable (Diagnostic) -> Void
    /// The command line of the client that reaches the daemon, for the log.
    public var client = "mediatorctl"

    /// A daemon that has not been started.
    public init(
        configuration: ConfigurationLayers, socket: String, logger: Logger,
        report: @escaping @Sendable (Diagnostic) -> Void
    ) {
        self.configuration = configuration
        self.socket = socket
        self.logger = logger
        self.report = report
    }

    /// Runs until it is asked to stop by `SIGTERM` or `SIGINT`, or cannot start. `SIGHUP` makes it read its configuration
    /// again.
    ///
    /// The order: the configuration is checked; the host is built; the control socket is opened; only then does
    /// anything start to run. So a daemon that cannot start has changed nothing.
    ///
    /// A program that calls this without ``DaemonCommand`` runs its tasks on the threads of Dispatch. Then nothing that needs
    /// a task goes on while the system has no thread to give.
    public func run() async -> ExitStatus {
        // A peer that has gone away is an error of a write, not the end of the daemon.
        signal(SIGPIPE, SIG_IGN)
        // Before the threads, because those of event loops take descriptors.
        let limit = descriptors ?? DescriptorLimit.raise()
        guard limit >= DescriptorLimit.least else { return refuseSocket(DescriptorLimit.TooLow(limit: limit)) }
        guard await DaemonThreads.start(), let signals = SignalThread.shared else {
            logger.critical("\(DaemonThreads.refusal)")
            tell(DaemonThreads.refusal, EAGAIN, .noThreads)
            return .noThreads
        }
        // From here on, so that one that comes early does not end the process: it is heeded when everything runs.
        let hangups = signals.signals(SIGHUP)
        let started = Self.now()
        notifier.notify(.status("checking the configuration"))
        let keeper = StateKeeper(inheritance, notifier: notifier, logger: logger)
        let store = StoreKeeper(
            storePlace, clock: hostTime.clock, logger: logger, make: StoreKeeper.onDisk(headCopy: "\(socket).head"))
        let (host, sources): (Host, ConfigurationSources)
        do throws(NoStart) {
            (host, sources) = try await build(continuing: keeper, store)
        } catch {
            tell(error.reason, error.number, error.status)
            return error.status
        }
        let reloader = Reloader(self, host, sources, store)
        // Before the socket exists, because a client may stop the daemon as soon as it sees the socket.
        let stops = signals.signals(SIGTERM, SIGINT)
        let service: ControlSocketService
        do {
            service = try await openSocket(host, reloader, started: started)
        } catch {
            return refuseSocket(error)
        }
        let endpoint: MetricsEndpoint?
        do {
            endpoint = try await openEndpoint(DaemonMetrics(reloader: reloader, recorded: recorded, started: started))
        } catch {
            logger.critical(
                "cannot serve the metrics",
                metadata: .about(.metricsNotServed, ["address": "\(metrics ?? "")", "reason": "\(Self.reason(error))"]))
            tell("cannot serve the metrics: \(Self.reason(error))", Self.number(of: error), .noControlSocket)
            await service.service.close(within: .zero)
            return .noControlSocket
        }
        // Not before the control socket is open, because the previous daemon has ended then.
        let path = service.service.path ?? socket
        await notifier.askingForTime(host.time, telling: { "ending commands of the previous run" }) {
            await CommandRecords.shared.start(beside: path, logger: logger)
        }
        // Before any system starts. A socket that another daemon serves has ended this start by now.
        guard await notifier.askingForTime(host.time, telling: { "opening the store" }, { await store.begin() }) else {
            tell(StoreKeeper.refusal, EIO, .escalated)
            await service.service.close(within: .zero)
            return .escalated
        }
        let status = await serve(
            host, service, endpoint, keeper, store, StopSignalService(signals: stops),
            HangupService(
                signals: hangups, host: host, reloader: reloader,
                keeper: ControlSocketKeeper(
                    service.service, path: path, isActivated: inheritance.activated != nil,
                    makesDirectory: makesSocketDirectory, audience: reloader.audience, notifier: notifier,
                    clock: host.time.clock, logger: logger)))
        await effects.shutDown()
        CommandRecords.shared.stop()
        await reloader.acts.flush()
        return status
    }

    /// Says why the control socket cannot be served.
    private func refuseSocket(_ error: any Error) -> ExitStatus {
        logger.critical(
            "cannot serve the control socket",
            metadata: .about(.socketNotServed, ["socket": "\(socket)", "reason": "\(error)"]))
        tell("cannot serve the control socket: \(error)", Self.number(of: error), .noControlSocket)
        return .noControlSocket
    }

    /// The system's text for a call that failed.
    private static func reason(_ error: any Error) -> String {
        guard let error = error as? IOError else { return "\(error)" }
        return String(cString: strerror(error.errnoCode))
    }

    /// Tells the service manager why the daemon ends.
    private func tell(_ reason: String, _ number: Int32?, _ status: ExitStatus) {
        notifier.notifyEnd(reason, number, status)
    }

    /// The number of errno(3) that is closest to an error, for the service manager; nil if none is.
    static func number(of error: any Error) -> Int32? {
        switch error {
        case let error as IOError: return error.errnoCode
        case let error as VarlinkError:
            if let number = error.errorNumber ?? error.cause.flatMap({ number(of: $0) }) { return number }
            switch error.code {
            case .addressInUse: return EADDRINUSE
            case .accessDenied: return EACCES
            case .notASocket, .notListening: return ENOTSOCK
            case .invalidPath: return ENAMETOOLONG
            default: return nil
            }
        case is WrongAddress: return EINVAL
        case is DescriptorLimit.TooLow: return EMFILE
        default: return nil
        }
    }

    /// The reason why metrics cannot be served at an address.
    private struct WrongAddress: Error, CustomStringConvertible {
        let description = "it is no address with a port, such as 127.0.0.1:9464"
    }

    private func openEndpoint(_ metrics: DaemonMetrics) async throws -> MetricsEndpoint? {
        guard let text = self.metrics else { return nil }
        guard let address = MetricsAddress(text) else { throw WrongAddress() }
        let host = metrics.reloader.host
        let endpoint = try await MetricsEndpoint.start(at: address) { path in
            switch path {
            case "/metrics":
                return MetricsEndpoint.Answer(
                    text: await metrics.text, type: "text/plain; version=0.0.4; charset=utf-8")
            case "/healthz":
                let snapshot = host.snapshot
                return MetricsEndpoint.Answer(
                    isWell: snapshot.health != .failed, text: snapshot.statusText + "\n")
            case "/readyz":
                let isReady = metrics.reloader.isReady && !host.isStopped
                return MetricsEndpoint.Answer(isWell: isReady, text: isReady ? "ready\n" : "not ready\n")
            default: return nil
            }
        }
        logger.notice("serving metrics", metadata: ["url": "http://\(endpoint.address)/metrics"])
        return endpoint
    }

    private func serve(
        _ host: Host, _ service: ControlSocketService, _ endpoint: MetricsEndpoint?, _ keeper: StateKeeper,
        _ store: StoreKeeper,
        _ stops: StopSignalService, _ hangups: HangupService
    ) async -> ExitStatus {
        let status = Mutex(ExitStatus.stopped)
        let escalated = Mutex<String?>(nil)
        let hostService = HostService(
            host: host, notifier: notifier, readyLimit: readyLimit, stopLimit: stopLimit, logger: logger,
            pausing: store.pausedSystems(), began: { keeper.forget() },
            becomesReady: {
                // The line that everything is ready tells the health.
                store.tellTroubles(to: host)
                store.announce()
                store.becomeReady()
                hangups.reloader.becomeReady()
            },
            withStatus: { await hangups.reloader.withStatus($0) },
            greeting: { [self] in
                logger.notice(
                    "ready: \(host.statusText); control socket \(socket); next: \(client) status",
                    metadata: .about(.ready))
            },
            stopping: { store.beginStop(host) },
            ended: {
                // A process that ends because of a fault starts fresh.
                let isInOrder = status.withLock { $0 != .escalated }
                if isInOrder { keeper.keep(store.marked(host.state)) }
                // While the control socket is open, so that the next daemon finds the store closed.
                await store.close(isInOrder: isInOrder)
            },
            overdue: { status.withLock { $0 = $0 == .escalated ? $0 : .stoppedByForce } })
        // The services stop one after the other, from the last to the first. The host ends watches first, so no client
        // delays the end of the control socket. If the socket outlasts the daemon, clients that connect during the stop
        // wait for the next daemon.
        var services: [any Service] = [
            service, hostService, hangups, hangups.keeper, StoreTroubleService(store: store, host: host),
        ]
        if service.isLasting { services.append(ControlSocketEntrance(service: service.service)) }
        if let endpoint { services.insert(endpoint, at: 0) }
        services.insert(makeWatch(host), at: 0)
        services.append(StoppingNotifier(notifier: notifier, status: "stopping"))
        let escalations = EscalationService(host: host, notifier: notifier, logger: logger) { system in
            status.withLock { $0 = .escalated }
            escalated.withLock { $0 = system }
        }
        let storeFailures = StoreFailureService(failures: store.failures) { status.withLock { $0 = .escalated } }
        let group = ServiceGroup(
            configuration: .init(
                services: services.map { .init(service: $0) } + [
                    .init(service: escalations, successTerminationBehavior: .gracefullyShutdownGroup),
                    .init(service: storeFailures, successTerminationBehavior: .gracefullyShutdownGroup),
                    .init(service: stops, successTerminationBehavior: .gracefullyShutdownGroup),
                ],
                logger: Logger(label: "lifecycle") { _ in SwiftLogNoOpLogHandler() }))
        do {
            try await group.run()
        } catch {
            logger.error(
                "a part of the daemon failed",
                metadata: .about(.partFailed, ["reason": "\(error)"]))
            tell("a part of the daemon failed: \(error)", nil, .failed)
            return .failed
        }
        // The service manager keeps this text, which says more than that the daemon was stopping.
        if let system = escalated.withLock({ $0 }) {
            tell("ended on account of the system '\(system)'", nil, .escalated)
        }
        if store.hasFailed {
            tell(StoreKeeper.refusal, EIO, .escalated)
            return .escalated
        }
        return status.withLock { $0 }
    }

    /// Checks that every loop makes progress and that waits end, and feeds the service manager's watchdog if there is one.
    private func makeWatch(_ host: Host) -> LoopWatchService {
        var interval: Duration?
        do {
            interval = try Watchdog.configuredInterval()
        } catch {
            logger.warning(
                "no watchdog", metadata: .about(.noWatchdog, ["reason": "\(error)"]))
        }
        let deadline = interval.map { $0 / 2 } ?? LoopWatchService.usualDeadline
        let watchdog = interval.map { interval in
            Watchdog(
                interval: interval, clock: WatchThread.Clock(), notifier: notifier,
                check: {
                    let late = host.lookAtLoops(deadline: deadline).map(\.system)
                    let areWaitsLate = host.lookAtWaits(deadline: deadline) != nil
                    let stuck = late + (areWaitsLate ? ["the waits of all systems"] : [])
                    return stuck.isEmpty ? .alive : .stuck(stuck)
                },
                onStuck: { [logger] withheld in
                    logger.error(
                        "the watchdog is not fed",
                        metadata: .about(.watchdogNotFed, ["reason": "\(withheld)"]))
                })
        }
        return LoopWatchService(host: host, deadline: deadline, watchdog: watchdog)
    }

    /// The time of the machine. Intervals use a clock that counts during sleep and is never set. Calendar times use the
    /// system clock and the local time zone.
    var hostTime: HostTime {
        if let time { return time }
        var sleepUntil: (@Sendable (Timestamp) async throws -> Void)?
        if let alarm = CalendarAlarm() {
            sleepUntil = { due in try await alarm.sleep(until: due) }
        }
        return HostTime(
            clock: ContinuousClock(), now: { Self.now() }, zone: { LocalTimeZone.machine.offsets() },
            sleepUntil: sleepUntil)
    }

    /// The present time by the calendar.
    static func now() -> Timestamp {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        guard let now = Timestamp(seconds: Int64(time.tv_sec), nanoseconds: Int32(time.tv_nsec)) else {
            preconditionFailure("the machine's clock is outside the years 1 to 9999")
        }
        return now
    }
}

extension Notifier {
    /// Tells the service manager why the process ends: in words, as a number of errno(3) if one says it, and with what
    /// status.
    func notifyEnd(_ reason: String, _ number: Int32?, _ status: ExitStatus) {
        var messages: [NotifyMessage] = [.status(reason), .exitStatus(status.rawValue)]
        if let number { messages.append(.errno(number)) }
        notify(messages)
    }
}
