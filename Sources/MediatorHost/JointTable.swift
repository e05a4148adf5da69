import MediatorConfiguration
import Synchronization

/// A state or a value that links take.
protocol Linked: Sendable {
    /// A Boolean value that indicates whether it is an update of the subject before.
    var isUpdate: Bool { get }
    /// Returns whether a link has fired for the stay in a compound state to which it belongs.
    func isInside(for link: HostedLink) -> Bool
    /// Shows it to a link.
    ///
    /// - Parameter isUpdate: A Boolean value that indicates whether the link has seen the subject before the update.
    func show(to link: HostedLink, isUpdate: Bool)
}

extension SystemState: Linked {
    var isUpdate: Bool { isUpdated }

    func isInside(for link: HostedLink) -> Bool { !definition.compounds.isEmpty && link.goesOn(in: self) }

    func show(to link: HostedLink, isUpdate: Bool) { link.take(self, isUpdate: isUpdate) }
}

extension BusValue: Linked {
    var isUpdate: Bool { false }

    func isInside(for link: HostedLink) -> Bool { false }

    func show(to link: HostedLink, isUpdate: Bool) { link.take(self) }
}

/// A subscriber to the states of a system or the values of a bus: the near end of a link.
struct Joint<Subject: Linked>: Sendable {
    private let link: HostedLink
    /// The feedback that triggers the subscriber; `nil` if the subscriber sees every subject.
    let trigger: String?
    /// A Boolean value that indicates whether the subscriber replaces one that has seen the present subject.
    let goesOn: Bool

    init(_ link: HostedLink, trigger: String? = nil, goesOn: Bool) {
        self.link = link
        self.trigger = trigger
        self.goesOn = goesOn
    }

    /// The identity of the link.
    var id: ObjectIdentifier { ObjectIdentifier(link) }
    /// A Boolean value that indicates whether the link fires at updates, too.
    var seesUpdates: Bool { link.definition.firesOnChange }
    /// The name of the link, by which a table sorts its subscribers.
    var name: String { link.definition.name }

    /// Returns whether the link has seen the subject as part of a compound state.
    func isInside(_ subject: Subject) -> Bool { subject.isInside(for: link) }

    func see(_ subject: Subject, isUpdate: Bool = false) { subject.show(to: link, isUpdate: isUpdate) }
}

extension Joint where Subject == SystemState {
    /// Notes that the link has fired for a state before.
    func note(seen state: SystemState) { link.note(seen: state) }
}

/// The subscribers of a system or a bus, sorted by name. They change between two states or values. Each subject goes to the
/// subscribers before the exchange or to those after it.
final class JointTable<Subject: Linked>: Sendable {
    private struct State {
        var joints: [Joint<Subject>] = []
        var shows: UInt64 = 0
    }

    private let state = Mutex(State())

    /// The number of subjects that the table has shown to its subscribers.
    var shows: UInt64 { state.withLock { $0.shows } }

    func show(_ subject: Subject) {
        let joints = state.withLock { state in
            state.shows &+= 1
            return state.joints
        }
        // Iteration by index copies no whole subscriber.
        let isUpdate = subject.isUpdate
        for index in joints.indices where joints[index].trigger == nil {
            let isKnown = isUpdate || joints[index].isInside(subject)
            if !isKnown || joints[index].seesUpdates { joints[index].see(subject, isUpdate: isKnown) }
        }
    }

    /// Returns the subscriber of a link, if the table has it.
    func joint(_ id: ObjectIdentifier) -> Joint<Subject>? {
        state.withLock { state in state.joints.first { $0.id == id } }
    }

    /// Shows a subject to the subscriber that a feedback triggers.
    func show(_ subject: Subject, by feedback: String) {
        let joint = state.withLock { state in state.joints.first { $0.trigger == feedback } }
        joint?.see(subject)
    }

    /// Removes subscribers and adds others. Returns the number of subjects shown before the exchange.
    @discardableResult
    func exchange(_ leaving: Set<ObjectIdentifier>, for joining: [Joint<Subject>]) -> UInt64 {
        // The removed subscribers leave the lock first, because their release may run other code.
        let (before, shows) = state.withLock { state in
            let before = state.joints
            state.joints = (before.filter { !leaving.contains($0.id) } + joining).sorted { $0.name < $1.name }
            return (before, state.shows)
        }
        withExtendedLifetime(before) {}
        return shows
    }
}

extension JointTable where Subject == SystemState {
    /// Shows the first state to its subscribers. The links that have seen it before fire only if they fire at updates, and only
    /// with another output: rules of `always` may have changed its data at the start.
    func show(_ first: SystemState, unless known: Set<ObjectIdentifier>) {
        guard !known.isEmpty else { return show(first) }
        let joints = state.withLock { state in
            state.shows &+= 1
            return state.joints
        }
        for joint in joints where joint.trigger == nil {
            if !known.contains(joint.id) {
                joint.see(first)
            } else if joint.seesUpdates {
                joint.see(first, isUpdate: true)
            } else {
                joint.note(seen: first)
            }
        }
    }
}
