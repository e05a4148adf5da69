import CommonExpression
import Logging
import MediatorConfiguration
import MediatorHost

/// `chime`: strikes a number of times with a pause between, and reports the number of strikes.
struct ChimeEffect: EffectImplementation {
    private static let rung = StructureType(
        name: "result", fields: [.init(name: "text", type: .string), .init(name: "strokes", type: .int)])

    let schema = EffectSchema(
        name: "chime", summary: "strikes a bell",
        parameters: [
            .init(
                name: "text", summary: "what is said at each stroke", type: .string, required: true, allowsEmpty: false),
            .init(
                name: "strokes", summary: "how often it strikes: from 1 to 12", type: .int, default: .int(3),
                constraint: .whole(1...12)),
        ],
        shortForm: "text",
        outcomes: [.init(name: "onRung", summary: "it has struck so often", result: rung)])

    func run(_ arguments: [String: Value], in context: EffectContext) async {
        guard case .string(let text)? = arguments["text"], case .int(let strokes)? = arguments["strokes"] else {
            return
        }
        for _ in 0..<strokes {
            // Throws when the run is cancelled, and then reports nothing.
            guard (try? await context.clock.sleep(for: .milliseconds(10))) != nil else { return }
            context.logger.info("\(text)")
        }
        context.report("onRung", .structure(Structure(type: Self.rung, fields: [.string(text), .int(strokes)])))
    }
}
