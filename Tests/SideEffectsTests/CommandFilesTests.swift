import Glibc
import SystemPackage
import Testing

@testable import SideEffects

@Suite
struct CommandFilesTests {
    @Test
    func `Without enough descriptors none of them is left open, whichever is the one that is missing`() async {
        await #expect(processExitsWith: .success) {
            func isOpen(_ number: Int) -> Bool { fcntl(Int32(number), F_GETFD) >= 0 }
            func count() -> Int { (0..<4096).count(where: isOpen) }
            let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
            var usual = rlimit()
            getrlimit(resource, &usual)
            // What is open is made to have no gaps, so that the limit is the number of those that can be opened.
            let before = ((0..<4096).last(where: isOpen) ?? 0) + 1
            for number in 0..<before where !isOpen(number) { dup2(0, Int32(number)) }
            for input in [nil, "hello"] as [String?] {
                for room in 0...5 {
                    var limit = rlimit(rlim_cur: rlim_t(before + room), rlim_max: usual.rlim_max)
                    #expect(count() == before)
                    setrlimit(resource, &limit)
                    let files = try? CommandFiles(input: input)
                    setrlimit(resource, &usual)
                    #expect((files != nil) == (room == 5))
                    guard let files else {
                        #expect(count() == before)
                        continue
                    }
                    #expect(count() == before + 5)
                    files.closeOurs()
                    for end in [files.input, files.outputEnd, files.errorsEnd] { try? end.close() }
                    #expect(count() == before)
                }
            }
        }
    }

    @Test
    func `What is written is read, then nothing yet, then the end`() throws {
        let files = try CommandFiles(input: "question")
        defer { files.closeOurs() }
        var read: [UInt8] = []
        #expect(CommandFiles.read(files.output) { _ in } == nil)
        try files.outputEnd.writeAll("answer".utf8)
        #expect(CommandFiles.read(files.output) { read += $0 } == 6)
        #expect(CommandFiles.read(files.output) { _ in } == nil)
        try files.outputEnd.close()
        // A child that another test has just forked has that end too, until it becomes another program.
        var end = pollfd(fd: files.output.rawValue, events: Int16(POLLIN), revents: 0)
        #expect(poll(&end, 1, 60_000) == 1)
        #expect(CommandFiles.read(files.output) { _ in } == 0)
        #expect(String(decoding: read, as: UTF8.self) == "answer")
        #expect(CommandFiles.read(files.input) { read += $0 } == 8)
        try files.input.close()
        try files.errorsEnd.close()
    }

    @Test
    func `Our ends are closed once, whatever has their numbers by then`() async {
        await #expect(processExitsWith: .success) {
            let files = try CommandFiles(input: nil)
            files.closeOurs()
            let other = open("/dev/null", O_RDONLY)
            #expect(other == files.output.rawValue)
            files.closeOurs()
            #expect(fcntl(other, F_GETFD) >= 0)
        }
    }
}
