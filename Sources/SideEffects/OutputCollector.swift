import Glibc
import Synchronization

/// Keeps the beginning of a command's output.
final class OutputCollector: Sendable {
    private struct State {
        var bytes: [UInt8] = []
        var isCut = false
    }

    private let state = Mutex(State())
    private let limit: Int

    init(limit: Int) {
        self.limit = limit
    }

    func add(_ new: UnsafeRawBufferPointer) {
        state.withLock { state in
            let room = max(0, limit - state.bytes.count)
            if room > 0 { state.bytes.append(contentsOf: new.prefix(room)) }
            if new.count > room { state.isCut = true }
        }
    }

    /// A Boolean value that indicates whether the output was longer than the limit.
    var isCut: Bool { state.withLock { $0.isCut } }

    /// The kept bytes.
    var bytes: [UInt8] { state.withLock { $0.bytes } }

    /// The kept bytes as text, without the last line break. Invalid UTF-8 is replaced.
    var text: String {
        var bytes = bytes
        if bytes.last == UInt8(ascii: "\n") { bytes.removeLast() }
        return String(decoding: bytes, as: UTF8.self)
    }
}

/// Reports the lines of a command's output with their numbers.
final class OutputLines: Sendable {
    private typealias Numbered = (bytes: [UInt8], number: Int)

    private struct State {
        var splitter: LineSplitter
        var count = 0
        var isWanted = true

        mutating func numbered(_ lines: [LineSplitter.Line]) -> [Numbered] {
            lines.map { line in
                count += 1
                return (line.bytes, count)
            }
        }
    }

    private let state: Mutex<State>
    private let report: @Sendable ([UInt8], Int) -> Bool

    /// Creates a reporter that cuts lines at a limit, and stops when `report` returns false.
    init(limit: Int, report: @escaping @Sendable ([UInt8], Int) -> Bool) {
        state = Mutex(State(splitter: LineSplitter(limit: limit)))
        self.report = report
    }

    func add(_ bytes: UnsafeRawBufferPointer) {
        let lines = state.withLock { state -> [Numbered] in
            guard state.isWanted else { return [] }
            let lines = state.splitter.add(bytes)
            return state.numbered(lines)
        }
        deliver(lines)
    }

    /// Ends the output. A last line without a line break also counts.
    func finish() {
        let lines = state.withLock { state -> [Numbered] in
            guard state.isWanted, let line = state.splitter.finish() else { return [] }
            return state.numbered([line])
        }
        deliver(lines)
    }

    private func deliver(_ lines: [Numbered]) {
        for line in lines where !report(line.bytes, line.number) {
            state.withLock { $0.isWanted = false }
            return
        }
    }
}
