import CommonExpression
import FoundationEssentials
import Glibc
import MediatorControl
import MediatorHost

/// The metrics of the whole daemon: of its process, its configuration, and all that runs.
struct DaemonMetrics: Sendable {
    let reloader: Reloader
    /// The metrics that the process records through swift-metrics, if the daemon serves them.
    let recorded: RecordedMetrics?
    /// When the daemon was started.
    let started: Timestamp

    /// In Prometheus' text format. Told off the loops that must not wait.
    var text: String {
        get async { await Task.detached(priority: .management) { now.prometheusText }.value }
    }

    /// All of them. Told off the loops that must not wait.
    var all: [Metric] {
        get async { await Task.detached(priority: .management) { now }.value }
    }

    private var now: [Metric] {
        own + ProcessMetrics.metrics + reloader.host.snapshot.metrics + (recorded?.metrics ?? [])
    }

    private var own: [Metric] {
        var build = Metric("mediatord_build_info", .gauge, "1, with the version of the daemon.")
        build.add(1.0, [Metric.Label("version", Version.current)])
        var start = Metric("process_start_time_seconds", .gauge, "When the daemon was started, in Unix time.")
        start.add(Double(started.seconds))
        var generation = Metric(
            "mediatord_configuration_generation", .gauge, "How many configurations have run, the first one included.")
        generation.add(Double(reloader.host.generation))
        var reloads = Metric("mediatord_reloads_total", .counter, "Reloads and changes of links, by how they ended.")
        let counters = reloader.counters
        reloads.add(Double(counters.applied), [Metric.Label("result", "applied")])
        reloads.add(Double(counters.rejected), [Metric.Label("result", "rejected")])
        var ready = Metric("mediatord_ready", .gauge, "1 if the daemon has reported readiness to the service manager.")
        ready.add(reloader.isReady ? 1.0 : 0.0)
        return [build, start, generation, reloads, ready] + (reloader.store?.presence.metricsOfStore ?? [])
    }
}

/// The metrics of the process, by the names that Prometheus' client libraries use.
private enum ProcessMetrics {
    static var metrics: [Metric] {
        var metrics: [Metric] = []
        func add(_ name: String, _ kind: Metric.Kind, _ help: String, _ value: Double?) {
            guard let value else { return }
            var metric = Metric(name, kind, help)
            metric.add(value)
            metrics.append(metric)
        }
        var usage = rusage()
        if getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage) == 0 {
            let seconds =
                Double(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec)
                + Double(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6
            add("process_cpu_seconds_total", .counter, "Processor time, in seconds.", seconds)
        }
        let pages = fields(of: "/proc/self/statm")
        let pageSize = Double(sysconf(Int32(_SC_PAGESIZE)))
        add("process_virtual_memory_bytes", .gauge, "Virtual memory.", pages.first.map { $0 * pageSize })
        add("process_resident_memory_bytes", .gauge, "Resident memory.", pages.dropFirst().first.map { $0 * pageSize })
        let descriptors = try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count
        // One of them reads the directory.
        add("process_open_fds", .gauge, "Open file descriptors.", descriptors.map { Double(max($0 - 1, 0)) })
        var limit = rlimit()
        if getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 {
            add("process_max_fds", .gauge, "How many file descriptors there may be.", Double(limit.rlim_cur))
        }
        return metrics
    }

    private static func fields(of path: String) -> [Double] {
        guard let data = FileManager.default.contents(atPath: path) else { return [] }
        return String(decoding: data, as: UTF8.self).split(whereSeparator: \.isWhitespace).compactMap { Double($0) }
    }
}
