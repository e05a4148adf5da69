import CLinux
import Glibc
import Synchronization
import Systemd

/// The thread that hands signals of the process to tasks. It exists from the start, so a signal is heeded also while the system
/// has no thread to give. UnixSignals needs one of Dispatch for each signal.
package final class SignalThread: Sendable {
    /// The only one, since a process has one handler for each signal; `nil` if the system has no thread or descriptor to give.
    package static let shared = SignalThread()

    private struct Listener: Sendable {
        var numbers: [Int32]
        var continuation: AsyncStream<Int32>.Continuation
    }

    private struct State {
        var listeners: [UInt64: Listener] = [:]
        var last: UInt64 = 0
    }

    /// The number of signals that wait for a listener. Further ones would mean nothing more.
    private static let buffer = 16

    private let state = Mutex(State())

    private init?() {
        let pipe = linux_signals()
        guard pipe >= 0, DetachedThread.start({ [self] in work(pipe) }) else { return nil }
    }

    /// Returns the signals of these numbers from now on. None of them ends the process any more, also after the end of the stream.
    ///
    /// - Parameter numbers: of `SIGHUP`, `SIGINT` and `SIGTERM`.
    package func signals(_ numbers: Int32...) -> AsyncStream<Int32> {
        let (stream, continuation) = AsyncStream<Int32>.makeStream(bufferingPolicy: .bufferingOldest(Self.buffer))
        let id = state.withLock { state in
            state.last += 1
            state.listeners[state.last] = Listener(numbers: numbers, continuation: continuation)
            return state.last
        }
        continuation.onTermination = { [self] _ in state.withLock { $0.listeners[id] = nil } }
        for number in numbers {
            let code = linux_signal_trap(number)
            precondition(code == 0, "only SIGKILL and SIGSTOP cannot be handled")
        }
        return stream
    }

    private func work(_ pipe: Int32) {
        while true {
            let number = linux_signal_wait(pipe)
            precondition(number > 0, "a pipe cannot be read: \(String(cString: strerror(errno)))")
            let listeners = state.withLock { Array($0.listeners.values) }
            for listener in listeners where listener.numbers.contains(number) { listener.continuation.yield(number) }
        }
    }
}
