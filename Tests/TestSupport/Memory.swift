import Glibc

/// Memory of this process, in KiB (proc(5)).
///
/// Other tests of a process need memory too, so a test that measures runs in a process of its own (`processExitsWith`).
package enum Memory {
    /// The resident memory that belongs to no file. Pages of the program, which are read when they are first used, do not count.
    package static var anonymous: Int { value("RssAnon") }

    /// The largest resident memory since the start or the last ``resetPeak()``, without the pages of files that are resident now.
    package static var peak: Int { value("VmHWM") - value("RssFile") - value("RssShmem") }

    /// Makes the present memory the largest so far.
    package static func resetPeak() {
        guard let file = fopen("/proc/self/clear_refs", "w") else { preconditionFailure("clear_refs: error \(errno)") }
        fputs("5", file)
        fclose(file)
    }

    private static func value(_ name: String) -> Int {
        guard let file = fopen("/proc/self/status", "r") else { preconditionFailure("status: error \(errno)") }
        defer { fclose(file) }
        var line = [CChar](repeating: 0, count: 256)
        while fgets(&line, Int32(line.count), file) != nil {
            let text = String(decoding: line.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
            if text.hasPrefix("\(name):"), let value = Int(text.filter(\.isNumber)) { return value }
        }
        preconditionFailure("/proc/self/status has no \(name)")
    }
}
