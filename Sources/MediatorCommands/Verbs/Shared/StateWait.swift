import CommonExpression
import MediatorControl
import Synchronization
import Varlink

/// Waits until systems have entered states, from before the event that leads there.
struct StateWait: Sendable {
    /// By a system's name, the states of which one will do.
    let wanted: [String: Set<String>]
    /// The verb that explains why an event had no effect, if there is one.
    let advice: String?

    init(wanted: [String: Set<String>], advice: String?) {
        self.wanted = wanted
        self.advice = advice
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
        advice = nil
    }

    /// `SYSTEM=STATE` in its parts.
    static func pair(_ text: String) -> (system: String, state: String)? {
        let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: true).map(String.init)
        return parts.count == 2 ? (parts[0], parts[1]) : nil
    }

    /// Makes sure that a system has states.
    static func check(_ states: [String], of system: SystemDescription) throws {
        let names = system.namesOfStates
        for state in states where !names.contains(state) {
            throw CommandError(
                .refused,
                "the system '\(system.summary.name)' has no state '\(state)'\(Nearest.hint(state, among: names))",
                advice: "It has: \(names.joined(separator: ", ")).", code: "no-such-state")
        }
    }

    /// Returns whether a state of a system is awaited, or lies in a compound state that is.
    private func wants(_ name: String, _ state: String) -> Bool {
        wanted[name]?.contains { state == $0 || state.hasPrefix("\($0).") } ?? false
    }

    /// Sends an event as soon as all systems are watched, and waits for the effect.
    ///
    /// - Returns: by its name, the state that each system has entered.
    func wait(
        in session: Session, for action: @escaping @Sendable (ControlClient) async throws -> InjectionReply
    ) async throws -> [String: ReachedState] {
        let watcher = try await session.connect()
        do {
            let reached = try await reach(watcher, session, action)
            await watcher.close()
            return reached
        } catch {
            await watcher.close()
            throw error
        }
    }

    /// The time to wait for an answer that only makes a message clearer.
    private static let patience = Duration.seconds(1)

    private func reach(
        _ watcher: ControlClient, _ session: Session,
        _ action: @escaping @Sendable (ControlClient) async throws -> InjectionReply
    ) async throws -> [String: ReachedState] {
        let (limit, clock) = (session.limit, session.environment.clock)
        let names = wanted.keys.sorted()
        let replies = try await watcher.watch(
            WatchParameters(patterns: names.map { "system:\($0)" }, announce: true))
        let progress = ActionProgress()
        return try await withThrowingTaskGroup(of: [String: ReachedState]?.self) { group in
            group.addTask { try await follow(replies, session, progress, action) }
            group.addTask {
                try await clock.sleep(for: limit)
                throw await failure(names, session, progress.end())
            }
            defer { group.cancelAll() }
            do {
                for try await reached in group {
                    if let reached { return reached }
                }
            } catch let error where progress.isDone && (error is ControlError || error is VarlinkError) {
                throw SentUnseen(error: error)
            }
            return [:]
        }
    }

    /// The failure of a wait: the awaited state, the present one, and the verb that explains it.
    private func failure(
        _ names: [String], _ session: Session, _ phase: ActionProgress.Phase
    ) async -> CommandError {
        let missing: String? =
            switch phase {
            case .notWatched: "said within \(session.limit) that it watches \(names.joined(separator: " and "))"
            case .notConnected: "answered on a second connection within \(session.limit)"
            case .begun, .done: nil
            }
        if let missing {
            return CommandError(
                .noConnection, "nothing was sent: mediatord has not \(missing)",
                advice: "Wait longer with --timeout.")
        }
        // A daemon that has not answered may not do so now.
        let isSent = phase == .done
        let systems = isSent ? await present(names, session) : [:]
        let list = names.map { name in
            let states = (wanted[name] ?? []).sorted().joined(separator: " or ")
            guard let system = systems[name] else { return "\(name) (\(states))" }
            let style = TextStyle(session.environment)
            let pause = system.paused.map { ", paused \(PauseText.text($0, style))" } ?? ""
            let state = system.state.name
            let stay = wants(name, state) ? " and has not entered it again" : ""
            // A paused system is degraded for that reason.
            let isUnwell = system.health == .failed || system.health == .degraded && system.paused == nil
            let failure =
                isUnwell
                ? ", \(system.health.rawValue)"
                    + (system.healthReason.map { ": \(Moments.shortened(PlainText.cleaned($0), style))" } ?? "") : ""
            return "\(name) (\(states)), which is in \(state)\(stay)\(pause)\(failure)"
        }
        let outcome = isSent ? "it was sent, but not entered" : "it was sent, but neither answered nor entered"
        let paused = names.filter { systems[$0]?.paused != nil }
        var ways = paused.map { "`mediatorctl resume \($0)` lets it go on" }
        if ways.isEmpty {
            let other = names.first { !wants($0, systems[$0]?.state.name ?? "") }
            let name = other ?? names.first ?? ""
            ways = (advice.map { [$0] } ?? []) + ["`mediatorctl trace \(name)` shows the last steps of \(name)"]
        }
        return CommandError(
            .notReached, "\(outcome) within \(session.limit): \(list.joined(separator: "; "))",
            advice: ways.joined(separator: ", ") + "; --timeout waits longer.")
    }

    /// The present states of systems, if the daemon answers soon.
    private func present(_ names: [String], _ session: Session) async -> [String: SystemSummary] {
        await withTaskGroup(of: [String: SystemSummary]?.self) { group in
            group.addTask {
                var systems: [String: SystemSummary] = [:]
                for name in names {
                    systems[name] = try? await session.freshly { try await $0.describeSystem(name).summary }
                }
                return systems
            }
            group.addTask {
                try? await session.environment.clock.sleep(for: Self.patience)
                return nil
            }
            defer { group.cancelAll() }
            return await group.next().flatMap(\.self) ?? [:]
        }
    }

    private func follow(
        _ replies: ControlWatch<WatchReply>, _ session: Session, _ progress: ActionProgress,
        _ action: @escaping @Sendable (ControlClient) async throws -> InjectionReply
    ) async throws -> [String: ReachedState]? {
        var open = Set(wanted.keys)
        var reached: [String: ReachedState] = [:]
        var sent: InjectionReply?
        for try await reply in replies {
            // The first reply says that all are watched, also those that have no state to show.
            if sent == nil {
                progress.connect()
                sent = try await session.act { client in
                    guard progress.begin() else { return nil }
                    let reply = try await action(client)
                    progress.finish()
                    return reply
                }
                // It is too late for that, and somebody else says so.
                guard sent != nil else { return nil }
            }
            if reply.dropped > 0 {
                // Among the changes that were left out may be the awaited one.
                for name in open {
                    let system = try await session.freshly { try await $0.describeSystem(name).summary }
                    guard wants(name, system.state.name), sent.isFollowed(by: system.since) else {
                        continue
                    }
                    open.remove(name)
                    reached[name] = ReachedState(name: name, state: system.state, time: system.since)
                }
            }
            // An event that updates the state in place leaves no state, and enters none.
            let isUpdate = reply.event != nil && reply.previous == nil
            if let name = reply.name, let state = reply.state, reply.topic == .state, !reply.replayed, !isUpdate,
                open.contains(name), wants(name, state.name), sent.isFollowed(by: reply.time)
            {
                open.remove(name)
                reached[name] = ReachedState(name: name, state: state, time: reply.time)
            }
            if open.isEmpty { break }
        }
        return reached
    }
}

extension InjectionReply? {
    /// Returns whether a time is not before the daemon accepted the event. Changes between the beginning of the watch
    /// and that time have nothing to do with it. An older daemon, which has no such time, is believed.
    fileprivate func isFollowed(by time: String) -> Bool {
        guard let taken = self?.time.flatMap({ CommonExpression.Timestamp(rfc3339: $0) }),
            let time = CommonExpression.Timestamp(rfc3339: time)
        else {
            return true
        }
        return time >= taken
    }
}

/// The event was sent, but its effect could not be seen.
struct SentUnseen: Error {
    let error: any Error
}

/// A word as a shell takes it.
enum ShellWord {
    static func quoted(_ word: String) -> String {
        let isPlain =
            !word.isEmpty
            && word.unicodeScalars.allSatisfy {
                $0.properties.isAlphabetic || "0123456789-_.:/=@%+,".unicodeScalars.contains($0)
            }
        if isPlain { return word }
        // A shell knows no letters of several code points: a quote with an accent is a quote to it.
        return "'" + word.unicodeScalars.map { $0 == "'" ? "'\\''" : String($0) }.joined() + "'"
    }
}

/// The progress of an act that must happen once.
private final class ActionProgress: Sendable {
    enum Phase: Sendable {
        case notWatched, notConnected, begun, done
    }

    private let state = Mutex((phase: Phase.notWatched, isOver: false))

    /// Whether it has been done.
    var isDone: Bool { state.withLock { $0.phase == .done } }

    /// The act begins on a connection that is being made.
    func connect() { state.withLock { $0.phase = .notConnected } }

    /// Says that it begins; false if it may not any more.
    func begin() -> Bool {
        state.withLock { state in
            guard !state.isOver else { return false }
            state.phase = .begun
            return true
        }
    }

    /// Says that it has been done.
    func finish() { state.withLock { $0.phase = .done } }

    /// Has it not begin any more; how far it has come.
    func end() -> Phase {
        state.withLock { state in
            state.isOver = true
            return state.phase
        }
    }
}

extension SystemDescription {
    /// The names of its states, and of the compound states around them.
    package var namesOfStates: [String] {
        var names: [String] = []
        for state in states {
            var around: [String] = []
            var outer = state.name[...]
            while let end = outer.lastIndex(of: ".") {
                outer = outer[..<end]
                around.append(String(outer))
            }
            names += around.reversed().filter { !names.contains($0) } + [state.name]
        }
        return names
    }
}
