import MediatorDaemon
import MediatorHost
import Metrics
import Testing

@Suite struct `What is recorded through swift-metrics` {
    private let recorded = RecordedMetrics(limit: 20)

    private func text() -> [String] {
        recorded.metrics.prometheusText.split(separator: "\n").map(String.init).filter { !$0.hasPrefix("#") }
    }

    @Test func `is told by Prometheus' names and kinds`() {
        Counter(label: "mails.sent", dimensions: [("to", "a\"b\\c\nd")], factory: recorded).increment(by: 3)
        FloatingPointCounter(label: "litres_total", factory: recorded).increment(by: 1.5)
        Gauge(label: "water level", factory: recorded).record(4.25)
        let meter = Meter(label: "7seas", factory: recorded)
        meter.set(5)
        meter.decrement(by: 2)
        #expect(
            text() == [
                "mediatord_recorded_series_refused_total 0", "_7seas 3", "litres_total 1.5",
                #"mails_sent_total{to="a\"b\\c\nd"} 3"#, "water_level 4.25",
            ])
        let kinds = recorded.metrics.map { "\($0.name) \($0.kind.rawValue)" }
        #expect(
            kinds.dropFirst() == [
                "_7seas gauge", "litres_total counter", "mails_sent_total counter", "water_level gauge",
            ])
        #expect(recorded.metrics[3].help == "Recorded in the process as mails.sent.")
    }

    @Test func `is a histogram where durations and sizes are recorded`() {
        let timer = Timer(label: "query", dimensions: [("le", "x")], factory: recorded)
        timer.recordMilliseconds(3)
        timer.recordSeconds(7)
        timer.recordSeconds(3_600)
        let lines = text()
        #expect(lines.contains("query_seconds_bucket{le_=\"x\",le=\"0.001\"} 0"))
        #expect(lines.contains("query_seconds_bucket{le_=\"x\",le=\"0.005\"} 1"))
        #expect(lines.contains("query_seconds_bucket{le_=\"x\",le=\"10.0\"} 2"))
        #expect(lines.contains("query_seconds_bucket{le_=\"x\",le=\"+Inf\"} 3"))
        #expect(lines.contains("query_seconds_count{le_=\"x\"} 3"))
        #expect(lines.contains("query_seconds_sum{le_=\"x\"} 3607.003"))
        let recorder = Recorder(label: "size", factory: recorded)
        for value: Double in [0.5, 5, 5e9, .nan, .infinity] { recorder.record(value) }
        #expect(text().contains("size_bucket{le=\"1.0\"} 1"))
        #expect(text().contains("size_count 3"))
    }

    @Test func `a metric that is made again continues, and ends when nobody has it`() {
        let first = Counter(label: "beginnings", factory: recorded)
        first.increment()
        let second = Counter(label: "beginnings", factory: recorded)
        second.increment()
        #expect(text().contains("beginnings_total 2"))
        first.destroy()
        #expect(text().contains("beginnings_total 2"))
        second.destroy()
        #expect(!text().contains { $0.hasPrefix("beginnings") })
    }

    @Test func `never falls by what is no count`() {
        let counter = FloatingPointCounter(label: "steps", factory: recorded)
        counter.increment(by: 2)
        for amount: Double in [-1, .nan, -.infinity, .infinity] { counter.increment(by: amount) }
        #expect(text().contains("steps_total 2"))
        counter.reset()
        #expect(text().contains("steps_total 0"))
    }

    @Test func `is bounded, and what is too much or of another kind is counted`() {
        for number in 0..<25 {
            Counter(label: "many", dimensions: [("number", "\(number)")], factory: recorded).increment()
        }
        #expect(text().filter { $0.hasPrefix("many_total") }.count == 20)
        #expect(text().first == "mediatord_recorded_series_refused_total 5")
        let other = RecordedMetrics()
        Recorder(label: "same", factory: other).record(1)
        Gauge(label: "same", factory: other).record(1)
        Timer(label: "same", factory: other).recordSeconds(1)
        #expect(other.metrics.map(\.name) == ["mediatord_recorded_series_refused_total", "same", "same_seconds"])
        #expect(other.metrics[0].samples.first?.value == 1)
        // Names and labels are cut, and never those of the daemon's own metrics.
        let long = String(repeating: "x", count: 1_000)
        Counter(
            label: "mediatord_system_events", dimensions: (0..<30).map { ("l", "\($0)\(long)") }, factory: other
        ).increment()
        let metric = other.metrics.first { $0.kind == .counter && $0.name.hasPrefix("recorded_") }
        #expect(metric?.name == "recorded_mediatord_system_events_total")
        #expect(metric?.samples.first?.labels.count == 16)
        #expect(metric?.samples.first?.labels.allSatisfy { $0.value.count == 200 } == true)
        #expect(Set(metric?.samples.first?.labels.map(\.name) ?? []).count == 16)
        // Nor the samples of a histogram.
        Gauge(label: "same_count", factory: other).record(1)
        #expect(other.metrics.contains { $0.name == "same_count_value" })
    }

    @Test func `counts all that many threads record`() async {
        let recorded = recorded
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    for _ in 0..<1_000 { Counter(label: "all", factory: recorded).increment() }
                }
            }
        }
        #expect(text().contains("all_total 8000"))
    }
}
