import Glibc
import SystemPackage
import Testing

@testable import SideEffects

@Suite
struct CommandFilesTests {
    @Test
    func `Without enough descriptors none of them is left open, whichever is the one that is missing`() async {
        await #expect(processExitsWith: .success) {
            func count() -> Int {
                (0..<256).count { fcntl(Int32($0), F_GETFD) >= 0 }
            }
            let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
            var usual = rlimit()
            getrlimit(resource, &usual)
            // What is open is made to have no gaps, so that the limit is the number of those that can be opened.
            for number in 0..<Int32(32) where fcntl(number, F_GETFD) < 0 { dup2(0, number) }
            let before = count()
            var highest: Int32 = 255
            while fcntl(highest, F_GETFD) < 0 { highest -= 1 }
            for input in [nil, "hello"] as [String?] {
                for room in 0...5 {
                    var limit = rlimit(rlim_cur: rlim_t(before + room), rlim_max: usual.rlim_max)
                    #expect(Int(highest) == before - 1)
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
        #expect(CommandFiles.read(files.output) { _ in } == 0)
        #expect(String(decoding: read, as: UTF8.self) == "answer")
        #expect(CommandFiles.read(files.input) { read += $0 } == 8)
        try files.input.close()
        try files.errorsEnd.close()
    }
}
