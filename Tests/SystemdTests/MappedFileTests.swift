import CLinux
import Glibc
import Testing

/// Files that become shorter while they are mapped, as those of the journal do.
@Suite struct MappedFileTests {
    /// Maps a file of two pages, makes it shorter by one, and gives the address behind its end.
    private static func behindTheEnd(_ body: (UnsafeRawPointer) -> Void) throws {
        let page = sysconf(Int32(_SC_PAGESIZE))
        var path = Array("/tmp/mapped-XXXXXX".utf8CString)
        let file = mkstemp(&path)
        try #require(file >= 0)
        unlink(path)
        defer { close(file) }
        try #require(ftruncate(file, 2 * page) == 0)
        let address = mmap(nil, 2 * page, PROT_READ, MAP_SHARED, file, 0)
        let start = try #require(address != MAP_FAILED ? address : nil)
        defer { munmap(start, 2 * page) }
        try #require(ftruncate(file, page) == 0)
        body(start + page)
    }

    @Test func `are zeros behind their end to who is prepared, who is told`() throws {
        try Self.behindTheEnd { address in
            linux_mapping_begin()
            linux_mapping_begin()
            #expect(address.load(fromByteOffset: 8, as: UInt64.self) == 0)
            #expect(linux_mapping_end() != 0)
            #expect(linux_mapping_end() != 0)
            // It has been told, and there is nothing more to be told of the next time.
            linux_mapping_begin()
            #expect(address.load(as: UInt8.self) == 0)
            #expect(linux_mapping_end() == 0)
        }
    }

    @Test func `end who is not prepared, as ever`() async {
        await #expect(processExitsWith: .signal(SIGBUS)) {
            // Once prepared, and no longer.
            linux_mapping_begin()
            _ = linux_mapping_end()
            try MappedFileTests.behindTheEnd { address in _ = address.load(as: UInt8.self) }
        }
    }
}
