import FeedbackKit

// The traffic light of the CombineFeedback documentation, as a typed loop. Each case of the enumerations is a state or
// an event of the configuration. Associated values are its fields.

enum Light: Codable, CaseIterable {
    case red
    case yellow
    case green(walkers: Int)

    static let allCases: [Light] = [.red, .yellow, .green(walkers: 0)]
}

enum LightEvent: Codable, CaseIterable {
    case next
    case walker(name: String?)

    static let allCases: [LightEvent] = [.next, .walker(name: nil)]
}

struct LightParameters: Codable {
    var red: Duration
    var yellow: Duration?
    var green: Duration

    func duration(of light: Light) -> Duration {
        switch light {
        case .red: red
        case .yellow: yellow ?? .seconds(3)
        case .green: green
        }
    }
}

func makeTrafficLight(_ parameters: LightParameters) -> StateSequence<Light, LightEvent> {
    system(
        initial: .red,
        reduce: { (light: inout Light, event: LightEvent) in
            switch (light, event) {
            case (.red, .next): light = .yellow
            case (.yellow, .next): light = .green(walkers: 0)
            case (.green, .next): light = .red
            case (.green(let walkers), .walker): light = .green(walkers: walkers + 1)
            case (_, .walker): break
            }
        },
        feedbacks: [
            Feedback(name: "change") { light, _ in .after(parameters.duration(of: light), .next) }
        ])
}
