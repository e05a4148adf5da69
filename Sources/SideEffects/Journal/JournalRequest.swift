import CommonExpression
import MediatorConfiguration

/// The entries that the configuration of a `journal` selects, as arguments of journalctl(1).
struct JournalRequest: Sendable {
    /// A position in the journal of a machine.
    struct Position: Sendable, Hashable {
        enum Place: Sendable, Hashable {
            /// The first entry of a boot.
            case boot(String)
            /// The first entry behind a cursor. The cursor's own entry need not exist any more.
            case after(String)
        }

        let machine: String
        var place: Place
    }

    /// The start that the configuration requests.
    enum Beginning: Sendable, Hashable {
        case now
        case boot
        case after(String)
    }

    let matches: [String: String]
    let priority: String?
    let beginning: Beginning
    let perSecond: Int

    /// Reads the parameters of the side effect. Throws if journalctl could misunderstand one of them.
    init(_ arguments: [String: Value]) throws(SensingProblem) {
        matches = arguments["match"]?.stringMap ?? [:]
        priority = arguments["priority"]?.text
        perSecond = arguments["perSecond"]?.whole ?? 100
        if let cursor = arguments["cursor"]?.text {
            guard JournalCursor.isValid(cursor) else {
                throw SensingProblem(
                    "'\(cursor.prefix(200))' is no cursor of the journal; use the 'cursor' of an entry")
            }
            beginning = .after(cursor)
        } else {
            beginning = arguments["since"]?.text == "boot" ? .boot : .now
        }
        for (name, value) in matches {
            guard Self.isField(name) else {
                throw SensingProblem(
                    "'\(name.prefix(64))' is no field of the journal; use a name such as _SYSTEMD_UNIT")
            }
            // The kernel ends an argument at its first NUL.
            if value.utf8.contains(0) { throw SensingProblem("the value of \(name) in 'match' cannot contain NUL") }
        }
    }

    /// Arguments that print the last entry of the journal.
    static let lastEntry = ["--lines=1", "--output-fields=_BOOT_ID,_MACHINE_ID"] + format

    /// Returns the position at which the configuration starts.
    func start(lastEntry: JournalEntry) -> Position {
        let place: Position.Place =
            switch beginning {
            case .now: .after(lastEntry.cursor)
            // In a container, the kernel may name another boot than journald does.
            case .boot: .boot(lastEntry.boot)
            case .after(let cursor): .after(cursor)
            }
        return Position(machine: lastEntry.machine, place: place)
    }

    /// Returns arguments that print the entries from a position on, and then each new entry.
    ///
    /// With `--after-cursor=`, journalctl of systemd 252 skips one entry too many if the cursor's own entry was removed
    /// or does not match. So journalctl begins at the cursor, and ``JournalFollower`` skips the cursor's own entry.
    ///
    /// Without `--merge`, it follows only entries of the boot that the kernel names. A cursor may be older than that
    /// boot, and journald in a container names another one. `--merge` also includes other machines, which the match
    /// excludes.
    func following(_ position: Position) -> [String] {
        var matches = matches
        if matches["_MACHINE_ID"] == nil { matches["_MACHINE_ID"] = position.machine }
        var words = ["--follow", "--no-tail", "--merge", "--all"] + Self.format
        if let priority { words.append("--priority=\(priority)") }
        switch position.place {
        case .after(let cursor): words.append("--cursor=\(cursor)")
        case .boot(let boot): if matches["_BOOT_ID"] == nil { matches["_BOOT_ID"] = boot }
        }
        return words + ["--"] + matches.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
    }

    private static let format = ["--output=json", "--no-pager", "--quiet"]

    /// Environment variables of journalctl: no colors, and only errors on standard error.
    static let environment = ["SYSTEMD_COLORS": "0", "SYSTEMD_LOG_LEVEL": "err", "SYSTEMD_LOG_TARGET": "console"]

    private static func isField(_ name: String) -> Bool {
        !name.isEmpty
            && name.utf8.allSatisfy {
                (0x41...0x5A).contains($0) || (0x30...0x39).contains($0) || $0 == UInt8(ascii: "_")
            }
    }
}
