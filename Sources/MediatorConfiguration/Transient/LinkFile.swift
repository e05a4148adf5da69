#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// `write(2)`, whose name ``PersistedLink/write()`` hides.
private func writeBytes(_ descriptor: Int32, _ buffer: UnsafeRawPointer?, _ count: Int) -> Int {
    write(descriptor, buffer, count)
}

extension PersistedLink {
    /// A written file, with everything that is needed to undo it.
    public struct Written: Sendable {
        fileprivate var file: PersistedLink
        /// The directories that were made, the innermost last.
        fileprivate var made: [String] = []
        /// A Boolean value that indicates whether the directory was removed that held nothing else.
        fileprivate var removedFolder = false
        /// The permissions of the earlier file.
        fileprivate var mode: mode_t?

        /// Restores the earlier file; `false` if that fails. After a power failure, one of the two files is there
        /// completely, if the disk loses a change of names.
        public func undo() -> Bool {
            guard let previous = file.previous else {
                guard file.text != nil else { return true }
                guard unlink(file.path) == 0 else { return false }
                for directory in made.reversed() { rmdir(directory) }
                // In the directory that is left.
                let folder = made.first.map { String($0[..<($0.lastIndex(of: "/") ?? $0.startIndex)]) } ?? file.folder
                _ = PersistedLink.synchronise(folder)
                return true
            }
            if removedFolder, mkdir(file.folder, 0o755) != 0, errno != EEXIST { return false }
            guard (try? file.replace(with: previous, mode)) != nil else { return false }
            _ = PersistedLink.synchronise(file.folder)
            return true
        }
    }

    fileprivate var folder: String { String(path[..<(path.lastIndex(of: "/") ?? path.startIndex)]) }

    /// Writes the file, whole or not at all: a new one with the text takes the place of the old. One without text is
    /// removed, and its directory of drop-ins with it, if that holds nothing else.
    ///
    /// When it returns, that outlasts a power failure.
    ///
    /// - Throws: if it cannot be written, or is no longer what the configuration that runs was made of. Then nothing has
    ///   changed, unless the error says so.
    public func write() throws(PersistError) -> Written {
        try checkUnchanged()
        removeUnfinished()
        var written = Written(file: self, mode: mode)
        guard let text else {
            guard previous != nil else { return written }
            guard unlink(path) == 0 else { throw failure(errno) }
            try keep(written)
            written.removedFolder = folder.hasSuffix(".d") && rmdir(folder) == 0
            return written
        }
        do throws(PersistError) {
            let outer = String(folder[..<(folder.lastIndex(of: "/") ?? folder.startIndex)])
            for directory in folder.hasSuffix(".d") ? [outer, folder] : [folder] where !directory.isEmpty {
                if mkdir(directory, 0o755) == 0 {
                    written.made.append(directory)
                    let code = Self.synchronise(
                        String(directory[..<(directory.lastIndex(of: "/") ?? directory.startIndex)]))
                    guard code == 0 else { throw failure(code) }
                } else if errno != EEXIST {
                    throw failure(errno)
                }
            }
            try replace(with: Array(text.utf8), written.mode)
        } catch {
            for directory in written.made.reversed() { rmdir(directory) }
            throw error
        }
        try keep(written)
        return written
    }

    /// Makes the written file survive a power failure. If that fails, the earlier file is restored: the caller gets an
    /// error and must not find the new file.
    private func keep(_ written: Written) throws(PersistError) {
        let code = Self.synchronise(folder)
        guard code != 0 else { return }
        var error = failure(code)
        if !written.undo() { error.reason += "; what was there before cannot be put back, so look at it, and reload" }
        throw error
    }

    /// Looks whether the file on disk is still the one that was read.
    private func checkUnchanged() throws(PersistError) {
        var status = stat()
        guard lstat(path, &status) == 0 else {
            guard errno == ENOENT || errno == ENOTDIR else { throw failure(errno) }
            guard previous == nil else { throw changed }
            return
        }
        // Empty files are ignored when configurations are read.
        if previous == nil, status.st_mode & S_IFMT == S_IFREG, status.st_size == 0 { return }
        if previous == nil, status.st_mode & S_IFMT == S_IFLNK {
            throw PersistError(
                path: path, reason: "it is a symbolic link, such as one that masks it; remove that first")
        }
        guard status.st_mode & S_IFMT == S_IFREG, let previous,
            case .file(let contents)? = try? ConfigurationDirectory.entry(path), contents == previous
        else { throw changed }
    }

    private var changed: PersistError {
        PersistError(path: path, reason: "it has been changed since the last reload; reload first")
    }

    private func failure(_ code: Int32) -> PersistError {
        PersistError(
            path: path, reason: strerror(code).map { String(cString: $0) } ?? "error \(code)",
            isDenied: [EACCES, EPERM, EROFS].contains(code))
    }

    /// A file of another name is written and reaches the disk before it takes this one's. That it has, does not yet.
    fileprivate func replace(with bytes: [UInt8], _ mode: mode_t?) throws(PersistError) {
        // Hidden files are not read as configuration.
        let suffix = String(UInt64.random(in: .min ... .max), radix: 36)
        let temporary = "\(folder.isEmpty ? "" : "\(folder)/")\(Self.unfinishedPrefix)\(suffix)"
        let descriptor = open(
            temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode == nil ? 0o666 : 0o600)
        guard descriptor >= 0 else { throw failure(errno) }
        var code: Int32 = 0
        var rest = bytes[...]
        while !rest.isEmpty, code == 0 {
            let count = rest.withUnsafeBytes { writeBytes(descriptor, $0.baseAddress, $0.count) }
            if count > 0 { rest = rest.dropFirst(count) } else if errno != EINTR { code = errno }
        }
        if code == 0, let mode, fchmod(descriptor, mode) != 0 { code = errno }
        if code == 0, fsync(descriptor) != 0 { code = errno }
        close(descriptor)
        if code == 0, rename(temporary, path) != 0 { code = errno }
        guard code == 0 else {
            unlink(temporary)
            throw failure(code)
        }
    }

    /// The prefix of files that have not yet replaced this one.
    private static let unfinishedPrefix = ".\(fileName)."

    /// Removes unfinished files of a power failure or a killed daemon.
    private func removeUnfinished() {
        let folder = folder.isEmpty ? "." : folder
        guard let directory = opendir(folder) else { return }
        defer { closedir(directory) }
        while let entry = readdir(directory) {
            let name = DirectoryEntry.name(of: entry)
            if name.hasPrefix(Self.unfinishedPrefix) { unlink("\(folder)/\(name)") }
        }
    }

    /// The permissions of the file that it replaces, or else of the file that it changes; nil: those of the umask.
    private var mode: mode_t? {
        var status = stat()
        for path in folder.hasSuffix(".d") ? [path, String(folder.dropLast(2))] : [path] where stat(path, &status) == 0
        {
            return status.st_mode & 0o666
        }
        return nil
    }

    /// Writes the names in a directory to the disk. File systems without this function do so by themselves in time.
    ///
    /// - Returns: 0, or the number of the error.
    private static func synchronise(_ path: String) -> Int32 {
        let directory = open(path.isEmpty ? "." : path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        // One may write in a directory that one may not read.
        guard directory >= 0 else { return errno == EACCES ? 0 : errno }
        defer { close(directory) }
        guard fsync(directory) != 0 else { return 0 }
        // There are file systems that do not know it.
        return [EINVAL, ENOSYS, EOPNOTSUPP].contains(errno) ? 0 : errno
    }
}

extension ConfigurationLayers {
    /// The directory into which changes are written that are to last: the first that outlasts the daemon; nil if none does.
    public var persistentDirectory: String? {
        directories.first { $0 != "/run" && !$0.hasPrefix("/run/") }
    }
}
