import Synchronization
import Systemd

/// The names of users, for the log. They are looked up on threads of their own, and each but once until the next reload:
/// who answers calls must not wait for a database that is elsewhere, nor one look for another.
package final class AccountNames: Sendable {
    /// How many names are remembered; beyond, it begins anew.
    package static let limit = 1_024
    /// How many users' names may be looked for at once, each on a thread; of others the number is told.
    package static let pendingLimit = 16
    /// How long who asks waits at most; then there is no name, for others who ask neither, until it is found.
    package static let patience = Duration.seconds(1)

    /// A name that is looked for.
    private struct Look {
        var waiters: [CheckedContinuation<String?, Never>] = []
        /// Whether it has taken longer than ``patience``.
        var isOverdue = false
    }

    private struct Machine {
        var names: [UInt32: String?] = [:]
        /// Those that are not forgotten.
        var kept: [UInt32: String] = [:]
        var looks: [UInt32: Look] = [:]

        /// What can be said of a user at once; nil: nothing yet.
        func present(_ user: UInt32) -> String?? {
            if let name = kept[user] { return .some(name) }
            if let name = names[user] { return .some(name) }
            if looks[user]?.isOverdue ?? false { return .some(nil) }
            return nil
        }
    }

    private let machine = Mutex(Machine())
    private let look: @Sendable (UInt32) -> String?
    private let clock: any Clock<Duration>
    private let keeps: Set<UInt32>

    /// - Parameters:
    ///   - keeps: users whose names are looked up at once, and not forgotten.
    ///   - clock: by which patience is measured.
    ///   - look: gives a name; may block.
    package init(
        keeps: Set<UInt32> = [], clock: any Clock<Duration> = ContinuousClock(),
        look: @escaping @Sendable (UInt32) -> String?
    ) {
        self.look = look
        self.clock = clock
        self.keeps = keeps
        for user in keeps {
            machine.withLock { $0.looks[user] = Look() }
            begin(user)
        }
    }

    /// The name of a user; nil if there is none, or it is not found in time.
    package func name(of user: UInt32) async -> String? {
        if let name = present(user) { return name }
        return await withCheckedContinuation { continuation in
            enum Step {
                case answer(String?)
                case wait
                case begin
            }
            let step: Step = machine.withLock { machine in
                if let name = machine.present(user) { return .answer(name) }
                let isFirst = machine.looks[user] == nil
                guard !isFirst || machine.looks.count < Self.pendingLimit else { return .answer(nil) }
                machine.looks[user, default: Look()].waiters.append(continuation)
                return isFirst ? .begin : .wait
            }
            switch step {
            case .answer(let name): continuation.resume(returning: name)
            case .wait: break
            case .begin: begin(user)
            }
        }
    }

    /// What ``name(of:)`` answers without waiting: `.some(nil)`: that there is no name; nil: nothing yet.
    package func present(_ user: UInt32) -> String?? {
        machine.withLock { $0.present(user) }
    }

    /// Forgets what is known, but of those whose names are kept: accounts may be others by now.
    package func forget() {
        machine.withLock { $0.names = [:] }
    }

    private func begin(_ user: UInt32) {
        let hasThread = DetachedThread.start { [self] in found(user, look(user)) }
        guard hasThread else { return found(user, nil) }
        Task { [weak self, clock] in
            try? await clock.sleep(for: Self.patience)
            self?.giveUp(user)
        }
    }

    private func found(_ user: UInt32, _ name: String?) {
        let waiters = machine.withLock { machine in
            if let name, keeps.contains(user) {
                machine.kept[user] = name
            } else {
                if machine.names.count >= Self.limit { machine.names = [:] }
                machine.names.updateValue(name, forKey: user)
            }
            return machine.looks.removeValue(forKey: user)?.waiters ?? []
        }
        for waiter in waiters { waiter.resume(returning: name) }
    }

    /// Nobody waits any longer; that it is being looked for stays known.
    private func giveUp(_ user: UInt32) {
        let waiters = machine.withLock { machine in
            machine.looks[user]?.isOverdue = true
            defer { machine.looks[user]?.waiters = [] }
            return machine.looks[user]?.waiters ?? []
        }
        for waiter in waiters { waiter.resume(returning: nil) }
    }
}
