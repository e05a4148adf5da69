import Synchronization

/// One who is shown what comes by: the near end of a link.
struct Joint<Subject: Sendable>: Sendable {
    /// The link.
    let id: ObjectIdentifier
    /// The link's name, by which joints are ordered.
    let name: String
    /// The feedback that makes it look; nil: it looks at all that comes by.
    var trigger: String?
    let see: @Sendable (Subject) -> Void
}

/// The links that begin at a system or a bus, in the order of their names. They change between two states or values: each
/// is shown either to the links before or to those after.
final class JointTable<Subject: Sendable>: Sendable {
    private struct State {
        var joints: [Joint<Subject>] = []
        var shows: UInt64 = 0
    }

    private let state = Mutex(State())

    /// The number of subjects that all joints were shown.
    var shows: UInt64 { state.withLock { $0.shows } }

    func show(_ subject: Subject) {
        let joints = state.withLock { state in
            state.shows &+= 1
            return state.joints
        }
        // By index, so that no joint is copied as a whole.
        for index in joints.indices where joints[index].trigger == nil { joints[index].see(subject) }
    }

    /// The end of a link, if it is there.
    func joint(_ id: ObjectIdentifier) -> Joint<Subject>? {
        state.withLock { state in state.joints.first { $0.id == id } }
    }

    /// Shows something to the one that looks when a feedback makes it.
    func show(_ subject: Subject, by feedback: String) {
        let joint = state.withLock { state in state.joints.first { $0.trigger == feedback } }
        joint?.see(subject)
    }

    /// Removes joints and adds others; returns the number of subjects that were shown before.
    @discardableResult
    func exchange(_ leaving: Set<ObjectIdentifier>, for joining: [Joint<Subject>]) -> UInt64 {
        // The ones that leave are not released under the lock.
        let (before, shows) = state.withLock { state in
            let before = state.joints
            state.joints = (before.filter { !leaving.contains($0.id) } + joining).sorted { $0.name < $1.name }
            return (before, state.shows)
        }
        withExtendedLifetime(before) {}
        return shows
    }

    func removeAll() {
        let before = state.withLock { state in
            defer { state.joints = [] }
            return state.joints
        }
        withExtendedLifetime(before) {}
    }
}
