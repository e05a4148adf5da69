import Durability
import MediatorHost

extension StorePresence {
    /// The metrics of the store, if it is open.
    var metricsOfStore: [Metric] {
        guard phase == .open else { return [] }
        let waits = metrics.pendingSince.map { Double(max(0, StoreTime.now().boottime - $0)) / 1e9 } ?? 0
        let plain: [(String, Metric.Kind, String, Double)] = [
            ("bytes", .gauge, "The size of the store on the disk.", Double(metrics.bytes)),
            ("states", .gauge, "States of systems and values of buses in the store.", Double(ledger.rows.count)),
            ("commits_total", .counter, "Commits of the store.", Double(metrics.commits)),
            ("errors_total", .counter, "Failed commits, checkpoints and copies of the store.", Double(metrics.errors)),
            ("refused_states", .gauge, "Newest states that the store has refused.", Double(refused)),
            ("pending_changes", .gauge, "Changes that wait for the disk.", Double(metrics.pending)),
            ("pending_seconds", .gauge, "How long the oldest change has waited for the disk.", waits),
        ]
        return plain.map { name, kind, help, value in
            var metric = Metric("mediatord_store_\(name)", kind, help)
            metric.add(value)
            return metric
        } + [durations]
    }

    private var durations: Metric {
        var metric = Metric("mediatord_store_commit_seconds", .histogram, "How long commits took, with the sync.")
        var sum: UInt64 = 0
        let bounds = CommitDurations.bounds.map { "\(Double($0) / 1e9)" } + ["+Inf"]
        for (bound, count) in zip(bounds, metrics.durations.counts) {
            sum += count
            metric.add(Double(sum), [Metric.Label("le", bound)], suffix: "_bucket")
        }
        metric.add(Double(metrics.durations.total) / 1e9, suffix: "_sum")
        metric.add(Double(sum), suffix: "_count")
        return metric
    }
}
