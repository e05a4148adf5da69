/// A line of the table: which figure, of which program, beside which of which peer.
struct Row {
    /// The unit of a figure.
    enum Unit {
        case perSecond
        /// The fewer the better: the ratio is the peer's figure by ours.
        case bytes
    }

    /// The title.
    let title: String
    let ours: Figure
    let peer: String
    let theirs: Figure
    var unit = Unit.perSecond
    /// The least ratio; `nil` for a line that is for comparison only.
    let target: Double?
}

/// A figure by the program that gives it and the name it has there.
struct Figure: Hashable {
    let program: String
    let name: String

    init(_ program: String, _ name: String) {
        self.program = program
        self.name = name
    }
}

extension Row {
    private static let statem = "gen_statem"
    private static let oneScheduler = "gen_statem, 1 scheduler"

    /// The table.
    static let all = [
        Row(
            title: "typed loop, sender's thread", ours: Figure("ours", "loop-sender"), peer: oneScheduler,
            theirs: Figure("erlang1", "casts-1"), target: 15),
        Row(
            title: "typed loop, sender's thread", ours: Figure("ours", "loop-sender"), peer: "OpenCombine scan",
            theirs: Figure("opencombine", "scan"), target: 1),
        Row(
            title: "typed loop, pool, 1 sender", ours: Figure("ours", "loop-pool-1"), peer: statem,
            theirs: Figure("erlang", "casts-1"), target: 1),
        Row(
            title: "typed loop, pool, 2 senders", ours: Figure("ours", "loop-pool-2"), peer: statem,
            theirs: Figure("erlang", "casts-2"), target: 1),
        Row(
            title: "typed loop, pool, 8 senders", ours: Figure("ours", "loop-pool-8"), peer: statem,
            theirs: Figure("erlang", "casts-8"), target: 1),
        Row(
            title: "typed loop, pool, 1 sender", ours: Figure("ours", "loop-pool-1"), peer: "Swift actor",
            theirs: Figure("actor", "actor-1"), target: nil),
        Row(
            title: "typed loop, pool, 2 senders", ours: Figure("ours", "loop-pool-2"), peer: "Swift actor",
            theirs: Figure("actor", "actor-2"), target: nil),
        Row(
            title: "typed loop, pool, 8 senders", ours: Figure("ours", "loop-pool-8"), peer: "Swift actor",
            theirs: Figure("actor", "actor-8"), target: nil),
        Row(
            title: "System, 1 feedback", ours: Figure("ours", "system-1"), peer: oneScheduler,
            theirs: Figure("erlang1", "casts-1"), target: 1),
        Row(
            title: "System, 10 feedbacks", ours: Figure("ours", "system-10"), peer: oneScheduler,
            theirs: Figure("erlang1", "casts-1"), target: nil),
        Row(
            title: "bus → System, sender's thread", ours: Figure("ours", "bus-system"), peer: oneScheduler,
            theirs: Figure("erlang1", "casts-1"), target: 2),
        Row(
            title: "bus → System, pool", ours: Figure("ours", "bus-system-pool"), peer: statem,
            theirs: Figure("erlang", "casts-1"), target: 2),
        Row(
            title: "store, one action a dispatch", ours: Figure("ours", "store-dispatch"), peer: oneScheduler,
            theirs: Figure("erlang1", "casts-1"), target: 1),
        Row(
            title: "System → bus → System, ring of 2", ours: Figure("ours", "ring-2"), peer: oneScheduler,
            theirs: Figure("erlang1", "ring-2"), target: 1),
        Row(
            title: "System → bus → System, ring of 100", ours: Figure("ours", "ring-100"), peer: oneScheduler,
            theirs: Figure("erlang1", "ring-100"), target: 1),
        Row(
            title: "System → bus → System, ring of 10 000", ours: Figure("ours", "ring-10000"), peer: oneScheduler,
            theirs: Figure("erlang1", "ring-10000"), target: 1),
        Row(
            title: "start and stop of a System", ours: Figure("ours", "start-stop"), peer: statem,
            theirs: Figure("erlang", "start-stop"), target: nil),
        Row(
            title: "async effect cancelled and restarted", ours: Figure("ours", "restart-task"),
            peer: "process killed, spawned",
            theirs: Figure("erlang", "restart-process"), target: 0.6),
        Row(
            title: "timer effect cancelled and restarted", ours: Figure("ours", "restart-timer"), peer: "state_timeout",
            theirs: Figure("erlang", "restart-timer"), target: 0.6),
        Row(
            title: "bytes, idle System, resident", ours: Figure("ours", "idle-rss"), peer: "hibernated, resident",
            theirs: Figure("erlang", "idle-rss"), unit: .bytes, target: 1),
        Row(
            title: "bytes, idle System, allocated", ours: Figure("ours", "idle-allocated"),
            peer: "hibernated, memory(processes)",
            theirs: Figure("erlang", "idle-allocated"), unit: .bytes, target: 1.5),
        Row(
            title: "bytes, idle typed loop, allocated", ours: Figure("ours", "idle-loop-allocated"),
            peer: "hibernated, memory(processes)", theirs: Figure("erlang", "idle-allocated"), unit: .bytes, target: 1),
        Row(
            title: "nobody observes", ours: Figure("observer", "observer-nobody"), peer: "hooks removed",
            theirs: Figure("observer", "observer-removed"), target: 0.98),
        Row(
            title: "an observer that does nothing", ours: Figure("observer", "observer-idle"), peer: "hooks removed",
            theirs: Figure("observer", "observer-removed"), target: nil),
    ]
}
