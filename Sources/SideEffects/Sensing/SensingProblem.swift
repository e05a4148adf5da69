import CommonExpression
import MediatorConfiguration
import MediatorHost
import SystemPackage

/// Why something cannot be sensed: what is wrong, and what to do about it.
struct SensingProblem: Error, CustomStringConvertible {
    let message: String

    var description: String { message }

    init(_ message: String) {
        self.message = message
    }

    /// What the system says about a thing.
    init(_ subject: String, _ failure: Errno, hint: String? = nil) {
        message = "\(subject): \(failure)" + (hint.map { "; \($0)" } ?? "")
    }
}

/// Says once what is wrong, and again only when something else is, or when it had been well in between.
struct Complaints {
    private var last: String?

    /// Something is wrong.
    mutating func add(_ message: String, _ context: EffectContext) {
        guard message != last else { return }
        last = message
        context.fail(message)
    }

    /// It is well.
    mutating func clear() {
        last = nil
    }
}

extension EffectContext {
    /// Reports an outcome of a schema with the fields of its result.
    func report(_ outcome: String, of schema: EffectSchema, _ fields: [Value]) {
        report(outcome, RunResult.structure(for: schema, outcome, fields))
    }
}
