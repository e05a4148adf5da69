import CommonExpression
import FeedbackKitTesting
import Foundation
import Glibc
import SideEffects
import Testing
import TestSupport

/// Replaces a file like editors and package managers do.
private func replace(_ path: String, _ text: String) {
    write(text, path + ".new")
    rename(path + ".new", path)
}

private func watching(
    _ path: String, content: Int64 = 64, settle: Duration = .milliseconds(20),
    clock: any Clock<Duration> = ContinuousClock()
) -> Sensing {
    Sensing(
        PathEffect(),
        ["path": .string(path), "content": .int(content), "settle": TimeSpan(settle).map { .duration($0) } ?? .null],
        clock: clock)
}

/// Real files, in a real file system.
@Suite(.serialized, .timeLimit(.minutes(5))) struct `The side effect path` {
    private let folder = TemporaryDirectory()
    private var path: String { folder("file") }

    @Test func `reports the current state first, then changes`() async throws {
        write("one", path)
        let sensing = watching(path)
        await sensing.reported(1)
        #expect(sensing.names == ["onAppear"])
        #expect(sensing.text(0, "path") == path)
        #expect(sensing.text(0, "kind") == "file")
        #expect(sensing.value(0, "size") == .int(3))
        #expect(sensing.text(0, "content") == "one")
        guard case .timestamp(let modified)? = sensing.value(0, "modified") else { throw CancellationError() }
        #expect(abs(modified.seconds - Int64(time(nil))) < 60)
        write("two!", path)
        await sensing.until { $0.last("content") == "two!" }
        #expect(sensing.last("size") == "4")
        chmod(path, 0o600)
        let count = sensing.names.count
        await sensing.reported(count + 1)
        #expect(Set(sensing.names.dropFirst()) == ["onChange"])
        unlink(path)
        await sensing.until { $0.names.last == "onVanish" }
        #expect(sensing.last("kind") == "none" && sensing.last("size") == "0" && sensing.last("content") == "")
        #expect(sensing.last("modified") == "1970-01-01T00:00:00Z")
        await sensing.cancel()
        #expect(sensing.failures == [])
    }

    @Test func `a path whose directories do not exist yet is reported when it appears`() async {
        let path = folder("a/b/c/file")
        let sensing = watching(path)
        await sensing.reported(1)
        #expect(sensing.names == ["onVanish"])
        for part in ["a", "a/b", "a/b/c"] { mkdir(folder(part), 0o755) }
        write("here", path)
        await sensing.until { $0.last("content") == "here" }
        #expect(sensing.names.dropFirst().first == "onAppear")
        await sensing.cancel()
    }

    @Test func `an atomic replacement is one change`() async {
        write("old", path)
        let sensing = watching(path)
        await sensing.reported(1)
        for round in 2...6 {
            replace(path, "new \(round)")
            await sensing.reported(round)
            #expect(sensing.last("content") == "new \(round)")
        }
        unlink(path)
        await sensing.until { $0.names.last == "onVanish" }
        #expect(sensing.names == ["onAppear"] + Array(repeating: "onChange", count: 5) + ["onVanish"])
        await sensing.cancel()
    }

    @Test func `many changes give few reports, and the last one is current`() async {
        write("start", path)
        let clock = ManualClock()
        let sensing = watching(path, settle: .milliseconds(100), clock: clock)
        await sensing.reported(1)
        for number in 1...5_000 {
            if number % 3 == 0 { replace(path, "\(number)") } else { write("\(number)", path) }
        }
        await clock.nextDeadline(in: .milliseconds(100))
        #expect(sensing.names == ["onAppear"])
        clock.advance(by: .milliseconds(100))
        await sensing.reported(2)
        #expect(sensing.names == ["onAppear", "onChange"])
        #expect(sensing.last("content") == "5000")
        // At most one more report, about changes during the look.
        unlink(path)
        while sensing.names.last != "onVanish" {
            if clock.nextDeadline != nil { clock.advance(by: .milliseconds(100)) }
            await Task.yield()
        }
        #expect(sensing.names.count <= 4)
        await sensing.cancel()
    }

    @Test func `the changed entry of a directory is reported, also after the directory was replaced`() async {
        let directory = folder("spool")
        mkdir(directory, 0o755)
        let sensing = watching(directory)
        await sensing.reported(1)
        #expect(sensing.text(0, "kind") == "directory" && sensing.text(0, "name") == "")
        write("x", directory + "/job")
        await sensing.until { $0.last("name") == "job" }
        #expect(sensing.names.last == "onChange")
        unlink(directory + "/job")
        rmdir(directory)
        await sensing.until { $0.names.last == "onVanish" }
        mkdir(directory, 0o755)
        await sensing.until { $0.names.last == "onAppear" }
        write("y", directory + "/other")
        await sensing.until { $0.last("name") == "other" }
        #expect(sensing.names.last == "onChange")
        write("yy", directory + "/other")
        let count = sensing.names.count
        await sensing.reported(count + 1)
        #expect(sensing.last("name") == "other")
        await sensing.cancel()
    }

    @Test func `renaming a parent makes the file disappear, and renaming it back restores it`() async {
        mkdir(folder("a"), 0o755)
        mkdir(folder("a/b"), 0o755)
        write("x", folder("a/b/file"))
        let sensing = watching(folder("a/b/file"))
        await sensing.reported(1)
        rename(folder("a"), folder("z"))
        await sensing.until { $0.names == ["onAppear", "onVanish"] }
        // Events elsewhere do not count.
        write("elsewhere", folder("z/b/file"))
        rename(folder("z"), folder("a"))
        await sensing.until { $0.names == ["onAppear", "onVanish", "onAppear"] }
        #expect(sensing.last("content") == "elsewhere")
        write("back", folder("a/b/file"))
        await sensing.until { $0.last("content") == "back" }
        await sensing.cancel()
    }

    @Test func `symbolic links on the path are followed, and a changed link is noticed`() async {
        for (directory, text) in [("v1", "one"), ("v2", "two")] {
            mkdir(folder(directory), 0o755)
            write(text, folder("\(directory)/file"))
        }
        symlink("v1", folder("data"))
        symlink(folder("data/file"), path)
        let sensing = watching(path)
        await sensing.reported(1)
        #expect(sensing.last("content") == "one")
        symlink("v2", folder("data.new"))
        rename(folder("data.new"), folder("data"))
        await sensing.until { $0.last("content") == "two" }
        write("three", folder("v2/file"))
        await sensing.until { $0.last("content") == "three" }
        // A loop of links is a fault.
        symlink("data", folder("data.new"))
        rename(folder("data.new"), folder("data"))
        await sensing.failed(1)
        #expect(sensing.failures[0].contains("symbolic"))
        #expect(Set(sensing.names.dropFirst()) == ["onChange"])
        await sensing.cancel()
    }

    @Test func `after an overflow of the system's queue it looks again`() async throws {
        let limit = try #require(
            Int(contents("/proc/sys/fs/inotify/max_queued_events").trimmingCharacters(in: .whitespacesAndNewlines)))
        let directory = folder("spool")
        mkdir(directory, 0o755)
        let clock = ManualClock()
        let sensing = watching(directory, clock: clock)
        await sensing.reported(1)
        write("", directory + "/first")
        await clock.nextDeadline(in: .milliseconds(20))
        // Two events each, all of them different.
        for number in 0...min(limit, 100_000) / 2 + 100 {
            let name = "\(directory)/\(number)"
            close(creat(name, 0o644))
            unlink(name)
        }
        clock.advance(by: .seconds(1))
        await sensing.reported(2)
        #expect(sensing.names == ["onAppear", "onChange"])
        write("x", directory + "/last")
        while sensing.last("name") != "last" {
            if clock.nextDeadline != nil { clock.advance(by: .seconds(1)) }
            await Task.yield()
        }
        await sensing.cancel()
    }

    @Test func `only the beginning of a file is read, and nothing of anything else`() async {
        write(String(repeating: "ä", count: 1_000), path)
        let sensing = watching(path, content: 5)
        await sensing.reported(1)
        #expect(sensing.last("content") == "ää\u{FFFD}" && sensing.last("size") == "2000")
        unlink(path)
        await sensing.until { $0.names.last == "onVanish" }
        mkfifo(path, 0o644)
        await sensing.until { $0.names.last == "onAppear" }
        #expect(sensing.last("kind") == "other" && sensing.last("content") == "")
        await sensing.cancel()
    }

    @Test func `a hundred cancelled runs leak no descriptor`() async {
        let before = openDescriptors(on: "inotify")
        for round in 0..<100 {
            let sensing = watching(folder("a/b"))
            if round % 2 == 0 { await sensing.reported(1) }
            await sensing.cancel()
            #expect(sensing.isOver)
        }
        #expect(openDescriptors(on: "inotify") <= before)
    }
}
