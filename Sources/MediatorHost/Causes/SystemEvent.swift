public import CommonExpression
package import MediatorConfiguration

/// An event of a system.
public struct SystemEvent: Sendable {
    /// A link that made an event from a value of a bus.
    struct Via: Sendable {
        let link: LinkDefinition
        /// A Boolean value that indicates whether the bus had the value before the link read it, as after a reload.
        let isReplay: Bool

        /// Returns the number of links that the event has passed since the input from outside, including this one.
        func hops(after cause: Cause?) -> UInt32 {
            guard let cause else { return 0 }
            // A repeated value starts a new count.
            return isReplay ? 1 : cause.hops.oneMore
        }
    }

    /// The contents of an event. A copy of an event copies only one reference.
    private final class Contents: Sendable {
        let index: Int
        let data: Value
        let original: (any AnyObject & Sendable)?
        let via: Via?
        let cause: Cause?
        let size: Int

        init(index: Int, data: Value, original: (any AnyObject & Sendable)?, via: Via?, cause: Cause?, size: Int?) {
            self.size = size ?? SystemEvent.size(of: data)
            self.index = index
            self.data = data
            self.original = original
            self.via = via
            self.cause = cause
        }
    }

    private let contents: Contents

    /// The index of the event in the definition of the system. It is -1 for an event that the definition does not
    /// have, which is never handled. It is -2 for a reset, and -3 or -4 for a rule of `always`.
    public var index: Int { contents.index }
    /// The data of the event, a structure of the event's type.
    public var data: Value { contents.data }
    /// The Swift value that the event was made from, if a system written in Swift emitted it.
    var original: (any AnyObject & Sendable)? { contents.original }
    /// The link that made the event from a value of a bus.
    var via: Via? { contents.via }
    /// The approximate number of bytes in the data of the event. Small data counts as 0.
    var size: Int { contents.size }
    /// The cause of the event. For an event from a bus, it is the cause of the value. `nil` if it is unknown outside
    /// the system.
    var cause: Cause? { contents.cause }

    /// - Parameter size: The number of bytes of its data that count, if it is known; see ``size(of:)``.
    init(
        index: Int, data: Value, original: (any AnyObject & Sendable)? = nil, via: Via? = nil, cause: Cause?,
        size: Int? = nil
    ) {
        contents = Contents(index: index, data: data, original: original, via: via, cause: cause, size: size)
    }

    /// The number of bytes up to which the data of an event does not count. Such an event counts as one event only,
    /// so it has room beside large ones. A full mailbox of small events is harmless with the default limit.
    private static let smallSize = 1024

    /// Returns the number of bytes that count in the data of an event, a state or a value of a bus.
    static func size(of data: Value) -> Int {
        let held = data.heldBytes
        return held > smallSize ? held : 0
    }

    /// Returns the same event for the successor of its system. Returns `nil` for a reset, and if the successor has no
    /// such event or does not allow its data.
    func inherited(by new: SystemDefinition) -> SystemEvent? {
        guard let event = worded(by: new), !event.isReset, event.index >= 0,
            new.events[event.index].breach(of: data) == nil
        else { return nil }
        return SystemEvent(index: event.index, data: data, original: nil, via: via, cause: cause, size: size)
    }

    /// Returns the same event with its index in a definition. Returns `nil` if the definition has no event with its
    /// name and fields. An event that was made for this definition is returned unchanged.
    @inline(__always)
    func worded(by definition: SystemDefinition) -> SystemEvent? {
        guard case .structure(let structure) = data else { return self }
        let index = index
        if definition.events.indices.contains(index), definition.events[index].type == structure.type { return self }
        guard let match = definition.events.firstIndex(where: { $0.type == structure.type }) else { return nil }
        return SystemEvent(index: match, data: data, original: original, via: via, cause: cause, size: size)
    }

    /// Returns the same event with a cause.
    func caused(by cause: Cause) -> SystemEvent {
        SystemEvent(index: index, data: data, original: original, via: via, cause: cause, size: size)
    }

    /// Returns an event that sends a system to its initial state.
    static func reset(_ cause: Cause) -> SystemEvent { SystemEvent(index: resetIndex, data: .null, cause: cause) }

    /// Returns the event by which a rule of `always` changes the state.
    static func always(_ cause: Cause) -> SystemEvent { SystemEvent(index: alwaysIndex, data: .null, cause: cause) }

    /// Returns the event of a rule of `always` whose time has come.
    ///
    /// - Parameter number: The number of its wait.
    static func due(_ number: UInt64) -> SystemEvent {
        SystemEvent(index: dueIndex, data: .uint(number), cause: nil, size: 0)
    }

    /// The event on which a system tries all its rules of `always`, after a reload.
    static let recheck = due(0)

    /// A Boolean value that indicates whether it is ``recheck``.
    var isRecheck: Bool { index == Self.dueIndex && data == .uint(0) }

    static let resetIndex = -2
    static let alwaysIndex = -3
    static let dueIndex = -4

    /// The name of the event, which is the name of its type.
    var name: String { Self.name(of: index, data) }

    /// Returns the name of an event from its index and its data.
    static func name(of index: Int, _ data: Value) -> String {
        if index == resetIndex { return "(reset)" }
        if index == alwaysIndex || index == dueIndex { return "(always)" }
        if case .structure(let data) = data { return data.type.name }
        return "unknown"
    }

    /// A Boolean value that indicates whether the event sends a system to its initial state.
    var isReset: Bool { index == Self.resetIndex }
}

extension SystemDefinition {
    /// Returns the name of an event.
    package func eventName(_ event: SystemEvent) -> String {
        event.name
    }

    /// Returns a Boolean value that indicates whether the states and events of two definitions have the same indices,
    /// names and fields.
    func hasWords(of other: SystemDefinition) -> Bool {
        other === self
            || (states.elementsEqual(other.states) { $0.type == $1.type }
                && events.elementsEqual(other.events) { $0.type == $1.type })
    }

    /// Returns the index of a state of another definition in this one. Returns `nil` if this definition has no state
    /// with its name and fields.
    func index(of state: Int, in other: SystemDefinition) -> Int? {
        if other === self { return state }
        let type = other.states[state].type
        if states.indices.contains(state), states[state].type == type { return state }
        return states.firstIndex { $0.type == type }
    }
}
