package import Glibc

/// The record of a command that the daemon began, as a file keeps it.
///
/// The name of the file is the ID of the run, which the command also has in its environment (``variable``). The first
/// line is written before the command starts, the second one after that. If the daemon is killed in between, the second
/// line is missing, and the environment of the processes shows which of them belong to the run.
package struct CommandRecord: Equatable, Sendable {
    /// The environment variable with the ID of the run.
    package static let variable = "MEDIATOR_RUN"

    /// The surroundings in which process numbers have their meaning.
    package struct Origin: Equatable, Sendable {
        /// The ID of the machine's boot.
        package let boot: String
        /// The inode of the PID namespace (pid_namespaces(7)).
        package let namespace: UInt64
        /// The session of the daemon, in which its commands start.
        package let session: pid_t

        package init(boot: String, namespace: UInt64, session: pid_t) {
            self.boot = boot
            self.namespace = namespace
            self.session = session
        }
    }

    /// The version of the format, the first field of a file.
    private static let format = "1"
    /// The most characters of a name or a program.
    private static let textLimit = 200
    /// The most bytes of a file: three texts of four bytes a character, and the numbers.
    static let sizeLimit = 4096

    package let origin: Origin
    /// The system that the command ran for.
    package let system: String
    /// The feedback that started the command.
    package let feedback: String
    package let program: String
    /// The first process of the command, which leads its group; nil if the file does not have it.
    package private(set) var leader: ProcessEntry.Identity?

    /// Creates a record. Control characters in the texts are replaced, and long texts are cut.
    package init(
        origin: Origin, system: String, feedback: String, program: String, leader: ProcessEntry.Identity? = nil
    ) {
        self.origin = origin
        self.system = Self.plain(system)
        self.feedback = Self.plain(feedback)
        self.program = Self.plain(program)
        self.leader = leader
    }

    /// Reads a record from the text of its file; nil if the first line is damaged. A damaged second line counts as
    /// missing.
    package init?(text: String) {
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        let first = lines[0].split(separator: "\t", omittingEmptySubsequences: false)
        guard lines.count > 1, first.count == 7, first[0] == Self.format, let namespace = UInt64(first[2]),
            let session = pid_t(first[3])
        else { return nil }
        self.init(
            origin: Origin(boot: String(first[1]), namespace: namespace, session: session), system: String(first[4]),
            feedback: String(first[5]), program: String(first[6]))
        let second = lines[1].split(separator: "\t", omittingEmptySubsequences: false)
        guard lines.count > 2, second.count == 3, let number = pid_t(second[0]), let begin = UInt64(second[1]) else {
            return
        }
        let leader = ProcessEntry.Identity(number: number, begin: begin)
        if secondLine(leader) == "\(lines[1])\n" { self.leader = leader }
    }

    /// The line that is written before the command starts.
    package var firstLine: String {
        let fields = [
            Self.format, origin.boot, "\(origin.namespace)", "\(origin.session)", system, feedback, program,
        ]
        return fields.joined(separator: "\t") + "\n"
    }

    /// Returns the line that is written when the command has started. It ends with a checksum of both lines.
    package func secondLine(_ leader: ProcessEntry.Identity) -> String {
        let line = "\(leader.number)\t\(leader.begin)\t"
        return line + Self.checksum(firstLine + line) + "\n"
    }

    /// Creates an ID of a run: 128 random bits in hexadecimal digits.
    static func newID() -> String {
        let halves = (0..<2).map { _ -> String in
            let digits = String(UInt64.random(in: 0 ... .max), radix: 16)
            return String(repeating: "0", count: 16 - digits.count) + digits
        }
        return halves.joined()
    }

    /// Returns whether a file's name is the ID of a run.
    static func isID(_ name: String) -> Bool {
        name.utf8.count == 32 && name.utf8.allSatisfy { "0123456789abcdef".utf8.contains($0) }
    }

    private static func plain(_ text: String) -> String {
        let scalars = text.unicodeScalars.prefix(textLimit).map { scalar -> Unicode.Scalar in
            scalar.value < 0x20 || scalar.value == 0x7f ? "?" : scalar
        }
        return String(String.UnicodeScalarView(scalars))
    }

    /// The hash FNV-1a with 64 bits. It protects against damage, not against a forger.
    private static func checksum(_ text: String) -> String {
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        for byte in text.utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
        return String(hash, radix: 16)
    }
}
