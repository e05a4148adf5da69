import Synchronization

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// The time zones of the IANA database on the machine, one file per zone. Files are read on first use and kept.
package final class TimeZoneDatabase: Sendable {
    /// The reason why a zone is not available.
    package enum Failure: Error, Hashable {
        /// The database is not installed.
        case missing(directory: String)
        /// The database has no zone of this name.
        case unknown
        /// The file is malformed.
        case malformed

        /// The advice for messages.
        var advice: String {
            switch self {
            case .missing(let directory):
                "is not known here, because the time zone database is missing from \(directory); install tzdata, or use "
                    + "\"UTC\" or \"+02:00\""
            case .unknown: "is unknown; use a name such as \"Europe/Berlin\", \"UTC\" or \"+02:00\""
            case .malformed: "has a file in the time zone database that is malformed or cannot be read"
            }
        }
    }

    /// The database of the machine.
    package static let system = TimeZoneDatabase(directory: "/usr/share/zoneinfo")

    /// The largest file that is read, in bytes. Those of the database have a few thousand.
    private static let largestFile = 65_536
    /// The longest name of a zone, in bytes.
    private static let longestName = 64
    /// The most zones that are kept. A further zone is read at each use. The database has some 600 names.
    private static let mostKept = 1_024

    private let directory: String
    private let zones = Mutex<[String: ZoneOffsets]>([:])

    /// - Parameter directory: The directory of the files.
    package init(directory: String) {
        self.directory = directory
    }

    /// Returns the zone of a name. Reads its file at most once, unless that fails.
    package func zone(named name: String) throws(Failure) -> ZoneOffsets {
        if let known = zones.withLock({ $0[name] }) { return known }
        guard Self.isName(name) else { throw .unknown }
        guard let bytes = Self.read(directory + "/" + name) else {
            throw exists(directory) ? .unknown : .missing(directory: directory)
        }
        guard let zone = TimeZoneFile.zone(bytes) else { throw .malformed }
        zones.withLock { zones in
            if zones.count >= Self.mostKept { zones.removeAll() }
            zones[name] = zone
        }
        return zone
    }

    /// Returns the zone of a file, or nil if the file is missing or malformed.
    static func zone(atPath path: String) -> ZoneOffsets? {
        read(path).flatMap(TimeZoneFile.zone)
    }

    /// Returns whether a text can be a zone's name: letters, digits, `_`, `+` and `-` in parts between slashes, each of
    /// which begins with a letter. Such a name stays within the directory.
    static func isName(_ name: String) -> Bool {
        guard name.utf8.count <= longestName else { return false }
        return name.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false).allSatisfy { part in
            guard let first = part.first, isLetter(first) else { return false }
            return part.allSatisfy { byte in
                isLetter(byte) || (0x30...0x39).contains(byte) || byte == UInt8(ascii: "_")
                    || byte == UInt8(ascii: "+") || byte == UInt8(ascii: "-")
            }
        }
    }

    private static func isLetter(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
    }

    private func exists(_ path: String) -> Bool {
        access(path, R_OK) == 0
    }

    /// Returns the bytes of a regular file that is not too large.
    private static func read(_ path: String) -> [UInt8]? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { return nil }
        defer { _ = close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG,
            status.st_size <= largestFile
        else { return nil }
        var bytes = [UInt8](repeating: 0, count: Int(status.st_size))
        var count = 0
        while count < bytes.count {
            let read = bytes.withUnsafeMutableBytes { buffer in
                fill(descriptor, UnsafeMutableRawBufferPointer(rebasing: buffer[count...]))
            }
            guard read > 0 else { return nil }
            count += read
        }
        return bytes
    }

    private static func fill(_ descriptor: Int32, _ buffer: UnsafeMutableRawBufferPointer) -> Int {
        #if canImport(Glibc)
        Glibc.read(descriptor, buffer.baseAddress, buffer.count)
        #elseif canImport(Musl)
        Musl.read(descriptor, buffer.baseAddress, buffer.count)
        #endif
    }
}
