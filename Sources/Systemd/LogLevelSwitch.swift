public import Logging
import Synchronization

/// The least grave level that is logged, which may change while the program runs; shared by every logger that was made with it.
///
/// Asking costs one atomic read, so that a line which is not written stays cheap.
public final class LogLevelSwitch: Sendable {
    private static let levels = Logger.Level.allCases

    /// The level of the beginning.
    public let initial: Logger.Level
    private let index: Atomic<Int>

    /// A switch at a level.
    public init(_ initial: Logger.Level) {
        self.initial = initial
        index = Atomic(Self.index(of: initial))
    }

    /// The level now.
    public func get() -> Logger.Level { Self.levels[index.load(ordering: .relaxed)] }

    /// Changes the level, for every line that is logged from now on.
    ///
    /// - Returns: the level until now.
    @discardableResult
    public func set(_ level: Logger.Level) -> Logger.Level {
        Self.levels[index.exchange(Self.index(of: level), ordering: .relaxed)]
    }

    /// Goes back to the level of the beginning.
    ///
    /// - Returns: the level until now.
    @discardableResult
    public func reset() -> Logger.Level { set(initial) }

    /// Every level is among all levels.
    private static func index(of level: Logger.Level) -> Int { levels.firstIndex(of: level) ?? 0 }
}
