import FoundationEssentials
import Glibc

/// What this process holds, as the kernel counts it.
struct Remains: Sendable, Equatable {
    var descriptors = 0
    var children = 0
    var threads = 0

    /// As it is now.
    static var now: Remains {
        let files = FileManager.default
        func count(_ path: String) -> Int { (try? files.contentsOfDirectory(atPath: path).count) ?? 0 }
        let tasks = (try? files.contentsOfDirectory(atPath: "/proc/self/task")) ?? []
        let children = tasks.reduce(0) { sum, task in
            let text = files.contents(atPath: "/proc/self/task/\(task)/children") ?? Data()
            return sum + String(decoding: text, as: UTF8.self).split(separator: " ").count
        }
        return Remains(descriptors: count("/proc/self/fd"), children: children, threads: tasks.count)
    }

    /// How many bytes of memory are resident. Source: proc_pid_statm(5).
    static var memory: Int {
        let text = FileManager.default.contents(atPath: "/proc/self/statm") ?? Data()
        let pages = String(decoding: text, as: UTF8.self).split(separator: " ").dropFirst().first.flatMap { Int($0) }
        return (pages ?? 0) * Int(sysconf(Int32(_SC_PAGESIZE)))
    }

    /// What there is more of than before, in words; empty: nothing. Threads may be so many more, since the runtime has some
    /// of its own that come and go.
    func excess(over before: Remains, threads allowance: Int) -> [String] {
        var found: [String] = []
        func compare(_ now: Int, _ then: Int, _ what: String) {
            if now > then { found.append("\(now - then) more \(what) than before (\(then))") }
        }
        compare(descriptors, before.descriptors, "descriptors")
        compare(children, before.children, "child processes")
        compare(threads, before.threads + allowance, "threads")
        return found
    }
}
