import MediatorControl
import StrictJSON
import Synchronization
import Varlink

extension SampleHandler {
    private static let parts = [
        StoredPart(
            part: .system, name: "disk-guard", configured: true,
            persistence: PersistenceStatus(
                stored: true, since: "2026-11-21T11:59:00Z", restored: "2026-11-21T08:59:00Z")),
        StoredPart(
            part: .system, name: "gone", configured: false, persistence: PersistenceStatus(stored: true)),
        StoredPart(
            part: .bus, name: "backup", configured: true,
            persistence: PersistenceStatus(stored: false, reason: "the disk is full\u{1B}[31m")),
        StoredPart(
            part: .bus, name: "gone", configured: false, persistence: PersistenceStatus(stored: true)),
    ]

    func describeStore(peer: VarlinkPeer) async throws -> StoreDescription {
        switch health {
        case .failed: StoreDescription(mode: .inMemory, reason: "another process uses it; stop that")
        case .degraded:
            StoreDescription(
                mode: .open, directory: "/store", bytes: 3_250_586, life: 3, failedStarts: 2, closedInOrder: false,
                lastCommit: "2026-11-21T11:57:00Z", commits: 12, errors: 1, pending: 2,
                pendingSince: "2026-11-21T11:58:00Z", refused: 1, p50: 0.001048576, p99: 4.294967296,
                damage: ["the store has 1 states instead of 2"], parts: Self.parts, leftOut: 7)
        default: StoreDescription(mode: .open, directory: "/store", bytes: 49_152, life: 1, parts: Self.parts)
        }
    }

    func checkStore(peer: VarlinkPeer) async throws -> CheckStoreReply {
        CheckStoreReply(states: 2, damage: health == .degraded ? ["the store has 2 states instead of 3"] : [])
    }

    func exportStore(peer: VarlinkPeer) async throws -> AsyncThrowingStream<ExportStoreReply, any Error> {
        var states = [ExportStoreReply(part: .system, name: "disk-guard", content: ["state": "Full"])]
        switch health {
        case .degraded: states.append(ExportStoreReply(part: .bus, name: "backup", damage: "its checksum"))
        case .failed: states = []
        default: break
        }
        return AsyncThrowingStream { continuation in
            for state in states { continuation.yield(state) }
            continuation.finish()
        }
    }

    func forgetStored(_ parameters: ForgetStoredParameters, peer: VarlinkPeer) async throws {
        guard parameters.name == "gone" else {
            throw ControlError.notAccepted(name: parameters.name, obstacle: .other, reason: "it runs")
        }
        state.withLock { $0.changes.append("forget \(parameters.part.rawValue) \(parameters.name)") }
    }
}
