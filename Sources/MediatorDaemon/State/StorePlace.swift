import Glibc
package import MediatorConfiguration

/// The directory of the store.
package struct StorePlace: Sendable, Hashable {
    /// The environment variable that names the directory.
    package static let variable = "MEDIATORD_STORE"

    /// The reason why a directory is not used, with the remedy.
    package struct Flaw: Error, Sendable, Hashable {
        /// The reason as a clause.
        package let reason: String
        /// The remedy as a clause.
        package let remedy: String

        init(_ reason: String, _ remedy: String = "name another directory with --store or \(StorePlace.variable)") {
            self.reason = reason
            self.remedy = remedy
        }
    }

    /// The path; `nil` if the environment does not tell it.
    package let directory: String?
    /// A Boolean value that indicates whether the directories above it are made, too.
    package let makesParents: Bool

    /// The place that somebody has named, as an absolute path. Only the last directory of the path is made, unless more is asked for.
    package init(_ directory: String, makesParents: Bool = false) {
        var path = directory[...]
        // A path with a slash at its end leads through a symbolic link.
        while path.count > 1, path.hasSuffix("/") { path.removeLast() }
        let working = path.hasPrefix("/") ? nil : getcwd(nil, 0)
        defer { free(working) }
        self.directory = working.map { "\(String(cString: $0))/\(path)" } ?? String(path)
        self.makesParents = makesParents
    }

    /// The place of a daemon: the named one, else that of ``variable``, else one below the user's directory of states for each
    /// configuration.
    package init(
        named: String?, of layers: ConfigurationLayers, environment: (String) -> String?
    ) {
        func variable(_ name: String) -> String? { environment(name).flatMap { $0.isEmpty ? nil : $0 } }
        if let named {
            self.init(named)
            return
        }
        if let path = variable(Self.variable) {
            self.init(path, makesParents: true)
            return
        }
        let states = variable("XDG_STATE_HOME") ?? variable("HOME").map { $0 + "/.local/state" }
        self.init(usual: states.map { "\($0)/mediatord/by-config/\(Self.name(of: layers))" })
    }

    private init(usual directory: String?) {
        self.directory = directory
        makesParents = true
    }

    /// The name for a configuration: the hash FNV-1a with 64 bits of the real paths of its directories.
    private static func name(of layers: ConfigurationLayers) -> String {
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        for directory in layers.directories {
            let real = realpath(directory, nil)
            defer { free(real) }
            for byte in Array((real.map { String(cString: $0) } ?? directory).utf8) + [0] {
                hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3
            }
        }
        let digits = String(hash, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }

    /// Makes the directory if it is missing, and returns its path. Only this user can then read or replace the files in it.
    package func prepare() throws(Flaw) -> String {
        guard let directory else {
            throw Flaw("there is no directory for the store, because neither HOME nor XDG_STATE_HOME is set")
        }
        if makesParents { Self.makeParents(of: directory) }
        guard mkdir(directory, 0o700) == 0 || errno == EEXIST else {
            throw Flaw("cannot make the directory '\(directory)': \(Self.text(errno))")
        }
        let descriptor = open(directory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
        guard descriptor >= 0 else {
            let number = errno
            var status = stat()
            guard lstat(directory, &status) == 0, status.st_mode & S_IFMT == S_IFLNK else {
                throw Flaw("cannot open the directory '\(directory)': \(Self.text(number))")
            }
            throw Flaw("'\(directory)' is a symbolic link, which another user could change")
        }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else {
            throw Flaw("cannot look at the directory '\(directory)': \(Self.text(errno))")
        }
        guard status.st_uid == geteuid() else {
            throw Flaw("'\(directory)' belongs to another user (\(status.st_uid))")
        }
        guard status.st_mode & 0o077 == 0 else {
            throw Flaw("other users can read or write '\(directory)'", "forbid that with `chmod go= '\(directory)'`")
        }
        return directory
    }

    /// Makes the directories above one. What fails shows when that one is made.
    private static func makeParents(of path: String) {
        for (index, byte) in zip(path.utf8.indices, path.utf8)
        where byte == UInt8(ascii: "/") && index != path.startIndex {
            mkdir(String(path[..<index]), 0o700)
        }
    }

    private static func text(_ number: Int32) -> String { String(cString: strerror(number)) }

    /// Returns the process that has locked the store, in words, or `nil` if it cannot be found, for example because it is
    /// in another PID namespace.
    static func holder(of directory: String) -> String? {
        var status = stat()
        guard stat(directory + "/lock", &status) == 0, let file = fopen("/proc/locks", "re") else { return nil }
        defer { fclose(file) }
        var line = [CChar](repeating: 0, count: 256)
        while fgets(&line, Int32(line.count), file) != nil {
            // 1: FLOCK  ADVISORY  WRITE 1234 08:01:5678 0 EOF
            let words = text(line).split(separator: " ")
            guard words.count >= 6, words[1] == "FLOCK", words[5].split(separator: ":").last == "\(status.st_ino)",
                let process = pid_t(words[4]), process > 0
            else { continue }
            guard let name = fopen("/proc/\(process)/comm", "re") else { return "process \(process)" }
            defer { fclose(name) }
            guard fgets(&line, Int32(line.count), name) != nil else { return "process \(process)" }
            return "process \(process) (\(text(line).prefix { $0 != "\n" }))"
        }
        return nil
    }

    private static func text(_ line: [CChar]) -> String {
        String(decoding: line.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
