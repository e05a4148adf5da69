import Dispatch
import Synchronization

/// The names of users, for the log. They are looked up on a thread of their own, and each but once until the next reload:
/// who answers calls must not wait for a database that is elsewhere.
package final class AccountNames: Sendable {
    /// How many names are remembered; beyond, it begins anew.
    package static let limit = 1_024
    /// How many users' names may be looked for at once; of others the number is told.
    package static let pendingLimit = 64
    /// How long who asks waits at most; then there is no name.
    package static let patience = Duration.seconds(1)

    private struct Machine {
        var names: [UInt32: String?] = [:]
        var waiters: [UInt32: [UInt64: CheckedContinuation<String?, Never>]] = [:]
        var next: UInt64 = 1
    }

    private let machine = Mutex(Machine())
    private let look: @Sendable (UInt32) -> String?
    private let clock: any Clock<Duration>
    private let queue = DispatchQueue(label: "account names")

    /// - Parameters:
    ///   - clock: by which patience is measured.
    ///   - look: gives a name; may block.
    package init(clock: any Clock<Duration> = ContinuousClock(), look: @escaping @Sendable (UInt32) -> String?) {
        self.look = look
        self.clock = clock
    }

    /// The name of a user; nil if there is none, or it is not found in time.
    package func name(of user: UInt32) async -> String? {
        if let name = machine.withLock({ $0.names[user] }) { return name }
        return await withCheckedContinuation { continuation in
            enum Step {
                case answer(String?)
                case wait(UInt64, isFirst: Bool)
            }
            let step: Step = machine.withLock { machine in
                if let name = machine.names[user] { return .answer(name) }
                let isFirst = machine.waiters[user] == nil
                guard !isFirst || machine.waiters.count < Self.pendingLimit else { return .answer(nil) }
                defer { machine.next += 1 }
                machine.waiters[user, default: [:]][machine.next] = continuation
                return .wait(machine.next, isFirst: isFirst)
            }
            switch step {
            case .answer(let name): continuation.resume(returning: name)
            case .wait(let ticket, let isFirst):
                if isFirst { queue.async { [self] in found(user, look(user)) } }
                Task { [weak self, clock] in
                    try? await clock.sleep(for: Self.patience)
                    self?.giveUp(user, ticket)
                }
            }
        }
    }

    /// Forgets what is known: accounts may be others by now.
    package func forget() {
        machine.withLock { $0.names = [:] }
    }

    private func found(_ user: UInt32, _ name: String?) {
        let waiters = machine.withLock { machine in
            if machine.names.count >= Self.limit { machine.names = [:] }
            machine.names.updateValue(name, forKey: user)
            return machine.waiters.removeValue(forKey: user) ?? [:]
        }
        for waiter in waiters.values { waiter.resume(returning: name) }
    }

    /// Who waits no longer gets no name; that it is being looked for stays known.
    private func giveUp(_ user: UInt32, _ ticket: UInt64) {
        let waiter = machine.withLock { $0.waiters[user]?.removeValue(forKey: ticket) }
        waiter?.resume(returning: nil)
    }
}
