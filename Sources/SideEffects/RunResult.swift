import CommonExpression
import StrictJSON
import MediatorConfiguration
import Subprocess

/// The result of a command.
struct RunResult: Sendable {
    var exitCode = -1
    /// The number of the signal that ended it; 0 if none did.
    var signal: Int32 = 0
    var output = ""
    var error = ""
    /// A Boolean value that indicates whether the output was longer than the limit.
    var isCut = false
    /// The output parsed as JSON.
    var json = Value.null
    /// A Boolean value that indicates whether the command ended and printed as expected.
    var isSuccess = false
    /// A Boolean value that indicates whether a process existed.
    var hasRun = false
    /// A Boolean value that indicates whether the command still runs.
    var isAbandoned = false

    /// Creates the result of a command that did not start, or whose end is unknown.
    init(error: String) {
        self.error = error
    }

    /// Creates the result of a command that has ended.
    init(
        _ status: TerminationStatus, _ output: OutputCollector, _ errors: OutputCollector, expected: ExitStatuses,
        json isJSON: Bool, _ reason: EndRequest.Reason?
    ) {
        switch status {
        case .exited(let code):
            exitCode = Int(code)
            isSuccess = expected.contains(exitCode: exitCode)
        case .signaled(let number):
            signal = number
            isSuccess = expected.contains(signal: number)
        }
        hasRun = true
        isCut = output.isCut || errors.isCut
        self.output = output.text
        error = errors.text
        if reason == .timedOut {
            fail(EffectSchema.timeLimitPassed)
        } else if isJSON {
            readJSON(output)
        }
        // Many commands fail without a word.
        if !isSuccess, error.isEmpty {
            error = signal == 0 ? "it ended with exit code \(exitCode)" : "it was ended by \(signalName)"
        }
    }

    private mutating func readJSON(_ output: OutputCollector) {
        guard !output.isCut else {
            if isSuccess { fail("its output is longer than maxOutput, so its JSON is incomplete") }
            return
        }
        do {
            json = try Value(parsingJSON: output.bytes)
        } catch {
            if isSuccess { fail("its output is not JSON: \(error.reason), at byte \(error.offset)") }
        }
    }

    private mutating func fail(_ message: String) {
        isSuccess = false
        error = message + (error.isEmpty ? "" : "; its error output: \(error)")
    }

    /// The name of the signal that ended it; empty if none did.
    var signalName: String { signal == 0 ? "" : SignalName.name(of: signal) }

    /// Returns the result as a structure of an outcome's type.
    func value(for schema: EffectSchema, _ outcome: String) -> Value {
        Self.structure(
            for: schema, outcome,
            [.int(Int64(exitCode)), .string(signalName), .string(output), .string(error), .bool(isCut), json])
    }

    static func structure(for schema: EffectSchema, _ outcome: String, _ fields: [Value]) -> Value {
        guard let type = schema.outcomes.first(where: { $0.name == outcome })?.result else {
            preconditionFailure("\(schema.name) has no outcome \(outcome)")
        }
        return .structure(Structure(type: type, fields: fields))
    }
}
