package import Glibc
import MediatorConfiguration
import SystemPackage

/// A process as `/proc` shows it at one moment (proc(5)).
package struct ProcessEntry: Hashable, Sendable {
    /// The number and the start of a process. No two processes share both until the machine restarts.
    package struct Identity: Hashable, Sendable {
        package let number: pid_t
        /// The start of the process, in ticks since the machine's start.
        package let begin: UInt64

        package init(number: pid_t, begin: UInt64) {
            self.number = number
            self.begin = begin
        }
    }

    /// The bytes that are read of a process's state, more than the needed fields have.
    private static let stateLimit = 1024
    /// The most bytes that are read of an environment. The kernel permits a quarter of the stack (execve(2)), usually 2 MiB,
    /// but a process may show any part of its memory there (`PR_SET_MM_MAP`, prctl(2)).
    private static let environmentLimit = 4 << 20

    package let identity: Identity
    /// The number of the process group.
    package let group: pid_t
    /// The number of the session.
    package let session: pid_t
    /// A Boolean value that indicates whether the process runs. One that waits to be reaped does not.
    package let isLiving: Bool
    /// The ID of the command's run in the environment of the process; nil if it has none, or if it was not read.
    package var run: String?

    package var number: pid_t { identity.number }
    package var begin: UInt64 { identity.begin }

    /// Creates an entry from its values.
    package init(identity: Identity, group: pid_t, session: pid_t, isLiving: Bool = true, run: String? = nil) {
        self.identity = identity
        self.group = group
        self.session = session
        self.isLiving = isLiving
        self.run = run
    }

    /// Reads the entry of a process, without ``run``; nil if no process has the number. May block.
    init?(_ number: pid_t) {
        guard let line = Self.bytes("/proc/\(number)/stat", limit: Self.stateLimit),
            // The name is in parentheses and may contain any character.
            let end = line.lastIndex(of: UInt8(ascii: ")"))
        else { return nil }
        // The third field, the state, follows the name. The start time is the twenty-second field.
        let fields = line[(end + 1)...].split(separator: UInt8(ascii: " "), maxSplits: 20)
        guard fields.count > 19, let group: pid_t = Self.number(fields[2]), let session: pid_t = Self.number(fields[3]),
            let begin: UInt64 = Self.number(fields[19])
        else { return nil }
        self.init(
            identity: Identity(number: number, begin: begin), group: group, session: session,
            isLiving: fields[0] != [UInt8(ascii: "Z")] && fields[0] != [UInt8(ascii: "X")])
    }

    private static func number<Number: FixedWidthInteger>(_ digits: ArraySlice<UInt8>) -> Number? {
        Number(String(decoding: digits, as: UTF8.self))
    }

    /// Reads the entries of all processes; nil if the system does not list them. May block.
    ///
    /// - Parameter readsRuns: Whether ``run`` is read, too. It remains nil where the daemon has no right to read it.
    static func all(readingRuns readsRuns: Bool = false) -> [ProcessEntry]? {
        guard let listing = opendir("/proc") else { return nil }
        defer { closedir(listing) }
        var entries: [ProcessEntry] = []
        while let name = readdir(listing) {
            guard let number = pid_t(DirectoryEntry.name(of: name)), var entry = ProcessEntry(number) else { continue }
            if readsRuns { entry.run = run(of: number) }
            entries.append(entry)
        }
        return entries
    }

    /// Reads the beginning of a file as text, up to a limit in bytes; nil if it cannot be read. May block.
    static func text(_ path: String, limit: Int = stateLimit) -> String? {
        bytes(path, limit: limit).map { String(decoding: $0, as: UTF8.self) }
    }

    private static func bytes(_ path: String, limit: Int) -> [UInt8]? {
        guard let file = try? FileDescriptor.open(path, .readOnly, options: [.closeOnExec, .noFollow, .nonBlocking])
        else { return nil }
        return try? file.closeAfter {
            try [UInt8](unsafeUninitializedCapacity: limit) { buffer, count in
                count = try file.read(into: UnsafeMutableRawBufferPointer(buffer))
            }
        }
    }

    /// Reads the ID of a command's run from the environment of a process.
    static func run(of number: pid_t) -> String? {
        guard let file = try? FileDescriptor.open("/proc/\(number)/environ", .readOnly, options: .closeOnExec) else {
            return nil
        }
        var bytes: [UInt8] = []
        _ = try? file.closeAfter {
            try withUnsafeTemporaryAllocation(byteCount: 64 << 10, alignment: 1) { buffer in
                while bytes.count < environmentLimit {
                    let count = try file.read(into: buffer)
                    if count == 0 { return }
                    bytes.append(contentsOf: UnsafeRawBufferPointer(rebasing: buffer[..<count]))
                }
            }
        }
        let name = "\(CommandRecord.variable)=".utf8
        var rest = bytes[...]
        while !rest.isEmpty {
            let variable = rest.prefix { $0 != 0 }
            if variable.starts(with: name) { return String(decoding: variable.dropFirst(name.count), as: UTF8.self) }
            rest = rest.dropFirst(variable.count + 1)
        }
        return nil
    }
}
