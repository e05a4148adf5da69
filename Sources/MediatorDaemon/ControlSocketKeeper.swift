import Logging
import MediatorControl
import MediatorHost
import ServiceLifecycle
import SideEffects
import Synchronization
import Systemd
import Varlink

/// Makes the file of the control socket anew when it was removed: without it nobody could ask the daemon for anything any
/// more, not even for a reload.
///
/// The daemon looks when the system tells of a change on the way to the file, and at each SIGHUP. The file of a socket that
/// a socket unit has opened is the service manager's, which alone can make it anew.
final class ControlSocketKeeper: Service, CustomStringConvertible {
    /// The shortest time between two looks, so that who removes the file again and again keeps nobody busy.
    static let interval = Duration.seconds(1)

    private let service: VarlinkService
    private let path: String
    private let isActivated: Bool
    private let makesDirectory: Bool
    private let audience: SocketAudience
    private let notifier: Notifier
    private let clock: any Clock<Duration>
    private let logger: Logger
    /// What was said last, which is not said again until the file has been there meanwhile.
    private let complaint = Mutex<String?>(nil)

    /// What the group of services calls it.
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
            do {
                let watch = try PathChanges(path)
                while true {
                    // From this look on changes are told.
                    try await watch.look()
                    await check()
                    try await watch.next()
                    try await clock.sleep(for: Self.interval)
                }
            } catch {
                guard !Task.isCancelled else { return }
                logger.warning(
                    "the file of the control socket is not watched; SIGHUP makes it anew if it is removed",
                    metadata: ["socket": "\(path)", "reason": "\(error)"])
            }
        }
        try? await gracefulShutdown()
    }

    /// Makes the file anew if it is gone.
    func check() async {
        guard service.isFileGone else {
            complaint.withLock { $0 = nil }
            return
        }
        guard !isActivated else {
            complain(
                "the file of the control socket is gone; only systemd can make it anew: "
                    + "systemctl restart mediatord.socket mediatord")
            return
        }
        do {
            try ControlSocket.prepareDirectory(ofPath: path, mayMake: makesDirectory)
            guard try await service.restoreFile(mode: SocketAudience.firstMode) else { return }
        } catch {
            complain(
                "the file of the control socket is gone, and cannot be made anew; remove the reason, or restart the daemon: "
                    + "systemctl restart mediatord", ["reason": "\(error)"])
            return
        }
        audience.renew()
        if notifier.storeLimit > 0 {
            notifier.notify(.discard(Inheritance.socketName))
            service.share { notifier.store($0, as: Inheritance.socketName) == .delivered }
        }
        logger.warning(
            "the file of the control socket was removed, and is there again", metadata: ["socket": "\(path)"])
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
