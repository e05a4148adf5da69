import CommonExpression
import Glibc
import Logging
package import MediatorConfiguration
import MediatorHost

/// The programs of `run` that a configuration names by a fixed text, and that cannot be executed now.
///
/// It is no mistake of the configuration: a package may bring the program later. But a misspelt program looks like an outage to
/// the rules of its feedback.
package struct FixedPrograms {
    /// A program that was not found.
    package struct Missing: Equatable {
        package let program: String
        package let system: String
        package let feedback: String
        package let source: SourceLocation
    }

    /// The maximum number of programs that are logged one by one.
    static let most = 20

    /// The missing programs, each once, in the order of the configuration.
    package let missing: [Missing]

    /// Looks up each program once.
    ///
    /// - Parameters:
    ///   - path: The value of `PATH`, by which the daemon finds programs without a slash.
    ///   - isExecutable: Returns whether a file can be executed.
    package init(
        of graph: Graph, path: String = getenv("PATH").map { String(cString: $0) } ?? "",
        isExecutable: (String) -> Bool = { access($0, X_OK) == 0 }
    ) {
        let folders = path.split(separator: ":")
        var known: [String: Bool] = [:]
        var missing: [Missing] = []
        for system in graph.systems {
            for feedback in system.feedbacks where feedback.effect == EffectSchema.run.name {
                for arguments in feedback.arguments.sorted(by: { $0.key < $1.key }).map(\.value) {
                    guard let program = Self.program(arguments), known[program] == nil else { continue }
                    let isThere =
                        program.contains("/")
                        ? isExecutable(program) : folders.contains { isExecutable("\($0)/\(program)") }
                    known[program] = isThere
                    if isThere { continue }
                    missing.append(
                        Missing(
                            program: program, system: system.name, feedback: feedback.name, source: feedback.source))
                }
            }
        }
        self.missing = missing
    }

    /// The program of a command, or `nil` if it depends on the state, on the folder or on the environment of the command.
    private static func program(_ arguments: [String: DataProgram]) -> String? {
        let first: Value?
        switch arguments["command"] {
        case .constant(.list(let elements)): first = elements.first
        case .list(let programs):
            guard case .constant(let value)? = programs.first else { return nil }
            first = value
        default: return nil
        }
        guard case .string(let program)? = first, !program.isEmpty else { return nil }
        if program.contains("/") { return program.hasPrefix("/") ? program : nil }
        switch arguments["environment"] {
        case nil: return program
        case .constant(.map(let entries)): return entries[.string("PATH")] == nil ? program : nil
        default: return nil
        }
    }

    /// Logs the missing programs.
    func log(to logger: Logger) {
        for each in missing.prefix(Self.most) {
            logger.warning(
                "a program is not found",
                metadata: .about(
                    .programNotFound,
                    [
                        "program": "\(each.program)", "system": "\(each.system)", "feedback": "\(each.feedback)",
                        "place": "\(each.source)",
                    ]))
        }
        let others = missing.count - Self.most
        if others > 0 { logger.warning("\(others) other programs are not found", metadata: .about(.programNotFound)) }
    }
}
