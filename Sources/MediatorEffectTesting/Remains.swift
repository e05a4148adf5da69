import FoundationEssentials
import Glibc

/// The resources of this process, as the kernel counts them.
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

    /// The resident memory in bytes. Source: proc_pid_statm(5).
    static var memory: Int {
        let text = FileManager.default.contents(atPath: "/proc/self/statm") ?? Data()
        let pages = String(decoding: text, as: UTF8.self).split(separator: " ").dropFirst().first.flatMap { Int($0) }
        return (pages ?? 0) * Int(sysconf(Int32(_SC_PAGESIZE)))
    }

    /// The resources beyond an earlier count, in words; empty if there are none. There may be some more threads, since
    /// the runtime has some that come and go.
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
