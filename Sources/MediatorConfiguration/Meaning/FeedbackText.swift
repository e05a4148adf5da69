/// How a feedback is written, from which is told what it does.
struct FeedbackText: Sendable {
    private let schedule: WrittenFeedback.Schedule
    private let name: String
    private let argument: Node
    private let constants: ShownConstants?

    /// The text of a feedback that runs a side effect when its schedule says.
    ///
    /// - Parameter constants: those whose values are shown.
    init(schedule: WrittenFeedback.Schedule, effect: WrittenEffect, constants: ShownConstants?) {
        self.constants = constants
        self.schedule = schedule
        name = effect.schema.name
        argument = effect.argument
    }

    /// One line: when, what, and with what.
    var summary: String {
        func text(_ node: Node) -> String { FlowText.of(node, with: constants) }
        let time =
            switch schedule {
            case .atOnce, .broken: ""
            case .after(let node): "after \(text(node)): "
            case .every(let node): "every \(text(node)): "
            case .at(let nodes): "at \(nodes.map(text).joined(separator: ", ")): "
            }
        return time + name + (argument.isNull ? "" : " " + text(argument))
    }
}
