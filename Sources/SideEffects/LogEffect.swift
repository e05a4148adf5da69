public import CommonExpression
import Logging
public import MediatorConfiguration
public import MediatorHost
import Systemd

/// The side effect `log`: writes a line to the daemon's log, with separate fields if the log is the journal.
public struct LogEffect: ImmediateEffect {
    /// The name and parameters.
    public var schema: EffectSchema { .log }

    /// Creates the side effect.
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
