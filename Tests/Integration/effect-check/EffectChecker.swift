import CommonExpression
import Glibc
import MediatorConfiguration
import MediatorEffectTesting
import MediatorHost
import SideEffects

/// `effect-check NAME ARGUMENTS [OUTCOME…]` checks a side effect of every daemon. The arguments are an expression, a
/// map such as `{"path": "/tmp"}`. It prints each flaw on a line, and then exits with 1.
@main
enum EffectChecker {
    static func main() async {
        let arguments = CommandLine.arguments
        guard arguments.count >= 3,
            let effect = EffectCatalogue.builtin.implementation(named: arguments[1]),
            let value = try? Expression(parsing: arguments[2]).unchecked(in: Environment(variables: [])).evaluate([]),
            case .map(let entries) = value
        else {
            let usage = Array("usage: effect-check NAME ARGUMENTS [OUTCOME…]\n".utf8)
            _ = write(STDERR_FILENO, usage, usage.count)
            exit(2)
        }
        var given: [String: Value] = [:]
        for case (.string(let name), let value) in entries { given[name] = value }
        // A write to a peer that has gone is an error, not the end.
        signal(SIGPIPE, SIG_IGN)
        let flaws = await EffectCheck(effect, arguments: given, outcomes: Set(arguments.dropFirst(3))).flaws()
        // The line that the tests read.
        for flaw in flaws { print(flaw) }
        exit(flaws.isEmpty ? 0 : 1)
    }
}
