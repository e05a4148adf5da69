import Synchronization
import Systemd

/// The names of users, for the log. Each name is looked up once until the next reload, on a thread of its own, so that
/// no call and no other lookup waits for a remote database.
///
/// A lookup is not a ``CancellableWaiter``, because many callers wait for one name and all of them give up together.
package final class AccountNames: Sendable {
    /// The number of names that are remembered. With more, the cache starts empty again.
    package static let limit = 1_024
    /// The limit on lookups at a time, each on a thread. Further users appear by number.
    package static let pendingLimit = 16
    /// The lookup timeout. After it the user has no name, also for later callers, until the lookup ends.
    package static let patience = Duration.seconds(1)

    /// A name that is looked for.
    private struct Look {
        var waiters: [CheckedContinuation<String?, Never>] = []
        /// Whether it has taken longer than ``patience``.
        var isOverdue = false
    }

    private struct State {
        var names: [UInt32: String?] = [:]
        /// Those that are not forgotten.
        var kept: [UInt32: String] = [:]
        var looks: [UInt32: Look] = [:]

        /// The present knowledge about a user; nil if there is none yet.
        func present(_ user: UInt32) -> String?? {
            if let name = kept[user] { return .some(name) }
            if let name = names[user] { return .some(name) }
            if looks[user]?.isOverdue ?? false { return .some(nil) }
            return nil
        }
    }

    private let state = Mutex(State())
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
            state.withLock { $0.looks[user] = Look() }
            begin(user)
        }
    }

    /// Returns the name of a user; nil if the user has none, or the lookup takes too long.
    package func name(of user: UInt32) async -> String? {
        if let name = present(user) { return name }
        return await withCheckedContinuation { continuation in
            enum Step {
                case answer(String?)
                case wait
                case begin
            }
            let step: Step = state.withLock { state in
                if let name = state.present(user) { return .answer(name) }
                let isFirst = state.looks[user] == nil
                guard !isFirst || state.looks.count < Self.pendingLimit else { return .answer(nil) }
                state.looks[user, default: Look()].waiters.append(continuation)
                return isFirst ? .begin : .wait
            }
            switch step {
            case .answer(let name): continuation.resume(returning: name)
            case .wait: break
            case .begin: begin(user)
            }
        }
    }

    /// Returns the answer of ``name(of:)`` without waiting: `.some(nil)` if the user has no name, nil if that is not
    /// known yet.
    package func present(_ user: UInt32) -> String?? {
        state.withLock { $0.present(user) }
    }

    /// Forgets all names but those of the given users, since accounts may have changed.
    package func forget() {
        state.withLock { $0.names = [:] }
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
        let waiters = state.withLock { state in
            if let name, keeps.contains(user) {
                state.kept[user] = name
            } else {
                if state.names.count >= Self.limit { state.names = [:] }
                state.names.updateValue(name, forKey: user)
            }
            return state.looks.removeValue(forKey: user)?.waiters ?? []
        }
        for waiter in waiters { waiter.resume(returning: name) }
    }

    /// Nobody waits any longer; that it is being looked for stays known.
    private func giveUp(_ user: UInt32) {
        let waiters = state.withLock { state in
            state.looks[user]?.isOverdue = true
            defer { state.looks[user]?.waiters = [] }
            return state.looks[user]?.waiters ?? []
        }
        for waiter in waiters { waiter.resume(returning: nil) }
    }
}
