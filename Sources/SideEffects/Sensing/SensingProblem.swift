import CommonExpression
import MediatorConfiguration
import MediatorHost
import SystemPackage

/// The reason why something cannot be observed, with the remedy.
struct SensingProblem: Error, CustomStringConvertible {
    /// The system has no thread to give (pthread_create(3), `EAGAIN`).
    static let noThread = SensingProblem("the system cannot create a thread")

    let message: String

    var description: String { message }

    init(_ message: String) {
        self.message = message
    }

    /// Creates a problem from a system error.
    init(_ subject: String, _ failure: Errno, hint: String? = nil) {
        message = "\(subject): \(failure)" + (hint.map { "; \($0)" } ?? "")
    }
}

/// Reports a problem once, and again only after another problem or after success.
struct Complaints {
    private var last: String?

    /// Records a problem.
    mutating func add(_ message: String, _ context: EffectContext) {
        guard message != last else { return }
        last = message
        context.failUntilWorks(message)
    }

    /// Records success.
    mutating func clear(_ context: EffectContext) {
        last = nil
        context.works()
    }
}

extension EffectContext {
    /// Reports an outcome of a schema with the fields of its result.
    func report(_ outcome: String, of schema: EffectSchema, _ fields: [Value]) {
        report(outcome, RunResult.structure(for: schema, outcome, fields))
    }
}
