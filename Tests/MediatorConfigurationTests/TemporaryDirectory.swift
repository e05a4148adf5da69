import MediatorConfiguration
import Testing

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// A directory that is gone with its owner.
final class TemporaryDirectory {
    let path: String

    init() throws {
        var template = Array("/tmp/mediator-configuration-XXXXXX".utf8CString)
        path = try #require(mkdtemp(&template).map { String(cString: $0) })
    }

    func write(_ name: String, _ text: String) throws {
        let file = try #require(fopen("\(path)/\(name)", "w"))
        defer { fclose(file) }
        #expect(fputs(text, file) >= 0)
    }

    /// Makes a directory below.
    func make(_ name: String) {
        var path = self.path
        for part in name.split(separator: "/") {
            path += "/\(part)"
            mkdir(path, 0o700)
        }
    }

    /// Makes the directories on the way to a file, and the file.
    func add(_ name: String, _ text: String) throws {
        make(name.split(separator: "/").dropLast().joined(separator: "/"))
        try write(name, text)
    }

    deinit { Self.remove(path) }

    private static func remove(_ path: String) {
        // A link to a directory is removed, not followed.
        guard unlink(path) != 0, let directory = opendir(path) else { return }
        while let entry = readdir(directory) {
            let name = DirectoryEntry.name(of: entry)
            if name != ".", name != ".." { remove("\(path)/\(name)") }
        }
        closedir(directory)
        rmdir(path)
    }
}
