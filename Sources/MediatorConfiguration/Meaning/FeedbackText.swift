/// How a feedback is written, from which is told what it does.
struct FeedbackText: Sendable {
    private let schedule: WrittenFeedback.Schedule
    private let name: String
    private let argument: Node

    /// The text of a feedback that runs a side effect when its schedule says.
    init(schedule: WrittenFeedback.Schedule, effect: WrittenEffect) {
        self.schedule = schedule
        name = effect.schema.name
        argument = effect.argument
    }

    /// One line: when, what, and with what.
    var summary: String {
        let time =
            switch schedule {
            case .atOnce, .broken: ""
            case .after(let node): "after \(FlowText.of(node)): "
            case .every(let node): "every \(FlowText.of(node)): "
            case .at(let nodes): "at \(nodes.map(FlowText.of).joined(separator: ", ")): "
            }
        return time + name + (argument.isNull ? "" : " " + FlowText.of(argument))
    }
}
