/// The text of a feedback, from which its summary is made.
struct FeedbackText: Sendable {
    private let schedule: WrittenFeedback.Schedule
    private let handling: WrittenHandling
    private let name: String
    private let argument: Node
    private let constants: ShownConstants?

    /// The text of a feedback that runs a side effect when its schedule says.
    ///
    /// - Parameter constants: those whose values are shown.
    init(
        schedule: WrittenFeedback.Schedule, handling: WrittenHandling, effect: WrittenEffect,
        constants: ShownConstants?
    ) {
        self.constants = constants
        self.schedule = schedule
        self.handling = handling
        name = effect.schema.name
        argument = effect.argument
    }

    /// One line: when, what, and with what.
    var summary: String {
        let time =
            switch schedule {
            case .atOnce, .broken: pace
            case .after(let node): "after \(text(node)): "
            case .every(let node): "every \(text(node)): "
            case .at(let nodes): "at \(nodes.map(text).joined(separator: ", ")): "
            }
        return time + name + (argument.isNull ? "" : " " + text(argument))
    }

    /// The options of its runs, by their keys, as written.
    var options: [String: String] {
        let nodes = ["timeout": handling.timeout, "jitter": handling.jitter].compactMapValues(\.self)
        return nodes.mapValues(text).merging(handling.key.map { ["key": $0.text] } ?? [:]) { first, _ in first }
    }

    private func text(_ node: Node) -> String { FlowText.of(node, with: constants) }

    /// The pace of its runs.
    private var pace: String {
        let parts = [
            ("debounce", handling.debounce), ("maxWait", handling.maxWait), ("throttle", handling.throttle),
        ].compactMap { name, node in node.map { "\(name) \(text($0))" } }
        return parts.isEmpty ? "" : parts.joined(separator: ", ") + ": "
    }
}
