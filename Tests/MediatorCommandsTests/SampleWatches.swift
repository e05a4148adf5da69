import MediatorControl
import StrictJSON
import Synchronization
import Varlink

extension SampleHandler {
    func watchSystem(_ name: String, peer: VarlinkPeer) async throws -> AsyncThrowingStream<WatchSystemReply, any Error>
    {
        let (stream, continuation) = AsyncThrowingStream.makeStream(
            of: WatchSystemReply.self,
            bufferingPolicy: .bufferingOldest(16)
        )
        continuation.yield(
            WatchSystemReply(time: "2026-11-21T11:57:00Z", replayed: true, state: SystemState(name: "Unknown"))
        )
        continuation.yield(
            WatchSystemReply(
                time: "2026-11-21T11:58:30Z",
                replayed: false,
                state: disk.state,
                previous: "Unknown",
                event: "Measured",
                eventData: ["percent": 97, "mount": "/var"],
                dropped: 2
            )
        )
        state.withLock { $0.watches.append(continuation) }
        return stream
    }

    func watchBus(_ name: String, peer: VarlinkPeer) async throws -> AsyncThrowingStream<WatchBusReply, any Error> {
        AsyncThrowingStream { continuation in
            continuation.yield(WatchBusReply(time: "2026-11-21T11:59:59Z", replayed: true, value: 21.5))
            continuation.yield(WatchBusReply(time: "2026-11-20T10:00:00Z", replayed: false, value: ["a": [1, "b c"]]))
            continuation.finish(throwing: ControlError.watchEnded(name: name, reason: "the daemon is stopping"))
        }
    }

    /// The explanations of the disk guard, of the temperature, and of all together.
    func watch(
        _ parameters: WatchParameters, peer: VarlinkPeer
    ) async throws -> AsyncThrowingStream<WatchReply, any Error> {
        let (stream, continuation) = AsyncThrowingStream.makeStream(
            of: WatchReply.self, bufferingPolicy: .bufferingOldest(16))
        guard parameters.condition != "state.x" else {
            throw ControlError.invalidValue(
                path: "where", expected: "bool", message: "'where': column 7: there is no 'x'")
        }
        if parameters.announce == true {
            let isSilent = state.withLock { state in
                guard state.isSilent else { return false }
                state.watched.append(parameters)
                state.watchers.append(continuation)
                return true
            }
            if isSilent { return stream }
            continuation.yield(WatchReply(time: "2026-11-21T11:59:59Z", topic: .watching))
        }
        func isMeant(_ kind: PartKind, _ name: String) -> Bool {
            parameters.patterns.isEmpty || parameters.patterns.contains { PartPattern($0).matches(kind, name) }
        }
        if isMeant(.system, "disk-guard") {
            continuation.yield(
                WatchReply(
                    time: "2026-11-21T11:57:00Z", topic: .state, kind: .system, name: "disk-guard", replayed: true,
                    state: SystemState(name: "Unknown")))
        }
        if isMeant(.bus, "temperature") {
            continuation.yield(
                WatchReply(
                    time: "2026-11-21T11:59:59Z", topic: .value, kind: .bus, name: "temperature", replayed: true,
                    value: 21.5))
        }
        if isMeant(.system, "disk-guard") {
            continuation.yield(
                WatchReply(
                    time: "2026-11-21T11:58:30Z", topic: .state, kind: .system, name: "disk-guard", state: disk.state,
                    previous: "Unknown", event: "Measured", eventData: ["percent": 97, "mount": "/var"], dropped: 2))
        }
        if isMeant(.link, "tell-full") {
            continuation.yield(
                WatchReply(
                    time: "2026-11-21T11:58:30Z", topic: .fired, kind: .link, name: "tell-full",
                    value: ["text": "full"]))
        }
        if parameters.patterns.isEmpty {
            for topic in [WatchTopic.ended, .began] {
                continuation.yield(
                    WatchReply(time: "2026-11-21T11:59:00Z", topic: topic, kind: .system, name: "backup"))
            }
            continuation.yield(WatchReply(time: "2026-11-21T11:59:01Z", topic: .leftOut, leftOut: 12))
        }
        if isMeant(.bus, "temperature") {
            continuation.yield(
                WatchReply(
                    time: "2026-11-20T10:00:00Z", topic: .value, kind: .bus, name: "temperature",
                    value: ["a": [1, "b c"]]))
        }
        if parameters.patterns == ["bus:temperature"] {
            continuation.finish(
                throwing: ControlError.watchEnded(name: "bus:temperature", reason: "the daemon is stopping"))
        }
        state.withLock { state in
            state.watched.append(parameters)
            state.watchers.append(continuation)
        }
        return stream
    }
}
