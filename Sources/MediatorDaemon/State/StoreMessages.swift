import Durability
import Glibc
import Logging
import MediatorHost

extension StoreTrouble {
    /// The reason in words, and the remedy, for the store in a directory.
    func explained(in directory: String) -> StorePlace.Flaw {
        switch self {
        case .locked:
            let holder = StorePlace.holder(of: directory) ?? "another process"
            return .init(
                "\(holder) uses the store '\(directory)'",
                "stop it, or name another directory with --store or \(StorePlace.variable)")
        case .newer(let version):
            return .init(
                "a newer mediatord wrote the store '\(directory)', in version \(version) of its format",
                "install that mediatord, or move the files away to begin with an empty store")
        case .foreign: return .init("'\(directory)/db' is a database of another program")
        case .damaged(let reason):
            return .init(
                "the store '\(directory)' is damaged: \(reason)",
                "move its files away to begin with an empty store, or restore a backup")
        case .full:
            return .init("there is no room for the store '\(directory)'", "make room on its disk, or raise the quota")
        case .readOnly:
            return .init(
                "the store '\(directory)' is read-only",
                "mount its file system writable, or make its directory and files writable for this user")
        case .gone:
            return .init(
                "the files of the store '\(directory)' were moved or removed",
                "bring them back, or restart mediatord to begin with an empty store")
        case .database(let code, let number):
            let more = number == 0 ? "" : ": \(String(cString: strerror(number)))"
            return .init("SQLite reports the error \(code) for the store '\(directory)'\(more)", "check its disk")
        case .system(let call, let number):
            guard number != 0 else {
                return .init("the system cannot create a thread for the store", "raise its limit on tasks")
            }
            return .init(
                "\(call) fails for the store '\(directory)': \(String(cString: strerror(number)))",
                "make its directory and files usable for this user, and check its disk")
        case .tooLarge:
            return .init("a state is larger than \(StoreLimits.body) bytes", "keep less data in the state")
        case .superseded: return .init("a later state is stored", "no action is needed")
        case .queueFull: return .init("too many states wait for the store '\(directory)'", "check its disk")
        case .closed: return .init("the store '\(directory)' is closed", "no action is needed")
        }
    }
}

extension StoreFlaw {
    /// The severity of the line about the flaw, its text, and its remedy.
    ///
    /// - Parameter copy: The directory with the copy of the damaged files, if there is one.
    func explained(
        in directory: String, copy: String? = nil
    ) -> (level: Logger.Level, text: String, remedy: String) {
        let copy =
            (copy.map { "a copy of the damaged files is in '\($0)'; " } ?? "")
            + "restore a backup, or go on without the lost states"
        switch self {
        case .row(let kind, let name, _):
            let part = kind == Int64(PartKey.bus) ? "bus" : "system"
            return (
                .error,
                "the stored state of the \(part) '\(name.prefix(200))' is damaged, so it starts without that state",
                copy
            )
        case .count(let found, let expected):
            return (.error, "the store has \(found) states instead of \(expected)", copy)
        case .digest: return (.error, "states in the store are missing, out of date or doubled", copy)
        case .structure(let reason):
            return (
                .error, "the store is damaged, and takes no changes: \(reason)",
                "move its files away to begin with an empty store, or restore a backup"
            )
        case .lostTail(let stored, let acknowledged):
            return (
                .error, "the store has lost its last \(acknowledged - min(stored, acknowledged)) changes",
                "check its disk; the states are older than they were"
            )
        case .replaced(let changes, true) where changes > 0:
            return (
                .warning,
                "the store is empty, but the previous daemon with this control socket had one with \(changes) changes",
                "if you did not intend that, stop mediatord and bring back its files, or name its directory with --store"
            )
        case .replaced:
            return (
                .notice, "the store is another one than that of the previous daemon with this control socket",
                "no action is needed if you intended that"
            )
        case .unreadableCopy:
            return (
                .warning, "cannot read the record of the last change beside the control socket",
                "no action is needed, but this start cannot detect a loss of the last changes"
            )
        }
    }
}
