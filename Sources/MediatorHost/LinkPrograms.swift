import CommonExpression
import MediatorConfiguration

/// The elements for the states of a system, by state index.
struct ByState<Element: Sendable>: Sendable {
    private let elements: [Element?]

    init(_ elements: [Int: Element], states: Int) {
        self.elements = (0..<states).map { elements[$0] }
    }

    /// The element for a state; `nil` if the state has none.
    subscript(state: Int) -> Element? { elements.indices.contains(state) ? elements[state] : nil }
}

extension ValueFilter {
    /// Returns a Boolean value that indicates whether a value passes the filter.
    ///
    /// - Parameter variables: The value and the time.
    func admits(_ value: Value, _ variables: inout Variables) throws(EvaluationError) -> Bool {
        switch self {
        case .all: true
        case .equals(let expected): value == expected
        case .condition(let condition): try condition.evaluateBool(&variables)
        }
    }
}

extension HostedLink {
    /// The event that sets an input to the present value of the bus, or by the present state of the other system, with its time.
    /// `nil` for another link, or if nothing sets the input now.
    func presentInput(of target: HostedSystem) -> PresentInput? {
        if let inlet = ofValues {
            guard inlet.event.event >= system.definition.ownEvents, let item = bus?.channel.carried else { return nil }
            var variables = Variables(item.value, .timestamp(time.now()))
            // The link itself shows the value to the system, and notes the fault.
            guard (try? inlet.filter.admits(item.value, &variables)) == true,
                let data = try? inlet.event.data.evaluate(&variables)
            else { return nil }
            let via = SystemEvent.Via(link: definition, isReplay: true)
            return PresentInput(
                event: SystemEvent(index: inlet.event.event, data: data, via: via, cause: item.cause), time: item.time,
                link: ObjectIdentifier(self), item: item)
        }
        guard let (event, data, state, cause) = output(for: target) else { return nil }
        return PresentInput(
            event: SystemEvent(index: event, data: data, cause: Cause(cause, of: state.record, at: nil)),
            time: state.changed, link: ObjectIdentifier(self), item: nil)
    }

    /// Shows the present value of the bus to a system that has restarted, if the link still joins them.
    ///
    /// - Parameter begun: The values with which the system began. A value that is still the present one is not shown again.
    func showPresent(to system: HostedSystem, unless begun: [PresentInput] = []) {
        let id = ObjectIdentifier(self)
        guard let bus else { return system.stopAwaiting(id) }
        let known = begun.first { $0.link == id }?.item
        bus.channel.showPresent(to: id, unless: known) { system.stopAwaiting(id) }
    }

    /// A Boolean value that indicates whether the link sets an input of its system by the values of a bus.
    var setsInput: Bool { ofValues.map { $0.event.event >= system.definition.ownEvents } ?? false }
}

/// The event that sets an input of a system that begins.
struct PresentInput: Sendable {
    let event: SystemEvent
    /// The time of the value or state.
    let time: Timestamp
    let link: ObjectIdentifier
    /// The value of the bus; `nil` if another system's state sets the input.
    let item: BusValue?
}
