import CLinux
import Glibc
import Testing

/// Files of the journal that become shorter while they are mapped.
@Suite struct JournalFileTests {
    private static let page = sysconf(Int32(_SC_PAGESIZE))

    /// A file of pages, mapped, and made shorter; gone at the end.
    private final class CutFile {
        let start: UnsafeMutableRawPointer
        private let length: Int

        /// - Parameters:
        ///   - bytes: how many are left of it.
        init(_ pages: Int, cutTo bytes: Int, suffix: String = ".journal", isRemoved: Bool = true) throws {
            length = pages * JournalFileTests.page
            // mkstemps(3) makes the name its own, and nobody else can have made the file.
            var path = Array("/tmp/mapped-XXXXXX\(suffix)".utf8CString)
            let file = mkstemps(&path, Int32(suffix.utf8.count))
            try #require(file >= 0)
            try #require(ftruncate(file, length) == 0)
            let address = mmap(nil, length, PROT_READ, MAP_SHARED, file, 0)
            start = try #require(address != MAP_FAILED ? address : nil)
            try #require(ftruncate(file, bytes) == 0)
            close(file)
            // What is mapped need not have a name any more.
            if isRemoved { unlink(path) } else { self.path = path }
        }

        private var path: [CChar] = []

        deinit {
            munmap(start, length)
            if !path.isEmpty { unlink(path) }
        }

        func byte(_ page: Int, _ offset: Int = 0) -> UInt8 {
            start.load(fromByteOffset: page * JournalFileTests.page + offset, as: UInt8.self)
        }
    }

    /// How often something that is not there is read.
    private static func faults(_ body: () -> Void) -> UInt {
        let before = linux_journal_faults()
        linux_journal_begin()
        body()
        linux_journal_end()
        return UInt(linux_journal_faults() - before)
    }

    @Test(arguments: [".journal", ".journal~"], [true, false])
    func `are zeros behind their end to who is prepared, who is told`(suffix: String, isRemoved: Bool) throws {
        let file = try CutFile(4, cutTo: Self.page + 100, suffix: suffix, isRemoved: isRemoved)
        let faults = Self.faults {
            linux_journal_begin()
            errno = ENOTTY
            #expect(file.byte(2, 8) == 0)
            #expect(errno == ENOTTY)
            #expect(linux_journal_faults() > 0)
            linux_journal_end()
            // Another page of it, and the last one that is partly there, which is no fault.
            #expect(file.byte(3) == 0)
            #expect(file.byte(1, 200) == 0)
        }
        #expect(faults == 2)
        // It has been told, and there is nothing more to be told of the next time.
        let again = Self.faults { #expect(file.byte(2) == 0 && file.byte(3) == 0) }
        #expect(again == 0)
    }

    @Test func `are told to each thread by itself`() async throws {
        let told = try await withThrowingTaskGroup(of: UInt.self) { group in
            for number in 0..<8 {
                group.addTask {
                    let pages = number + 2
                    let file = try CutFile(pages, cutTo: Self.page)
                    return Self.faults { for page in 1..<pages { #expect(file.byte(page) == 0) } } - UInt(number)
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(told == Array(repeating: 1, count: 8))
    }

    @Test func `end who is not prepared, as ever`() async {
        await #expect(processExitsWith: .signal(SIGBUS)) {
            // Once prepared, and no longer.
            linux_journal_begin()
            linux_journal_end()
            _ = try CutFile(2, cutTo: JournalFileTests.page).byte(1)
        }
    }

    @Test func `end who is not prepared while another thread is`() async {
        await #expect(processExitsWith: .signal(SIGBUS)) {
            let file = try CutFile(2, cutTo: JournalFileTests.page)
            linux_journal_begin()
            var thread = pthread_t()
            pthread_create(
                &thread, nil,
                { start in
                    _ = start?.load(fromByteOffset: JournalFileTests.page, as: UInt8.self)
                    return nil
                }, file.start)
            pthread_join(thread, nil)
            linux_journal_end()
        }
    }

    @Test func `are no others: whose name is another ends who is prepared, too`() async {
        await #expect(processExitsWith: .signal(SIGBUS)) {
            let file = try CutFile(2, cutTo: JournalFileTests.page, suffix: ".journals")
            linux_journal_begin()
            _ = file.byte(1)
        }
    }

    @Test func `end who is prepared where the signal is only sent`() async {
        await #expect(processExitsWith: .signal(SIGBUS)) {
            linux_journal_begin()
            raise(SIGBUS)
        }
    }

    @Test func `are zeros also after a signal that is ignored was sent`() async {
        await #expect(processExitsWith: .success) {
            signal(SIGBUS, SIG_IGN)
            let file = try CutFile(2, cutTo: JournalFileTests.page)
            linux_journal_begin()
            raise(SIGBUS)
            raise(SIGBUS)
            exit(file.byte(1) == 0 && linux_journal_faults() == 1 ? EXIT_SUCCESS : EXIT_FAILURE)
        }
    }

    @Test func `leave to the handler that was there what is not of them`() async {
        await #expect(processExitsWith: .exitCode(42)) {
            signal(SIGBUS) { _ in _exit(42) }
            let file = try CutFile(2, cutTo: JournalFileTests.page)
            linux_journal_begin()
            _ = file.byte(1)
            linux_journal_end()
            raise(SIGBUS)
        }
    }
}
