public import Logging
import Synchronization

/// The least severe level that is logged. It may change while the program runs, and all loggers with the switch share
/// it.
///
/// Reading costs one atomic load, so that a line that is not written stays cheap.
public final class LogLevelSwitch: Sendable {
    private static let levels = Logger.Level.allCases

    /// The initial level.
    public let initial: Logger.Level
    private let index: Atomic<Int>

    /// Creates a switch at a level.
    public init(_ initial: Logger.Level) {
        self.initial = initial
        index = Atomic(Self.index(of: initial))
    }

    /// Returns the current level.
    public func get() -> Logger.Level { Self.levels[index.load(ordering: .relaxed)] }

    /// Changes the level for all later lines.
    ///
    /// - Returns: The previous level.
    @discardableResult
    public func set(_ level: Logger.Level) -> Logger.Level {
        Self.levels[index.exchange(Self.index(of: level), ordering: .relaxed)]
    }

    /// Restores the initial level.
    ///
    /// - Returns: The previous level.
    @discardableResult
    public func reset() -> Logger.Level { set(initial) }

    /// The index of a level. `levels` contains every level.
    private static func index(of level: Logger.Level) -> Int { levels.firstIndex(of: level) ?? 0 }
}
