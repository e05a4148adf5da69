public import CommonExpression
import Logging
public import MediatorConfiguration
public import MediatorHost

/// `log`: writes a line to the daemon's log.
public struct LogEffect: EffectImplementation {
    /// Its name and parameters.
    public var schema: EffectSchema { .log }

    /// The effect.
    public init() {}

    /// Writes the line.
    public func run(_ arguments: [String: Value], in context: EffectContext) async {
        guard case .string(let message)? = arguments["message"] else { return }
        var level = Logger.Level.info
        if case .string(let name)? = arguments["level"], let known = Logger.Level(rawValue: name) { level = known }
        context.logger.log(level: level, "\(message)")
    }
}
