import Glibc

/// A directory below `/tmp` that is removed with its contents on release.
///
/// Its path is short, because the address of a socket has room for 107 bytes.
package final class TemporaryDirectory: Sendable {
    /// The path, which mkdtemp(3) has made unique.
    package let path: String

    /// Creates the directory. A machine without a writable `/tmp` runs no tests.
    package init() {
        var template = Array("/tmp/mediatord-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { preconditionFailure("no directory in /tmp: error \(errno)") }
        path = String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
    }

    /// Returns the path of an entry.
    package func callAsFunction(_ name: String) -> String { "\(path)/\(name)" }

    /// Writes a file, and replaces one that is there.
    package func write(_ name: String, _ text: String) throws {
        guard let file = fopen(self(name), "w") else { throw FileError(path: self(name), number: errno) }
        defer { fclose(file) }
        guard fputs(text, file) >= 0 else { throw FileError(path: self(name), number: errno) }
    }

    /// Creates directories, one within the other.
    package func make(_ name: String) {
        var path = path
        for part in name.split(separator: "/") {
            path += "/\(part)"
            mkdir(path, 0o700)
        }
    }

    /// Writes a file, and creates the directories on the way to it.
    package func add(_ name: String, _ text: String) throws {
        make(name.split(separator: "/").dropLast().joined(separator: "/"))
        try write(name, text)
    }

    deinit { Self.remove(path) }

    private static func remove(_ path: String) {
        // A link to a directory is removed, not followed.
        guard unlink(path) != 0, let directory = opendir(path) else { return }
        while let entry = readdir(directory) {
            // An entry is only as long as its name (getdents(2)), so the field is read in place, up to its zero.
            let field = entry.pointer(to: \.d_name).map { UnsafeRawPointer($0).assumingMemoryBound(to: CChar.self) }
            let name = field.map { String(cString: $0) } ?? "."
            if name != ".", name != ".." { remove("\(path)/\(name)") }
        }
        closedir(directory)
        rmdir(path)
    }
}

/// A file that could not be written.
package struct FileError: Error {
    let path: String
    /// The number of the error (errno(3)).
    let number: Int32
}
