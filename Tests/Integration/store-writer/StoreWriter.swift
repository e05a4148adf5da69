import Durability
import Glibc

/// `store-writer DIRECTORY COUNT` opens the store in a directory, changes as many parts one after the other, and closes it. Each line
/// that it prints is one write(2):
///
///     loaded PART…
///     synced PART
///     refused PART TROUBLE
///     failed TROUBLE
///     closed BOOLEAN
///
/// It exits with 3 if the store cannot be opened, and with 6 after a failure for good.
@main
enum StoreWriter {
    static func main() throws {
        let arguments = CommandLine.arguments
        guard arguments.count == 3, let count = Int(arguments[2]) else { exit(2) }
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { exit(2) }
        let (reader, writer) = (ends[0], ends[1])
        let settings = DiskStoreSettings(
            directory: arguments[1] + "/store", headCopy: arguments[1] + "/head",
            startThread: { body in
                Task.detached { body() }
                return true
            },
            failed: { trouble in
                say("failed \(trouble)")
                signal(writer, failure)
            })
        let store = try DiskStore(settings)
        do {
            let contents = try store.load()
            say("loaded " + contents.parts.map(\.key.name).joined(separator: " "))
            let epoch = contents.epoch(incarnation: 1)
            var isGoing = true
            for number in 0..<count where isGoing {
                let name = "\(contents.life).\(number)"
                let change = PartChange(key: PartKey(kind: 1, name: name), epoch: epoch) {
                    Array(repeating: 65, count: 1_000)
                }
                store.put(change) { outcome in
                    say(outcome, of: name)
                    signal(writer, success)
                }
                isGoing = wait(reader) == success
            }
            // After a failure it has no outcome.
            if count > 0 { store.mark(.ready) { say($0, of: "ready") } }
            say("closed \(store.close(within: .seconds(60)))")
            exit(isGoing ? 0 : 6)
        } catch {
            say("refused load \(error)")
            exit(3)
        }
    }

    private static let success: UInt8 = 1
    private static let failure: UInt8 = 2

    private static func say(_ outcome: StoreOutcome, of name: String) {
        switch outcome {
        case .synced: say("synced \(name)")
        case .refused(let trouble): say("refused \(name) \(trouble)")
        }
    }

    private static func say(_ line: String) {
        let bytes = Array("\(line)\n".utf8)
        _ = write(STDOUT_FILENO, bytes, bytes.count)
    }

    private static func signal(_ descriptor: Int32, _ byte: UInt8) {
        var byte = byte
        _ = write(descriptor, &byte, 1)
    }

    private static func wait(_ descriptor: Int32) -> UInt8 {
        var byte: UInt8 = 0
        _ = read(descriptor, &byte, 1)
        return byte
    }
}
