public import CommonExpression
import Logging
public import MediatorConfiguration
public import MediatorHost
import Systemd

/// `log`: writes a line to the daemon's log, and fields of their own where that is the journal.
public struct LogEffect: ImmediateEffect {
    /// Its name and parameters.
    public var schema: EffectSchema { .log }

    /// The effect.
    public init() {}

    /// Writes the line.
    public func act(_ arguments: [String: Value], in context: EffectContext) {
        guard case .string(let message)? = arguments["message"] else { return }
        var level = Logger.Level.info
        if case .string(let name)? = arguments["level"], let known = Logger.Level(rawValue: name) { level = known }
        let fields = JournalFields(arguments["fields"]?.stringMap ?? [:])
        context.logger.log(level: level, "\(message)", metadata: [JournalFields.key: .stringConvertible(fields)])
    }
}
