import Glibc
import MediatorHost
import Synchronization

/// The process whose number is in the first line of a file, as daemons write it.
///
/// The file refers to one process: the one that had the number when this content of the file was first read. After that
/// process ends, the file is stale until it changes, even if another process gets the number.
final class PIDFile: ProcessSource {
    /// The process to which a file refers.
    private struct Meaning: Sendable {
        let path: String
        let file: PathWatch.Observation
        /// The start of the process; `nil` if no process ran.
        var begin: UInt64?
    }

    /// The bytes that are read from a file. The number is in its first line.
    static let contentLimit = 256

    private let path: String
    private let memory: EffectMemory
    private let watch = Mutex<PathWatch?>(nil)

    /// Opens a file. The feedback's memory keeps the process from one run to the next.
    init(_ path: String, _ memory: EffectMemory) {
        self.path = path
        self.memory = memory
    }

    var descriptor: Int32? { watch.withLock { $0?.descriptor } }

    func drain() -> Bool { watch.withLock { $0 }?.drain() ?? false }

    func look() async throws -> (process: ProcessHandle?, problem: String?) {
        let watch = try begin()
        return try await Blocking.call { [self] in
            let look = watch.look()
            do throws(SensingProblem) {
                return (try look.observation.flatMap(process), look.problem)
            } catch {
                return (nil, look.problem ?? error.message)
            }
        }
    }

    private func begin() throws -> PathWatch {
        try watch.withLock { watch in
            if let watch { return watch }
            let new = try PathWatch(path, contentLimit: Self.contentLimit)
            watch = new
            return new
        }
    }

    /// Returns the process to which a file refers, if it runs.
    private func process(_ file: PathWatch.Observation) throws(SensingProblem) -> ProcessHandle? {
        switch file.kind {
        case .none: return nil
        case .file: break
        case .directory, .other: throw SensingProblem("\(path) is not a file with a process number")
        }
        // An empty file was just created and will be written.
        guard !file.content.isEmpty else { return nil }
        let line = String(decoding: file.content.prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self)
        let words = line.split(whereSeparator: \.isWhitespace)
        guard words.count == 1, words[0].utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }),
            let number = pid_t(words[0]), number > 0
        else {
            throw SensingProblem("the first line of \(path) is not a process number")
        }
        let found = try ProcessHandle.open(number)
        if let known = memory.value(Meaning.self), known.path == path, known.file == file {
            guard known.begin == found?.begin else {
                memory.keep(Meaning(path: path, file: file, begin: nil))
                return nil
            }
            return found
        }
        memory.keep(Meaning(path: path, file: file, begin: found?.begin))
        return found
    }
}
