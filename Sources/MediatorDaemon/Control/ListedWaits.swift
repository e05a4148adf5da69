import CommonExpression
import MediatorConfiguration
import MediatorControl
import MediatorHost
import Varlink

// The pending waits, as messages of the control interface.

extension HostControl {
    /// The largest number of waits in a reply.
    static let mostWaits = 10_000
    /// The largest number of waits in the description of a system.
    static let mostWaitsOfSystem = 100

    func listWaits(_ parameters: ListWaitsParameters, peer: VarlinkPeer) async throws -> ListWaitsReply {
        let waits: [PendingWait]
        if let system = parameters.system {
            await pay(UserBudgets.story, peer)
            waits = try translate { () throws(HostError) in try host.pendingWaits(of: system) }
        } else {
            await pay(host.graph.systems.count * UserBudgets.part, peer)
            waits = host.pendingWaits
        }
        return ListWaitsReply(
            waits: waits.prefix(Self.mostWaits).map { Wait($0) }, leftOut: max(0, waits.count - Self.mostWaits))
    }

    /// The waits of systems that stop, or `nil` if none stops.
    var stops: [Wait]? {
        let waits = host.stopWaits.prefix(Self.mostWaitsOfSystem).map { Wait($0) }
        return waits.isEmpty ? nil : waits
    }

    /// Adds the pending waits of a system to its description.
    func addWaits(to description: inout SystemDescription) {
        guard let waits = try? host.pendingWaits(of: description.summary.name) else { return }
        description.waits = waits.prefix(Self.mostWaitsOfSystem).map { Wait($0) }
        let rest = waits.count - Self.mostWaitsOfSystem
        if rest > 0 { description.waitsLeftOut = rest }
    }
}

extension Wait {
    init(_ wait: PendingWait) {
        let key = wait.key.map { $0.heldBytes(upTo: Cut.inList) > Cut.inList ? Excerpt.of($0) : $0 }
        self.init(
            system: wait.system, kind: wait.kind.rawValue, feedback: wait.feedback, key: key.map(ValueCoding.json),
            due: "\(wait.due.toMillisecond)", action: wait.action)
    }
}
