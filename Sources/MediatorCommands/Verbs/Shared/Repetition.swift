import MediatorControl
import Synchronization
import Varlink

/// Whether a verb may be performed once more, from its beginning: while the daemon is restarted, connections are closed
/// between two calls. Nothing may have been done yet that must not be done twice.
package final class Repetition: Sendable {
    /// The pauses before repetitions, 6.2 seconds in all: a restart takes a second or two. A client that connects in
    /// that time waits for the next daemon, so the first repetition is mostly the last.
    static let pauses: [Duration] = [20, 80, 200, 400, 800, 1500, 3200].map(Duration.milliseconds)

    private let state = Mutex(State())

    /// The longest time for all pauses together.
    private let limit: Duration

    private struct State {
        var isRuledOut = false
        var count = 0
        /// The pauses so far.
        var waited = Duration.zero
    }

    /// - Parameter limit: The longest time for all pauses together, in seconds.
    package init(within limit: Double) {
        self.limit = .seconds(limit)
    }

    /// Rules out further repetitions; returns whether they were ruled out before.
    func rule(out isRuledOut: Bool) -> Bool {
        state.withLock { state in
            defer { state.isRuledOut = isRuledOut }
            return state.isRuledOut
        }
    }

    /// An environment whose input and output rule out repetitions.
    func watching(_ environment: CommandEnvironment) -> CommandEnvironment {
        var watched = environment
        watched.write = { text in
            _ = self.rule(out: true)
            try environment.write(text)
        }
        watched.writeError = { text in
            _ = self.rule(out: true)
            environment.writeError(text)
        }
        watched.readInput = { limit in
            _ = self.rule(out: true)
            return environment.readInput(limit)
        }
        return watched
    }

    /// The error to show when the last of several attempts has failed like those before; nil: there was only one.
    func exhaustion(_ error: any Error) -> CommandError? {
        guard let error = error as? VarlinkError, error.code == .connectionClosed else { return nil }
        let count = state.withLock { $0.count }
        guard count > 0 else { return nil }
        return CommandError(
            .noConnection, "mediatord closed the connection without an answer, \(count + 1) times in a row",
            advice: "Its log says why: see the journal of mediatord.")
    }

    /// Returns the pause before the next repetition after an error; nil if there must be none.
    package func pause(after error: any Error) -> Duration? {
        switch error {
        case let error as VarlinkError where error.code == .connectionClosed: break
        case let error as ControlError where error.isOfStopping: break
        default: return nil
        }
        return state.withLock { state in
            guard !state.isRuledOut, state.count < Self.pauses.count else { return nil }
            let pause = Self.pauses[state.count]
            guard state.waited + pause <= limit else { return nil }
            state.count += 1
            state.waited += pause
            return pause
        }
    }
}

/// A call that must not be made twice got no answer: the daemon may have carried it out.
struct Unanswered: Error {
    let error: VarlinkError
}

extension VarlinkError {
    /// Whether there is no daemon.
    var isOfAbsence: Bool { code == .noSocket || code == .notRunning }
}

extension ControlError {
    /// Whether nothing was done, as the daemon, or the system alone, is being stopped.
    var isOfStopping: Bool {
        switch self {
        case .stopping, .notAccepted(_, .stopping, _): true
        default: false
        }
    }
}
