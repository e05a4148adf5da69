import Glibc
import SystemPackage
import Testing

@testable import SideEffects

@Suite
struct CommandFilesTests {
    @Test
    func `Without enough descriptors none stays open, whichever is missing`() async {
        await #expect(processExitsWith: .success) {
            func isOpen(_ number: Int) -> Bool { fcntl(Int32(number), F_GETFD) >= 0 }
            func count() -> Int { (0..<4096).count(where: isOpen) }
            let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
            var usual = rlimit()
            getrlimit(resource, &usual)

            /// Returns the problem when `room` more descriptors can be opened; nil if all is well.
            func flaw(input: String?, room: Int) -> String? {
                // The open descriptors have no gaps, so the limit is the number that can still be opened.
                let before = ((0..<4096).last(where: isOpen) ?? 0) + 1
                for number in 0..<before where !isOpen(number) { dup2(0, Int32(number)) }
                var limit = rlimit(rlim_cur: rlim_t(before + room), rlim_max: usual.rlim_max)
                setrlimit(resource, &limit)
                let files = try? CommandFiles(input: input)
                setrlimit(resource, &usual)
                guard (files != nil) == (room == 5) else {
                    return "\(files == nil ? "not opened" : "opened") with \(room)"
                }
                if let files {
                    guard count() == before + 5 else { return "\(count() - before) open instead of 5" }
                    files.closeOurs()
                    for end in [files.input, files.outputEnd, files.errorsEnd] { try? end.close() }
                }
                return count() == before ? nil : "\(count() - before) left open with \(room)"
            }

            for input in [nil, "hello"] as [String?] {
                for room in 0...5 {
                    // Another thread of the process, such as a timer of the test library, may open a descriptor once. A
                    // real fault occurs each time.
                    var last: String?
                    for _ in 0..<5 {
                        last = flaw(input: input, room: room)
                        if last == nil { break }
                    }
                    #expect(last == nil)
                }
            }
        }
    }

    @Test
    func `Reading returns written bytes, then nothing yet, then the end`() throws {
        let files = try CommandFiles(input: "question")
        defer { files.closeOurs() }
        var read: [UInt8] = []
        #expect(CommandFiles.read(files.output) { _ in } == nil)
        try files.outputEnd.writeAll("answer".utf8)
        #expect(CommandFiles.read(files.output) { read += $0 } == 6)
        #expect(CommandFiles.read(files.output) { _ in } == nil)
        try files.outputEnd.close()
        // A child that another test has just forked also has that end until it executes its program.
        var end = pollfd(fd: files.output.rawValue, events: Int16(POLLIN), revents: 0)
        #expect(poll(&end, 1, 60_000) == 1)
        #expect(CommandFiles.read(files.output) { _ in } == 0)
        #expect(String(decoding: read, as: UTF8.self) == "answer")
        #expect(CommandFiles.read(files.input) { read += $0 } == 8)
        try files.input.close()
        try files.errorsEnd.close()
    }

    @Test
    func `The daemon's ends are closed once, even if their numbers are reused`() async {
        await #expect(processExitsWith: .success) {
            // Another file of the test takes the number again, unless another thread was faster.
            for _ in 0..<5 {
                let files = try CommandFiles(input: nil)
                files.closeOurs()
                let other = open("/dev/null", O_RDONLY)
                guard other == files.output.rawValue else { continue }
                files.closeOurs()
                #expect(fcntl(other, F_GETFD) >= 0)
                return
            }
            Issue.record("the number was never taken by another file")
        }
    }
}
