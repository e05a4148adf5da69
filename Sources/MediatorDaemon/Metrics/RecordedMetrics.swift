package import MediatorHost
package import Metrics
import Synchronization

/// Metrics that the process records through swift-metrics, in the terms of Prometheus. Kinds of systems, side effects
/// and libraries record them without knowing who reads them.
///
/// | recorded by | is |
/// |---|---|
/// | `Counter`, `FloatingPointCounter` | a counter, `NAME_total` |
/// | `Gauge`, `Meter`, `Recorder` that does not aggregate | a gauge, `NAME` |
/// | `Recorder` | a histogram, `NAME`, with ``valueBounds`` |
/// | `Timer` | a histogram in seconds, `NAME_seconds`, with ``secondBounds`` |
///
/// A character that Prometheus does not accept in a name becomes `_`. A name in the daemon's own namespace gets the
/// prefix `recorded_`. Two series with the same name and labels become one. There are at most ``limit`` series. A
/// further series, or a name that is already another kind of metric, is counted as refused and not recorded.
package final class RecordedMetrics: MetricsFactory {
    /// Up to how many seconds each class of a timer counts.
    static let secondBounds: [Double] = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60]
    /// Up to which value each class of a recorder counts.
    static let valueBounds: [Double] = [0.01, 0.1, 1, 10, 100, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9]
    /// The default limit on series.
    package static let usualLimit = 1_000
    /// The limit on labels of a series. Further labels are left out.
    static let mostLabels = 16
    /// The limit on characters of a name or a label's value.
    static let longestText = 200

    private struct Family {
        let kind: Metric.Kind
        /// The name and labels that swift-metrics has for it.
        let label: String
        var series: [Metric.LabelKey: Series] = [:]
    }

    private struct Series {
        let recorder: any Recorded
        /// The number of users of a series.
        var holders = 1
    }

    private struct State {
        var families: [String: Family] = [:]
        var count = 0
        var refused: UInt64 = 0
    }

    private let state = Mutex(State())
    private let limit: Int

    /// Records nothing yet.
    ///
    /// - Parameter limit: how many series there may be.
    package init(limit: Int = usualLimit) {
        self.limit = limit
    }

    /// All of it, by name.
    package var metrics: [Metric] {
        let (families, refused) = state.withLock { ($0.families, $0.refused) }
        var none = Metric(
            "mediatord_recorded_series_refused_total", .counter,
            "Metrics recorded in the process that are not exported, because there are too many or another metric has the name."
        )
        none.add(refused)
        return [none]
            + families.sorted { $0.key < $1.key }.map { name, family in
                var metric = Metric(name, family.kind, "Recorded in the process as \(family.label).")
                for (key, series) in family.series.sorted(by: { $0.key < $1.key }) {
                    series.recorder.add(to: &metric, key.labels)
                }
                return metric
            }
    }

    /// Returns the recorder of a series, and makes it at first use.
    private func recorder<R: Recorded>(
        _ label: String, _ dimensions: [(String, String)], _ kind: Metric.Kind, suffix: String = "", _ make: () -> R
    ) -> R? {
        let name = MetricName.of(label, suffix: suffix)
        let key = Metric.LabelKey(labels: MetricName.labels(dimensions))
        return state.withLock { state in
            var family = state.families[name] ?? Family(kind: kind, label: MetricName.cut(label))
            if family.kind == kind, let series = family.series[key] {
                guard let recorder = series.recorder as? R else {
                    state.refused += 1
                    return nil
                }
                state.families[name]?.series[key]?.holders += 1
                return recorder
            }
            guard family.kind == kind, state.count < limit else {
                state.refused += 1
                return nil
            }
            let recorder = make()
            family.series[key] = Series(recorder: recorder)
            state.families[name] = family
            state.count += 1
            return recorder
        }
    }

    /// Releases a series. It ends with its last user.
    private func release(_ handler: AnyObject) {
        state.withLock { state in
            for (name, family) in state.families {
                guard let (key, series) = family.series.first(where: { $0.value.recorder === handler }) else {
                    continue
                }
                if series.holders > 1 {
                    state.families[name]?.series[key]?.holders -= 1
                } else {
                    state.families[name]?.series[key] = nil
                    state.count -= 1
                    if family.series.count == 1 { state.families[name] = nil }
                }
                return
            }
        }
    }

    package func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
        recorder(label, dimensions, .counter, suffix: "_total", RecordedCounter.init) ?? RecordedCounter()
    }

    package func makeFloatingPointCounter(
        label: String, dimensions: [(String, String)]
    ) -> any FloatingPointCounterHandler {
        recorder(label, dimensions, .counter, suffix: "_total", RecordedCounter.init) ?? RecordedCounter()
    }

    package func makeMeter(label: String, dimensions: [(String, String)]) -> any MeterHandler {
        recorder(label, dimensions, .gauge, RecordedGauge.init) ?? RecordedGauge()
    }

    package func makeRecorder(
        label: String, dimensions: [(String, String)], aggregate: Bool
    ) -> any RecorderHandler {
        guard aggregate else { return recorder(label, dimensions, .gauge, RecordedGauge.init) ?? RecordedGauge() }
        let make = { RecordedHistogram(Self.valueBounds) }
        return recorder(label, dimensions, .histogram, make) ?? make()
    }

    package func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
        let make = { RecordedHistogram(Self.secondBounds) }
        return recorder(label, dimensions, .histogram, suffix: "_seconds", make) ?? make()
    }

    package func destroyCounter(_ handler: any CounterHandler) { release(handler) }
    package func destroyFloatingPointCounter(_ handler: any FloatingPointCounterHandler) { release(handler) }
    package func destroyMeter(_ handler: any MeterHandler) { release(handler) }
    package func destroyRecorder(_ handler: any RecorderHandler) { release(handler) }
    package func destroyTimer(_ handler: any TimerHandler) { release(handler) }
}

/// Names as Prometheus accepts them. Source: Prometheus, "Data model".
private enum MetricName {
    /// The beginnings of the names of the daemon's own metrics.
    private static let own = ["mediatord_", "process_"]

    static func cut(_ text: String) -> String { String(text.prefix(RecordedMetrics.longestText)) }

    /// A name with letters, digits and `_`, and a suffix that it has not already.
    static func of(_ label: String, suffix: String) -> String {
        var name = plain(label)
        if own.contains(where: name.hasPrefix) { name = "recorded_" + name }
        // Which names samples of a histogram have.
        if suffix.isEmpty, ["_bucket", "_sum", "_count"].contains(where: name.hasSuffix) { name += "_value" }
        return name.hasSuffix(suffix) ? name : name + suffix
    }

    /// Labels with names that are valid and differ.
    static func labels(_ dimensions: [(String, String)]) -> [Metric.Label] {
        var labels: [Metric.Label] = []
        for (name, value) in dimensions.prefix(RecordedMetrics.mostLabels) {
            var name = plain(name)
            // Names that begin so, and the bounds of histograms, are Prometheus' own.
            while name.hasPrefix("__") { name.removeFirst() }
            if name == "le" || name == "quantile" { name += "_" }
            while labels.contains(where: { $0.name == name }) { name += "_" }
            labels.append(Metric.Label(name, cut(value)))
        }
        return labels.sorted { $0.name < $1.name }
    }

    private static func plain(_ text: String) -> String {
        var plain = ""
        for scalar in cut(text).unicodeScalars {
            let isPlain = scalar.isASCII && (scalar.properties.isAlphabetic || ("0"..."9").contains(scalar))
            plain.unicodeScalars.append(isPlain ? scalar : "_")
        }
        return plain.first.map { !("0"..."9").contains($0) } ?? false ? plain : "_" + plain
    }
}

extension Metric {
    /// The key of a series.
    fileprivate struct LabelKey: Hashable, Comparable {
        let labels: [Label]

        static func < (left: LabelKey, right: LabelKey) -> Bool {
            left.labels.lexicographicallyPrecedes(right.labels) { ($0.name, $0.value) < ($1.name, $1.value) }
        }
    }
}

/// The recorder of a series.
private protocol Recorded: AnyObject, Sendable {
    /// Adds its present values.
    func add(to metric: inout Metric, _ labels: [Metric.Label])
}

/// Only grows, unless whoever records resets it.
private final class RecordedCounter: Recorded, CounterHandler, FloatingPointCounterHandler {
    private let value = Mutex(0.0)

    func increment(by amount: Int64) { increment(by: Double(amount)) }

    func increment(by amount: Double) {
        guard amount > 0, amount.isFinite else { return }
        value.withLock { $0 += amount }
    }

    func reset() { value.withLock { $0 = 0 } }

    func add(to metric: inout Metric, _ labels: [Metric.Label]) { metric.add(value.withLock { $0 }, labels) }
}

/// Goes up and down.
private final class RecordedGauge: Recorded, MeterHandler, RecorderHandler {
    private let value = Mutex(0.0)

    func set(_ new: Int64) { set(Double(new)) }
    func set(_ new: Double) { value.withLock { $0 = new } }
    func record(_ new: Int64) { set(Double(new)) }
    func record(_ new: Double) { set(new) }
    func increment(by amount: Double) { value.withLock { $0 += amount } }
    func decrement(by amount: Double) { value.withLock { $0 -= amount } }

    func add(to metric: inout Metric, _ labels: [Metric.Label]) { metric.add(value.withLock { $0 }, labels) }
}

/// Counts values by how large they are.
private final class RecordedHistogram: Recorded, RecorderHandler, TimerHandler {
    private struct Counts {
        var counts: [UInt64]
        var sum = 0.0
    }

    private let bounds: [Double]
    private let counts: Mutex<Counts>

    /// - Parameter bounds: up to which value each class counts, ascending; one more counts the others.
    init(_ bounds: [Double]) {
        self.bounds = bounds
        counts = Mutex(Counts(counts: Array(repeating: 0, count: bounds.count + 1)))
    }

    func record(_ value: Int64) { record(Double(value)) }

    func record(_ value: Double) {
        guard value.isFinite else { return }
        let index = bounds.firstIndex { value <= $0 } ?? bounds.count
        counts.withLock { counts in
            counts.counts[index] += 1
            counts.sum += value
        }
    }

    func recordNanoseconds(_ duration: Int64) { record(Double(duration) / 1e9) }

    func add(to metric: inout Metric, _ labels: [Metric.Label]) {
        let present = counts.withLock { $0 }
        var sum: UInt64 = 0
        for (bound, count) in zip(bounds + [.infinity], present.counts) {
            sum += count
            let text = bound.isInfinite ? "+Inf" : "\(bound)"
            metric.add(Double(sum), labels + [.init("le", text)], suffix: "_bucket")
        }
        metric.add(present.sum, labels, suffix: "_sum")
        metric.add(Double(sum), labels, suffix: "_count")
    }
}
