import CommonExpression
import Glibc
import Logging
import MediatorConfiguration
import MediatorHost
import Synchronization

/// Writes a file.
func write(_ text: String, _ path: String) {
    let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
    _ = Array(text.utf8).withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
    close(descriptor)
}

/// A running side effect with its reports so far.
final class Sensing: Sendable {
    private struct State {
        var reports: [(name: String, result: Value)] = []
        var failures: [String] = []
        var isOver = false
    }

    private let state = Mutex(State())
    private let task = Mutex<Task<Void, Never>?>(nil)
    private let (signal, continuation) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))

    init(
        _ effect: some EffectImplementation, _ arguments: [String: Value],
        clock: any Clock<Duration> = ContinuousClock(), memory: EffectMemory = EffectMemory(),
        executor: (any TaskExecutor)? = nil
    ) {
        let defaults = effect.schema.parameters.compactMap { parameter in parameter.default.map { (parameter.name, $0) }
        }
        let whole = Dictionary(uniqueKeysWithValues: defaults).merging(arguments) { $1 }
        let context = EffectContext(
            system: "test", feedback: "test", clock: clock,
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }, memory: memory,
            outcome: { name, result in
                self.note { $0.reports.append((name, result)) }
                return true
            }, fault: { message in self.note { $0.failures.append(message) } })
        let task = Task(executorPreference: executor) {
            await effect.run(whole, in: context)
            self.note { $0.isOver = true }
        }
        self.task.withLock { $0 = task }
    }

    private func note(_ change: (inout State) -> Void) {
        state.withLock { change(&$0) }
        continuation.yield()
    }

    var names: [String] { state.withLock { $0.reports.map(\.name) } }
    var failures: [String] { state.withLock { $0.failures } }
    var isOver: Bool { state.withLock { $0.isOver } }

    /// Returns a field of a report's result.
    func value(_ index: Int, _ field: String) -> Value? {
        guard
            case .structure(let result)? = state.withLock({
                $0.reports.indices.contains(index) ? $0.reports[index].result : nil
            })
        else { return nil }
        return result[field]
    }

    /// Returns a field of a report's result as text.
    func text(_ index: Int, _ field: String) -> String? { value(index, field)?.text }

    /// Returns a field of the last report's result as text.
    func last(_ field: String) -> String? { text(names.count - 1, field) }

    /// Waits until a condition holds. It is checked after each report and failure.
    func until(_ condition: (Sensing) -> Bool) async {
        if condition(self) { return }
        for await _ in signal where condition(self) { return }
    }

    /// Waits until a number of outcomes has been reported.
    func reported(_ count: Int) async { await until { $0.names.count >= count } }

    /// Waits until it has failed a number of times.
    func failed(_ count: Int) async { await until { $0.failures.count >= count } }

    /// Cancels it.
    func stop() { task.withLock { $0 }?.cancel() }

    /// Cancels it and waits for its end.
    func cancel() async {
        let task = task.withLock { $0 }
        task?.cancel()
        await task?.value
    }
}

/// Returns a length of time in the notation of configurations.
func time(_ text: String) -> Value {
    guard let span = TimeSpan(text: text) else { preconditionFailure("\(text) is not a duration") }
    return .duration(span)
}

/// Returns the text of a system file, which does not know its own length.
func contents(_ path: String) -> String {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return "" }
    defer { close(descriptor) }
    var bytes: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 65_536)
    while true {
        let count = read(descriptor, &chunk, chunk.count)
        guard count > 0 else { return String(decoding: bytes, as: UTF8.self) }
        bytes += chunk[..<count]
    }
}

/// Returns the number of this process's descriptors whose link in `/proc/self/fd` has this text.
func openDescriptors(on target: String) -> Int {
    guard let directory = opendir("/proc/self/fd") else { return 0 }
    defer { closedir(directory) }
    var count = 0
    while let entry = readdir(directory) {
        let name = DirectoryEntry.name(of: entry)
        var link = [UInt8](repeating: 0, count: 256)
        let length = link.withUnsafeMutableBytes { room in
            room.withMemoryRebound(to: CChar.self) { room in
                room.baseAddress.map { readlink("/proc/self/fd/\(name)", $0, room.count) } ?? 0
            }
        }
        if length > 0, String(decoding: link[..<length], as: UTF8.self).contains(target) { count += 1 }
    }
    return count
}
