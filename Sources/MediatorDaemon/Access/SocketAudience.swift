package import Logging
import Synchronization
package import Varlink

/// Keeps the file of the control socket such that those who may connect can open it.
///
/// The file lets in as few as its permissions can say: its owner, one group, or anybody. Whether somebody may connect, and
/// what they may do, is decided by ``AccessTable`` in any case.
package final class SocketAudience: Sendable {
    private struct Machine {
        var service: VarlinkService?
        var audience: AccessTable.Audience?
    }

    private let machine = Mutex(Machine())
    private let logger: Logger

    package init(logger: Logger) {
        self.logger = logger
    }

    /// The permissions with which the file is made: nobody else can open it before it is known who may.
    static let firstMode: UInt16 = 0o600

    /// The service whose file it is.
    package func serve(_ service: VarlinkService, to audience: AccessTable.Audience) {
        machine.withLock { $0.service = service }
        set(audience)
    }

    /// The file is another one, made with ``firstMode``: it is given to those who could open the one before.
    package func renew() {
        let audience = machine.withLock { machine in
            defer { machine.audience = nil }
            return machine.audience
        }
        if let audience { set(audience) }
    }

    /// The file is for others from now on; where that fails, it is tried again when it is asked for again. Called by one at
    /// a time.
    package func set(_ audience: AccessTable.Audience) {
        let service = machine.withLock { $0.audience == audience ? nil : $0.service }
        guard let service else { return }
        do throws(VarlinkError) {
            switch audience {
            case .owner: try service.setPermissions(mode: 0o600)
            case .group(let group):
                do throws(VarlinkError) {
                    try service.setPermissions(mode: 0o660, group: group)
                } catch {
                    // Only root, and who is in the group, can give it the file.
                    logger.debug(
                        "the control socket cannot be given to the group; who may connect is looked at instead",
                        metadata: ["gid": "\(group)", "reason": "\(error)"])
                    try service.setPermissions(mode: 0o666)
                }
            case .everybody: try service.setPermissions(mode: 0o666)
            }
            machine.withLock { $0.audience = audience }
        } catch {
            logger.error("who can open the control socket cannot be changed", metadata: ["reason": "\(error)"])
        }
    }
}
