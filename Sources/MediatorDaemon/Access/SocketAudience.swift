package import Logging
import Synchronization
package import Varlink

/// Keeps the file of the control socket such that those who may connect can open it.
///
/// The permissions of the file are as narrow as they can be: the owner, one group, or everybody. ``AccessTable``
/// decides in any case who may connect, and with which rights.
package final class SocketAudience: Sendable {
    private struct State {
        var service: VarlinkService?
        var wanted: AccessTable.Audience?
        /// The audience that the file is for; nil: it is not known.
        var present: AccessTable.Audience?
        /// The number of files that there have been.
        var files = 0
        var isBusy = false
    }

    /// A pending change of the file.
    private struct Change {
        let service: VarlinkService
        let audience: AccessTable.Audience
        let file: Int
    }

    private let state = Mutex(State())
    private let logger: Logger

    package init(logger: Logger) {
        self.logger = logger
    }

    /// The permissions with which the file is made: nobody else can open it before it is known who may.
    static let firstMode: UInt16 = 0o600

    /// The service whose file it is.
    package func serve(_ service: VarlinkService, to audience: AccessTable.Audience) {
        state.withLock { $0.service = service }
        set(audience)
    }

    /// The file is another one, made with ``firstMode``: it is given to those who could open the one before.
    package func renew() {
        state.withLock { state in
            state.present = nil
            state.files += 1
        }
        work()
    }

    /// The file is for others from now on; where that fails, it is tried again when it is asked for again.
    package func set(_ audience: AccessTable.Audience) {
        state.withLock { $0.wanted = audience }
        work()
    }

    /// Makes the pending changes. One caller at a time does so for all.
    private func work() {
        while true {
            let change = state.withLock { state -> Change? in
                guard !state.isBusy, let service = state.service, let wanted = state.wanted, wanted != state.present
                else { return nil }
                state.isBusy = true
                return Change(service: service, audience: wanted, file: state.files)
            }
            guard let change else { return }
            let isMade = make(change)
            let goesOn = state.withLock { state in
                state.isBusy = false
                let isCurrent = state.files == change.file
                if isMade, isCurrent { state.present = change.audience }
                return isMade || !isCurrent || state.wanted != change.audience
            }
            guard goesOn else { return }
        }
    }

    private func make(_ change: Change) -> Bool {
        let service = change.service
        do throws(VarlinkError) {
            switch change.audience {
            case .owner: try service.setPermissions(mode: 0o600)
            case .group(let group):
                do throws(VarlinkError) {
                    try service.setPermissions(mode: 0o660, group: group)
                } catch {
                    // Only root and members of the group can give the file to the group.
                    logger.debug(
                        "the control socket cannot be given to the group; instead, the daemon checks each connection",
                        metadata: ["gid": "\(group)", "reason": "\(error)"])
                    try service.setPermissions(mode: 0o666)
                }
            case .everybody: try service.setPermissions(mode: 0o666)
            }
            return true
        } catch {
            logger.error("cannot change the permissions of the control socket", metadata: ["reason": "\(error)"])
            return false
        }
    }
}
