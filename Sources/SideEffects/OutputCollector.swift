import Synchronization

/// Keeps the beginning of what a command writes.
final class OutputCollector: Sendable {
    private let bytes = Mutex<[UInt8]>([])
    private let limit: Int

    init(limit: Int) {
        self.limit = limit
    }

    func add(_ new: UnsafeRawBufferPointer) {
        bytes.withLock { $0.append(contentsOf: new.prefix(max(0, limit - $0.count))) }
    }

    /// As text, without the line break at its end. What is not UTF-8 is replaced.
    var text: String {
        var bytes = bytes.withLock { $0 }
        if bytes.last == UInt8(ascii: "\n") { bytes.removeLast() }
        return String(decoding: bytes, as: UTF8.self)
    }
}

/// Cuts what a command writes into lines.
final class LineSplitter: Sendable {
    private struct Machine {
        var line: [UInt8] = []
        var number = 0
    }

    private let machine = Mutex(Machine())
    private let limit: Int
    private let report: @Sendable (String, Int) -> Void

    init(limit: Int, report: @escaping @Sendable (String, Int) -> Void) {
        self.limit = limit
        self.report = report
    }

    func add(_ bytes: UnsafeRawBufferPointer) {
        let lines = machine.withLock { machine in
            var lines: [(String, Int)] = []
            for part in bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).enumerated() {
                if part.offset > 0 { lines.append(Self.take(&machine)) }
                machine.line.append(contentsOf: part.element.prefix(max(0, limit - machine.line.count)))
            }
            return lines
        }
        for (line, number) in lines { report(line, number) }
    }

    /// The output has ended: a last line without a line break counts too.
    func finish() {
        let last = machine.withLock { $0.line.isEmpty ? nil : Self.take(&$0) }
        if let (line, number) = last { report(line, number) }
    }

    private static func take(_ machine: inout Machine) -> (String, Int) {
        machine.number += 1
        defer { machine.line = [] }
        return (String(decoding: machine.line, as: UTF8.self), machine.number)
    }
}
