import Logging
import Synchronization

/// Logs what comes now and then, and of what comes in a flood only how much it was.
final class RepeatLog: Sendable {
    /// The lines of one kind within the present interval.
    private struct Kind {
        var began: Duration
        var logged = 0
        var suppressed = 0
    }

    /// How long an interval is.
    static let interval = Duration.seconds(1)
    /// How many kinds are told apart; beyond, it begins anew.
    static let limit = 256

    private let kinds = Mutex<[String: Kind]>([:])
    private let time: HostTime

    init(time: HostTime) {
        self.time = time
    }

    /// Logs a line, unless `burst` of the same kind were logged within the last ``interval``; those are counted, and the
    /// next line says how many there were.
    func log(
        _ logger: Logger, _ level: Logger.Level, _ message: @autoclosure () -> String, key: @autoclosure () -> String,
        burst: Int = 1, _ metadata: @autoclosure () -> Logger.Metadata
    ) {
        guard level >= logger.logLevel else { return }
        let key = key()
        let elapsed = time.elapsed()
        let suppressed: Int? = kinds.withLock { kinds in
            var kind = kinds[key] ?? Kind(began: elapsed)
            if elapsed - kind.began >= Self.interval {
                kind.began = elapsed
                kind.logged = 0
            }
            defer {
                if kinds.count >= Self.limit, kinds[key] == nil { kinds.removeAll() }
                kinds[key] = kind
            }
            guard kind.logged < burst else {
                kind.suppressed += 1
                return nil
            }
            kind.logged += 1
            defer { kind.suppressed = 0 }
            return kind.suppressed
        }
        guard let suppressed else { return }
        var metadata = metadata()
        if suppressed > 0 { metadata["repeated"] = "\(suppressed) more before this one" }
        logger.log(level: level, "\(message())", metadata: metadata)
    }
}
