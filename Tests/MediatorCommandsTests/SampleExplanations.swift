import MediatorControl
import StrictJSON
import Synchronization
import Varlink

extension SampleHandler {
    func why(_ name: String, peer: VarlinkPeer) async throws -> WhyReply {
        let down: JSONObject = ["reason": "no answer"]
        let held =
            state.withLock { $0.data } == nil ? "" : " { since: timestamp(\"2026-11-21T11:52:14.239976038Z\") }"
        return WhyReply(
            hops: [
                CauseHop(
                    kind: .state, time: "2026-11-21T11:57:00Z", system: name, state: "Paused",
                    text: "\(name) is in Paused" + held),
                CauseHop(
                    kind: .event, time: "2026-11-21T11:57:00Z", system: name, event: "Pause",
                    text: "by the event Pause"),
                CauseHop(
                    kind: .link, time: "2026-11-21T11:57:00Z", link: "pause", bus: "uplink",
                    text: "which the link pause made of a value of the bus uplink"),
                CauseHop(
                    kind: .value, time: "2026-11-21T11:57:00Z", bus: "uplink", value: "down\u{1B}[31m",
                    text: "the bus uplink got \"down\u{1B}[31m\""),
                CauseHop(
                    kind: .link, time: "2026-11-21T11:57:00Z", link: "tell", bus: "uplink",
                    text: "put there by the link tell"),
                CauseHop(
                    kind: .state, time: "2026-11-21T11:56:58Z", system: "uplink", state: "Down", data: down,
                    text: "uplink was in Down { reason: \"no answer\" }"),
                CauseHop(
                    kind: .client, time: "2026-11-21T11:56:58Z", who: "uid 0, process 7",
                    text: "emitted by a client (user 0, process 7)"),
            ], cut: health == .degraded)
    }

    func whyNot(_ parameters: WhyNotParameters, peer: VarlinkPeer) async throws -> WhyNotReply {
        let isKnown = parameters.data?.isEmpty == false
        if parameters.data == ["percent": 80] {
            let reason = "state.percent / event.step — error: 97 / 0: division by zero, event.step is 0"
            return WhyNotReply(
                state: disk.state, since: disk.since,
                transitions: [
                    CandidateTransition(
                        from: "Full", event: "Measured", to: "Idle", condition: "event.percent < 90",
                        source: "disk.yaml:12:9", holds: true, fails: health != .degraded,
                        reason: "event.percent < 90 — true, event.percent is 80", field: "share",
                        fieldReason: health == .degraded ? "it depends on event.step" : reason)
                ])
        }
        return WhyNotReply(
            state: disk.state, since: disk.since, obstacle: health == .degraded ? "it is stopping" : nil,
            transitions: parameters.event == "Reset"
                ? []
                : [
                    CandidateTransition(
                        from: "Full", event: "Measured", to: "Idle", condition: "event.percent < 90",
                        source: "disk.yaml:12:9", holds: isKnown ? false : nil,
                        reason: isKnown
                            ? "event.percent < 90 — false, event.percent is 95" : "it depends on event.percent"),
                    CandidateTransition(
                        from: "any", event: "Measured", to: "stay", source: "disk.yaml:14:9",
                        holds: isKnown ? true : nil,
                        reason: isKnown ? nil : "not tried, since one before it may hold"),
                ], otherStates: parameters.event == "Reset" ? ["Idle", "Filling"] : [],
            senders: parameters.event == "Reset"
                ? []
                : [
                    Sender(
                        kind: .link, name: "measure", description: "bus sizes → disk-guard", source: "a.yaml:3:3",
                        reasons: ["value > 3 — false, value is 2"],
                        waits: "it fires at each value of the bus sizes; it fired last at 2026-11-21T11:57:00Z"),
                    Sender(
                        kind: .feedback, name: "probe", description: "every 5s: run df", source: "disk.yaml:5:3",
                        waits: "it emits it on onSuccess; its time is at 2026-11-21T12:00:03.5Z"),
                ], detached: health == .degraded ? ["ring"] : [])
    }

    func trace(_ parameters: TraceParameters, peer: VarlinkPeer) async throws -> TraceReply {
        func outcome(_ time: String, _ text: String) -> TraceOutcome {
            TraceOutcome(name: "onLine", result: ["line": "x"], time: time, text: "the feedback follow in Idle \(text)")
        }
        let count = state.withLock { state in
            state.traces += 1
            return state.traces
        }
        var steps = [
            TraceStep(kind: .began, time: "2026-11-19T02:13:00Z", number: 1, text: "began in Idle"),
            TraceStep(
                kind: .transition, time: "2026-11-21T11:57:00Z", event: "Measured", data: ["percent": 97],
                guards: [
                    TraceGuard(
                        condition: "event.percent < 90", source: "disk.yaml:12:9", holds: false,
                        reason: "event.percent < 90 — false, event.percent is 97"),
                    TraceGuard(
                        condition: "event.percent > 95", source: "disk.yaml:13:9", holds: true,
                        reason: "event.percent > 95 — true, event.percent is 97"),
                ], number: 4, text: "Idle → Full { percent: 97 } on Measured { percent: 97 }"),
            TraceStep(
                kind: .run, time: "2026-11-21T11:56:00Z", ended: "2026-11-21T11:58:30Z", feedback: "follow",
                outcomes: [
                    outcome("2026-11-21T11:56:30Z", "came after 30s to onLine { line: \"x\" }"),
                    outcome("2026-11-21T11:58:00Z", "came after 2m to onLine { line: \"y\" }"),
                ], more: 1, number: 5, text: "all of it"),
            TraceStep(
                kind: .dropped, time: "2026-11-21T11:59:00Z", number: 6, text: "dropped Reset: mailboxFull\u{1B}[0m"),
        ]
        if count > 1 {
            steps.append(
                TraceStep(kind: .resumed, time: "2026-11-21T11:59:30Z", number: 7, text: "resumed by root after 1m3s"))
        }
        return TraceReply(steps: steps.suffix(parameters.limit ?? steps.count))
    }
}
