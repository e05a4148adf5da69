import MediatorControl
import Varlink

/// Waits until systems have entered states, beginning before what is to make them do so.
struct StateWait: Sendable {
    /// By a system's name, the states of which one will do.
    let wanted: [String: Set<String>]

    init(wanted: [String: Set<String>]) {
        self.wanted = wanted
    }

    /// Reads `SYSTEM=STATE`, and makes sure that there is that state.
    init(_ texts: [String], in session: Session) async throws {
        var wanted: [String: Set<String>] = [:]
        for case let (system, state)? in texts.map(Self.pair) {
            var target = Target(system)
            guard target.kind == nil || target.kind == .system else {
                throw CommandError(.usage, "only the state of a system can be waited for")
            }
            target.kind = .system
            if case .system(let description) = try await target.find(in: session.client, among: [.system]) {
                try Self.check([state], of: description)
            }
            wanted[target.name, default: []].insert(state)
        }
        self.wanted = wanted
    }

    /// `SYSTEM=STATE` in its parts.
    static func pair(_ text: String) -> (system: String, state: String)? {
        let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: true).map(String.init)
        return parts.count == 2 ? (parts[0], parts[1]) : nil
    }

    /// Makes sure that a system has states.
    static func check(_ states: [String], of system: SystemDescription) throws {
        let names = system.states.map(\.name)
        for state in states where !names.contains(state) {
            throw CommandError(
                .refused,
                "the system '\(system.summary.name)' has no state '\(state)'\(Nearest.hint(state, among: names))",
                advice: "It has: \(names.joined(separator: ", ")).", code: "no-such-state")
        }
    }

    /// Does something as soon as all systems are watched, and waits for what they do then.
    ///
    /// - Returns: by its name, the state that each system has entered.
    func wait(
        in session: Session, for action: @escaping @Sendable () async throws -> Void
    ) async throws -> [String: ReachedState] {
        let watcher = try await session.connect()
        do {
            let reached = try await reach(watcher, session.limit, session.environment.clock, action)
            await watcher.close()
            return reached
        } catch {
            await watcher.close()
            throw error
        }
    }

    private func reach(
        _ watcher: ControlClient, _ limit: Duration, _ clock: any Clock<Duration>,
        _ action: @escaping @Sendable () async throws -> Void
    ) async throws -> [String: ReachedState] {
        let names = wanted.keys.sorted()
        let replies = try await watcher.watch(WatchParameters(patterns: names.map { "system:\($0)" }))
        return try await withThrowingTaskGroup(of: [String: ReachedState].self) { group in
            group.addTask { try await follow(replies, action) }
            group.addTask {
                try await clock.sleep(for: limit)
                let list = names.map { name in
                    "\(name) (\((wanted[name] ?? []).sorted().joined(separator: " or ")))"
                }
                throw CommandError(
                    .notReached, "it was sent, but not entered within \(limit): \(list.joined(separator: ", "))",
                    advice: "See `mediatorctl show \(names.first ?? "")`; --timeout waits longer.")
            }
            defer { group.cancelAll() }
            return try await group.next() ?? [:]
        }
    }

    private func follow(
        _ replies: ControlWatch<WatchReply>, _ action: @Sendable () async throws -> Void
    ) async throws -> [String: ReachedState] {
        var unseen = Set(wanted.keys)
        var open = unseen
        var reached: [String: ReachedState] = [:]
        for try await reply in replies {
            guard let name = reply.name else { continue }
            // The present states come first.
            if !unseen.isEmpty {
                unseen.remove(name)
                if unseen.isEmpty { try await action() }
                continue
            }
            guard reply.topic == .state, let state = reply.state, wanted[name]?.contains(state.name) == true else {
                continue
            }
            open.remove(name)
            reached[name] = ReachedState(name: name, state: state, time: reply.time)
            if open.isEmpty { break }
        }
        return reached
    }
}
