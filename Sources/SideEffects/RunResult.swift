import CommonExpression
import FoundationEssentials
import MediatorConfiguration
import Subprocess

/// How a command ended.
struct RunResult: Sendable {
    var exitCode = -1
    /// The number of the signal that ended it; 0: none did.
    var signal: Int32 = 0
    var output = ""
    var error = ""
    /// Whether it has written more than is kept.
    var isCut = false
    /// What its output stands for as JSON.
    var json = Value.null
    /// Whether it ended as is expected, and said what is expected.
    var isSuccess = false
    /// Whether there was a process at all.
    var hasRun = false
    /// Whether it still runs.
    var isAbandoned = false

    /// None: it did not begin, or nobody knows.
    init(error: String) {
        self.error = error
    }

    /// It has ended.
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
            fail("its time was up")
        } else if isJSON {
            readJSON(output)
        }
    }

    private mutating func readJSON(_ output: OutputCollector) {
        if !output.isCut, let value = try? StrictJSON.value(of: output.bytes) {
            json = value
        } else if isSuccess {
            fail(output.isCut ? "its output is longer than maxOutput, so it is no whole JSON" : "its output is no JSON")
        }
    }

    private mutating func fail(_ message: String) {
        isSuccess = false
        error = message + (error.isEmpty ? "" : "; it had said: \(error)")
    }

    /// The name of the signal that ended it; empty: none did.
    var signalName: String { signal == 0 ? "" : SignalName.name(of: signal) }

    /// As a structure of an outcome's type.
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
