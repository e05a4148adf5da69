import Synchronization

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// The time zone of the machine, found like tzset(3): the environment variable `TZ`, otherwise `/etc/localtime`,
/// otherwise UTC.
///
/// `TZ` is a name of the time zone database, the path of a file, or a rule such as `CET-1CEST,M3.5.0,M10.5.0/3`. A
/// leading colon is ignored, and any other text means UTC. The process uses the value of `TZ` from its start, and reads
/// the file again when another one replaces it.
public final class LocalTimeZone: Sendable {
    /// The time zone of this process.
    public static let machine = LocalTimeZone(variable: getenv("TZ").map { String(cString: $0) })

    /// The identity of the file. A replaced or changed file has another one.
    package struct Identity: Sendable, Hashable {
        fileprivate var device: UInt64 = 0
        fileprivate var number: UInt64 = 0
        fileprivate var seconds = 0
        fileprivate var nanoseconds = 0
    }

    private struct Known {
        var identity: Identity
        var offsets: ZoneOffsets
    }

    /// The time zone of `TZ`; nil if it is not set.
    private let fixed: ZoneOffsets?
    private let path: String
    private let known = Mutex<Known?>(nil)

    /// Creates a time zone from the value of `TZ`, nil if it is not set.
    package init(variable: String?, path: String = "/etc/localtime", database: TimeZoneDatabase = .system) {
        self.path = path
        fixed = variable.map { Self.offsets(variable: $0, database) }
    }

    private static func offsets(variable: String, _ database: TimeZoneDatabase) -> ZoneOffsets {
        let name = variable.hasPrefix(":") ? String(variable.dropFirst()) : variable
        if name.hasPrefix("/") { return TimeZoneDatabase.zone(atPath: name) ?? .utc }
        if let zone = try? database.zone(named: name) { return zone }
        guard let rule = TimeZoneRule(text: Array(name.utf8)) else { return .utc }
        return ZoneOffsets(rule: rule)
    }

    /// Returns the current offsets of local time from UTC.
    public func offsets() -> ZoneOffsets {
        if let fixed { return fixed }
        let identity = identity()
        if let known = known.withLock({ $0 }), known.identity == identity { return known.offsets }
        let offsets = TimeZoneDatabase.zone(atPath: path) ?? .utc
        known.withLock { $0 = Known(identity: identity, offsets: offsets) }
        return offsets
    }

    /// Returns the identity of the file; always the same if no file is used.
    package func identity() -> Identity {
        var status = stat()
        guard fixed == nil, stat(path, &status) == 0 else { return Identity() }
        return Identity(
            device: UInt64(status.st_dev), number: UInt64(status.st_ino), seconds: Int(status.st_mtim.tv_sec),
            nanoseconds: Int(status.st_mtim.tv_nsec))
    }
}
