import CommonExpression
import FeedbackKit
import MediatorConfiguration

extension HostSnapshot {
    /// The metrics of all systems, feedbacks, buses and links. Their values are counted anyway, so the metrics cost
    /// nothing until they are read.
    ///
    /// - Complexity: Linear in the number of systems, buses and links, quadratic in the number of feedbacks of one
    ///   system.
    public var metrics: [Metric] { SystemMetrics.all(hosted) + BusMetrics.all(hosted) + LinkMetrics.all(hosted) }
}

/// The metrics of systems and their feedbacks.
private struct SystemMetrics {
    private var health = Metric("mediatord_system_health", .gauge, "1 for how the system is, 0 for how it is not.")
    private var state = Metric("mediatord_system_state", .gauge, "1 for the state in which the system is.")
    private var events = Metric("mediatord_system_events_total", .counter, "Events taken from the mailbox.")
    private var transitions = Metric("mediatord_system_transitions_total", .counter, "Events that led to a new state.")
    private var updates = Metric("mediatord_system_updates_total", .counter, "Events that changed a state in place.")
    private var unhandled = Metric(
        "mediatord_system_unhandled_events_total", .counter, "Events that the state did not handle.")
    private var dropped = Metric(
        "mediatord_system_dropped_events_total", .counter, "Events dropped by a full mailbox, or by a system that ends."
    )
    private var faults = Metric("mediatord_system_faults_total", .counter, "Parts of the system that failed.")
    private var failures = Metric(
        "mediatord_system_unhandled_failures_total", .counter, "Failures of side effects that no rule handled.")
    private var restarts = Metric("mediatord_system_restarts_total", .counter, "How often the system was restarted.")
    private var resets = Metric("mediatord_system_resets_total", .counter, "How often the system was reset.")
    private var paused = Metric("mediatord_system_paused", .gauge, "1 while the system is paused.")
    private var waiting = Metric("mediatord_system_mailbox_events", .gauge, "Events that wait in the mailbox.")
    private var limit = Metric("mediatord_system_mailbox_limit", .gauge, "How many events may wait in the mailbox.")
    private var bytes = Metric(
        "mediatord_system_mailbox_bytes", .gauge, "What events of more than 1 KiB hold that wait in the mailbox.")
    private var bytesLimit = Metric(
        "mediatord_system_mailbox_bytes_limit", .gauge, "How much such events may hold that wait in the mailbox.")
    private var running = Metric("mediatord_feedback_running", .gauge, "Side effects that are at work.")
    private var pending = Metric(
        "mediatord_feedback_waiting", .gauge, "Side effects that wait for their time or their turn.")
    private var failing = Metric(
        "mediatord_feedback_failing", .gauge, "1 while its side effect does not work, so that the system is degraded.")
    private var missed = Metric(
        "mediatord_feedback_missed_ticks", .gauge, "Ticks of its schedule that came during the present run.")
    private var outcomes = Metric("mediatord_feedback_outcomes_total", .counter, "Outcomes of side effects.")
    private var skipped = Metric(
        "mediatord_feedback_skipped_total", .counter, "Side effects that were not begun, since one ran still.")
    private var retries = Metric("mediatord_feedback_retries_total", .counter, "Side effects that were made again.")
    private var durations = Metric(
        "mediatord_feedback_run_seconds", .histogram, "How long side effects took, with the pauses between attempts.")

    static func all(_ set: HostedSet) -> [Metric] {
        var all = SystemMetrics()
        for system in set.systems { all.add(system) }
        return [
            all.health, all.state, all.events, all.transitions, all.updates, all.unhandled, all.dropped, all.faults,
            all.failures, all.restarts,
            all.resets, all.paused, all.waiting, all.limit, all.bytes, all.bytesLimit, all.running, all.pending,
            all.failing, all.missed, all.outcomes, all.retries, all.skipped,
            all.durations,
        ]
    }

    private mutating func add(_ system: HostedSystem) {
        let design = system.design.now
        let definition = design.definition
        let labels = [Metric.Label("system", definition.name)]
        let present = system.health
        for health in Health.allCases {
            self.health.add(health == present ? 1.0 : 0.0, labels + [.init("health", health.rawValue)])
        }
        state.add(1.0, labels + [.init("state", system.presentState.record.name)])
        let snapshot = system.snapshot
        let counters = snapshot.counters
        events.add(counters.events, labels)
        transitions.add(counters.transitions, labels)
        updates.add(counters.updates, labels)
        unhandled.add(counters.unhandled, labels)
        dropped.add(counters.droppedByLimit + counters.refused, labels)
        faults.add(system.faults.count, labels)
        failures.add(system.failures, labels)
        let treatments = system.treatments
        restarts.add(treatments.restarts, labels)
        resets.add(treatments.resets, labels)
        paused.add(system.pauseState == nil ? 0.0 : 1.0, labels)
        waiting.add(Double(snapshot.waiting), labels)
        limit.add(Double(definition.mailbox.limit), labels)
        bytes.add(Double(system.loop.waitingBytes), labels)
        bytesLimit.add(Double(ConfigurationLimits.mailboxBytes), labels)
        let (runs, progress, failingNow) = (system.runs, system.progress, system.failingFeedbacks)
        for (feedback, figures) in zip(definition.feedbacks, design.figures) {
            let labels = labels + [.init("feedback", feedback.name), .init("effect", feedback.effect)]
            let present = runs.first { $0.feedback == feedback.name }
            running.add(Double(present?.running ?? 0), labels)
            pending.add(Double(present?.waiting ?? 0), labels)
            failing.add(failingNow.contains(feedback.name) ? 1.0 : 0.0, labels)
            if feedback.schedule.hasTicks { missed.add(Double(progress[feedback.name]?.missedTicks ?? 0), labels) }
            add(figures.present, labels)
        }
    }

    private mutating func add(_ counts: RunFigures.Counts, _ labels: [Metric.Label]) {
        for (outcome, count) in counts.outcomes.sorted(by: { $0.key < $1.key }) {
            outcomes.add(count, labels + [.init("outcome", outcome)])
        }
        if counts.retries > 0 { retries.add(counts.retries, labels) }
        if counts.skipped > 0 { skipped.add(counts.skipped, labels) }
        let ended = counts.ended.reduce(0, +)
        guard ended > 0 else { return }
        var sum: UInt64 = 0
        for (bound, count) in zip(RunFigures.classes.map(\.inSeconds) + [.infinity], counts.ended) {
            sum += count
            let text = bound.isInfinite ? "+Inf" : "\(bound)"
            durations.add(Double(sum), labels + [.init("le", text)], suffix: "_bucket")
        }
        durations.add(counts.total.inSeconds, labels, suffix: "_sum")
        durations.add(Double(ended), labels, suffix: "_count")
    }
}

/// The metrics of buses.
private enum BusMetrics {
    static func all(_ set: HostedSet) -> [Metric] {
        var values = Metric("mediatord_bus_values_total", .counter, "Values put on the bus.")
        var dropped = Metric("mediatord_bus_dropped_values_total", .counter, "Values dropped, since too many waited.")
        var waiting = Metric("mediatord_bus_waiting_values", .gauge, "Values that wait on the bus.")
        var readers = Metric("mediatord_bus_links", .gauge, "Links that read the bus.")
        var watchers = Metric("mediatord_bus_subscribers", .gauge, "Who watches the bus from outside.")
        var links = Array(repeating: 0, count: set.buses.count)
        for link in set.graph.links {
            if case .busToSystem(let bus, _, _) = link.form { links[bus] += 1 }
        }
        for (bus, links) in zip(set.buses, links) {
            let labels = [Metric.Label("bus", bus.definition.name)]
            let snapshot = bus.snapshot
            values.add(snapshot.sent, labels)
            dropped.add(snapshot.dropped, labels)
            waiting.add(Double(snapshot.waiting), labels)
            readers.add(Double(links), labels)
            // One subscription serves the links.
            watchers.add(Double(max(snapshot.subscribers - 1, 0)), labels)
        }
        return [values, dropped, waiting, readers, watchers]
    }
}

/// The metrics of links.
private enum LinkMetrics {
    static func all(_ set: HostedSet) -> [Metric] {
        var fired = Metric("mediatord_link_fired_total", .counter, "How often the link has fired.")
        var held = Metric(
            "mediatord_link_held_back_total", .counter,
            "How often it was held back, so that its loop goes no further than it may.")
        var open = Metric("mediatord_link_open", .gauge, "1 while the link is held back.")
        for link in set.links {
            let labels = [Metric.Label("link", link.definition.name)]
            fired.add(link.fired.count, labels)
            guard link.definition.loop != nil else { continue }
            let (why, count) = link.held
            held.add(count, labels)
            open.add(why == nil ? 0.0 : 1.0, labels)
        }
        return [fired, held, open]
    }
}

extension Duration {
    /// The duration in seconds.
    fileprivate var inSeconds: Double {
        Double(components.seconds) + Double(components.attoseconds) / 1e18
    }
}
