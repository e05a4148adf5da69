import CommonExpression
import FeedbackKitTesting
import Glibc
import MediatorHost
import SideEffects
import Testing
import TestSupport

/// A file system of 1 MiB in memory, which only the superuser may mount.
private final class SmallDisk: Sendable {
    private static let size = 1_048_576
    private let folder = TemporaryDirectory()
    let path: String

    init() throws {
        path = folder("disk")
        mkdir(path, 0o755)
        try #require(mount("tmpfs", path, "tmpfs", 0, "size=\(Self.size),nr_inodes=20") == 0)
    }

    deinit { umount2(path, Int32(MNT_DETACH)) }

    /// Fills it with a number of bytes.
    func fill(_ count: Int) {
        let file = open(path + "/file", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
        let bytes = [UInt8](repeating: 1, count: 4_096)
        for _ in 0..<count / bytes.count { write(file, bytes, bytes.count) }
        close(file)
    }

    /// A Boolean value that indicates whether this user may mount one here.
    static let isPossible: Bool = {
        let folder = TemporaryDirectory()
        guard mount("tmpfs", folder.path, "tmpfs", 0, "size=4096") == 0 else { return false }
        umount2(folder.path, Int32(MNT_DETACH))
        return true
    }()
}

private func measuring(
    _ path: String, _ more: [String: Value] = [:], _ clock: ManualClock, memory: EffectMemory = EffectMemory()
) -> Sensing {
    Sensing(FileSystemEffect(), more.merging(["path": .string(path)]) { $1 }, clock: clock, memory: memory)
}

/// Real file systems, filled and emptied.
@Suite(.timeLimit(.minutes(5))) struct `The side effect filesystem` {
    private let clock = ManualClock()

    /// Makes it measure again.
    private func again(_ sensing: Sensing) async {
        await clock.nextDeadline(in: .seconds(30))
        clock.advance(by: .seconds(30))
        await clock.nextDeadline(in: .seconds(30))
    }

    @Test func `reports the system's values`() async {
        let sensing = measuring("/", [:], clock)
        await sensing.reported(1)
        var status = statvfs()
        #expect(statvfs("/", &status) == 0)
        #expect(sensing.names == ["onSample"])
        #expect(sensing.value(0, "totalBytes") == .int(Int64(status.f_blocks) * Int64(status.f_frsize)))
        guard case .int(let percent)? = sensing.value(0, "percent") else {
            return #expect(Bool(false), "no percentage")
        }
        #expect((0...100).contains(percent))
        await sensing.cancel()
    }

    @Test(.enabled(if: SmallDisk.isPossible, "only the superuser may mount a file system of known size"))
    func `reports once when it becomes full, and once when it has room again`() async throws {
        let disk = try SmallDisk()
        let sensing = measuring(disk.path, ["above": .int(80)], clock)
        await sensing.reported(2)
        #expect(sensing.names == ["onBelow", "onSample"])
        #expect(sensing.value(0, "percent") == .int(0) && sensing.value(0, "totalBytes") == .int(1_048_576))
        #expect(sensing.value(0, "usedBytes") == .int(0) && sensing.value(0, "freeBytes") == .int(1_048_576))
        // Of 20 possible files, the directory itself is one.
        #expect(sensing.value(0, "freeInodesPercent") == .int(95))
        // 80 % is not above the limit. One more block is: 82 of 100, rounded up as df does.
        for (share, percent) in [(204, 80), (208, 82), (256, 100), (200, 79), (196, 77), (188, 74)] {
            disk.fill(share * 4_096)
            await again(sensing)
            #expect(sensing.last("percent") == "\(percent)")
        }
        #expect(
            sensing.names == [
                "onBelow", "onSample", "onSample", "onAbove", "onSample", "onSample", "onSample", "onSample", "onBelow",
                "onSample",
            ])
        await sensing.cancel()
    }

    @Test(.enabled(if: SmallDisk.isPossible, "only the superuser may mount a file system of known size"))
    func `a run after another reports the current state, but only after the interval`() async throws {
        let (disk, memory) = (try SmallDisk(), EffectMemory())
        disk.fill(900_000)
        let first = measuring(disk.path, ["above": .int(80)], clock, memory: memory)
        await first.reported(2)
        await first.cancel()
        // Between the limits nothing changes.
        disk.fill(820_000)
        let second = measuring(disk.path, ["above": .int(80)], clock, memory: memory)
        await clock.nextDeadline(in: .seconds(30))
        clock.advance(by: .milliseconds(29_999))
        #expect(clock.nextDeadline?.offset == .seconds(30) && second.names == [])
        clock.advance(by: .milliseconds(1))
        await second.reported(2)
        #expect(second.names == ["onAbove", "onSample"] && second.last("percent") == "79")
        await second.cancel()
    }

    @Test func `a failed measurement is one fault, until it succeeds`() async {
        let folder = TemporaryDirectory()
        let sensing = measuring(
            folder("later"), ["every": TimeSpan(.seconds(30)).map { .duration($0) } ?? .null], clock)
        await sensing.failed(1)
        await again(sensing)
        #expect(sensing.failures.count == 1 && sensing.failures[0].contains("No such file"))
        mkdir(folder("later"), 0o755)
        await again(sensing)
        #expect(sensing.names == ["onSample"])
        rmdir(folder("later"))
        await again(sensing)
        #expect(sensing.failures.count == 2)
        await sensing.cancel()
        #expect(clock.nextDeadline == nil)
    }
}
