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
    private let joints = Mutex<[Joint<Subject>]>([])

    func show(_ subject: Subject) {
        let joints = joints.withLock { $0 }
        // By index, so that no joint is copied as a whole.
        for index in joints.indices where joints[index].trigger == nil { joints[index].see(subject) }
    }

    /// The end of a link, if it is there.
    func joint(_ id: ObjectIdentifier) -> Joint<Subject>? {
        joints.withLock { joints in joints.first { $0.id == id } }
    }

    /// Shows something to the one that looks when a feedback makes it.
    func show(_ subject: Subject, by feedback: String) {
        let joint = joints.withLock { joints in joints.first { $0.trigger == feedback } }
        joint?.see(subject)
    }

    func exchange(_ leaving: Set<ObjectIdentifier>, for joining: [Joint<Subject>]) {
        // What leaves is not released under the lock.
        let before = joints.withLock { joints in
            let before = joints
            joints = (joints.filter { !leaving.contains($0.id) } + joining).sorted { $0.name < $1.name }
            return before
        }
        withExtendedLifetime(before) {}
    }

    func removeAll() {
        let before = joints.withLock { joints in
            defer { joints = [] }
            return joints
        }
        withExtendedLifetime(before) {}
    }
}
