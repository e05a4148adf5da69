import Glibc
import Synchronization

/// Keeps the beginning of what a command writes.
final class OutputCollector: Sendable {
    private struct Machine {
        var bytes: [UInt8] = []
        var isCut = false
    }

    private let machine = Mutex(Machine())
    private let limit: Int

    init(limit: Int) {
        self.limit = limit
    }

    func add(_ new: UnsafeRawBufferPointer) {
        machine.withLock { machine in
            let room = max(0, limit - machine.bytes.count)
            if room > 0 { machine.bytes.append(contentsOf: new.prefix(room)) }
            if new.count > room { machine.isCut = true }
        }
    }

    /// Whether there was more than is kept.
    var isCut: Bool { machine.withLock { $0.isCut } }

    /// What is kept.
    var bytes: [UInt8] { machine.withLock { $0.bytes } }

    /// As text, without the line break at its end. What is not UTF-8 is replaced.
    var text: String {
        var bytes = bytes
        if bytes.last == UInt8(ascii: "\n") { bytes.removeLast() }
        return String(decoding: bytes, as: UTF8.self)
    }
}

/// Cuts what a command writes into lines, and keeps no more of a line than a limit.
final class LineSplitter: Sendable {
    private struct Machine {
        var line: [UInt8] = []
        var number = 0
        var isWanted = true
    }

    private let machine = Mutex(Machine())
    private let limit: Int
    private let report: @Sendable ([UInt8], Int) -> Bool

    /// A splitter that reports lines with their numbers, until it is answered that nobody wants them.
    init(limit: Int, report: @escaping @Sendable ([UInt8], Int) -> Bool) {
        self.limit = limit
        self.report = report
    }

    func add(_ bytes: UnsafeRawBufferPointer) {
        guard let base = bytes.baseAddress else { return }
        let lines = machine.withLock { machine in
            var lines: [([UInt8], Int)] = []
            guard machine.isWanted else { return lines }
            var begin = 0
            while begin < bytes.count {
                let found = memchr(base + begin, Int32(UInt8(ascii: "\n")), bytes.count - begin)
                let end = found.map { base.distance(to: UnsafeRawPointer($0)) } ?? bytes.count
                let room = max(0, limit - machine.line.count)
                if room > 0 { machine.line.append(contentsOf: bytes[begin..<min(end, begin + room)]) }
                if found != nil { lines.append(Self.take(&machine)) }
                begin = end + 1
            }
            return lines
        }
        tell(lines)
    }

    /// The output has ended: a last line without a line break counts too.
    func finish() {
        let last = machine.withLock { $0.line.isEmpty ? [] : [Self.take(&$0)] }
        tell(last)
    }

    private func tell(_ lines: [([UInt8], Int)]) {
        for (line, number) in lines where !report(line, number) {
            machine.withLock { machine in
                machine.isWanted = false
                machine.line = []
            }
            return
        }
    }

    private static func take(_ machine: inout Machine) -> ([UInt8], Int) {
        machine.number += 1
        defer { machine.line = [] }
        return (machine.line, machine.number)
    }
}
