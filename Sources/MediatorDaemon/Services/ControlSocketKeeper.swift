import Logging
import MediatorControl
import MediatorHost
import ServiceLifecycle
import SideEffects
import Synchronization
import Systemd
import Varlink

/// Replaces the file of the control socket after somebody has removed it. Without the file no client can reach the daemon.
///
/// The daemon checks after each change on the path (inotify(7)), and at each SIGHUP. Only the service manager can replace the
/// file of a socket unit.
final class ControlSocketKeeper: Service, CustomStringConvertible {
    /// The shortest time between two checks. It bounds the work if a program keeps removing the file.
    static let interval = Duration.seconds(1)
    /// The time between two checks if the path cannot be watched, or the file is gone and cannot be restored.
    static let retryInterval = Duration.seconds(10)

    private let service: VarlinkService
    private let path: String
    private let isActivated: Bool
    private let makesDirectory: Bool
    private let audience: SocketAudience
    private let notifier: Notifier
    private let clock: any Clock<Duration>
    private let logger: Logger
    /// The last complaint. The keeper does not repeat it before the file is back.
    private let complaint = Mutex<String?>(nil)

    /// The name in the group of services.
    let description = "file of the control socket"

    init(
        _ service: VarlinkService, path: String, isActivated: Bool, makesDirectory: Bool, audience: SocketAudience,
        notifier: Notifier, clock: any Clock<Duration>, logger: Logger
    ) {
        self.service = service
        self.path = path
        self.isActivated = isActivated
        self.makesDirectory = makesDirectory
        self.audience = audience
        self.notifier = notifier
        self.clock = clock
        self.logger = logger
    }

    func run() async {
        await cancelWhenGracefulShutdown { [self] in
            var isBlind = false
            while !Task.isCancelled {
                do {
                    try await watch()
                } catch {
                    guard !Task.isCancelled else { return }
                    // The system may have no more watches to give for now (inotify(7)).
                    if !isBlind {
                        logger.warning(
                            "cannot watch the file of the control socket; the daemon checks it every ten seconds",
                            metadata: ["socket": "\(path)", "reason": "\(error)"])
                    }
                    isBlind = true
                    try? await clock.sleep(for: Self.retryInterval)
                    await check()
                }
            }
        }
        try? await gracefulShutdown()
    }

    private func watch() async throws {
        let watch = try PathChanges(path)
        while true {
            // Changes after this call wake the next wait.
            try await watch.look()
            await check()
            // The end of a program that keeps the path changes no file. So a complaint is checked again after a while.
            let isBroken = complaint.withLock { $0 != nil }
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await watch.next() }
                if isBroken { group.addTask { [clock] in try await clock.sleep(for: Self.retryInterval) } }
                try await group.next()
                group.cancelAll()
            }
            try await clock.sleep(for: Self.interval)
        }
    }

    /// Replaces the file if it is gone.
    func check() async {
        guard service.isFileGone else {
            complaint.withLock { $0 = nil }
            return
        }
        guard !isActivated else {
            complain(
                "the file of the control socket is gone; only systemd can create it again: "
                    + "systemctl restart mediatord.socket mediatord")
            return
        }
        do {
            try ControlSocket.prepareDirectory(ofPath: path, mayMake: makesDirectory)
            guard try await service.restoreFile(mode: SocketAudience.firstMode) else { return }
        } catch {
            complain(
                "the file of the control socket is gone and cannot be created; remove the reason, or restart the daemon: "
                    + "systemctl restart mediatord", ["reason": "\(error)"])
            return
        }
        audience.renew()
        if notifier.storeLimit > 0 {
            notifier.notify(.discard(Inheritance.socketName))
            service.share { notifier.store($0, as: Inheritance.socketName) == .delivered }
        }
        logger.warning(
            "the file of the control socket was removed; the daemon has restored it", metadata: ["socket": "\(path)"])
    }

    private func complain(_ message: String, _ metadata: Logger.Metadata = [:]) {
        let isNew = complaint.withLock { complaint in
            let text = "\(message)\(metadata)"
            defer { complaint = text }
            return complaint != text
        }
        if isNew { logger.error("\(message)", metadata: metadata.merging(["socket": "\(path)"]) { $1 }) }
    }
}
