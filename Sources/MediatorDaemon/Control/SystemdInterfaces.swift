import Logging
import MediatorControl
import MediatorHost
import StrictJSON
import Systemd
import Varlink

/// The daemon's implementation of systemd's interfaces for services and for metrics.
struct SystemdInterfaces {
    /// The prefix of the names that Prometheus gets.
    static let prefix = "io.mediatord."
    /// The labels that name the subject of a metric; the first one that it has counts.
    private static let objectLabels = ["system", "bus", "link"]

    let reloader: Reloader
    let metrics: DaemonMetrics
    let levels: LogLevelSwitch?
    /// Says who did what.
    let acts: ActLog

    /// Both interfaces.
    func implementations() throws -> [InterfaceImplementation] {
        [
            try ManagedServiceInterface.implementation(
                reload: { peer in
                    let who = await acts.metadata(of: peer, "reload")
                    let reply = try await reloader.reload(
                        dropsTransient: false, who.merging(["cause": "client"]) { $1 })
                    guard reply.applied else {
                        throw ControlError.notAccepted(name: "configuration", obstacle: .other, reason: reply.summary)
                    }
                },
                setLogLevel: { level, peer in
                    guard let levels else {
                        throw ServiceError.methodNotImplemented(
                            method: "\(ManagedServiceInterface.name).SetLogLevel")
                    }
                    acts.set(levels, to: Self.level(level), by: peer)
                }),
            try MetricsInterface.implementation { Self.reported(await metrics.all) },
        ]
    }

    /// The level of the log for one of syslog(3), 0 to 7.
    private static func level(_ priority: Int) -> Logger.Level {
        switch priority {
        case ...2: .critical
        case 3: .error
        case 4: .warning
        case 5: .notice
        case 6: .info
        default: .debug
        }
    }

    /// The metrics as systemd's interface defines them: the parts of a histogram become families of their own, and
    /// numbers that JSON cannot hold are left out.
    static func reported(_ metrics: [Metric]) -> (
        families: [MetricsInterface.Family], metrics: [MetricsInterface.Metric]
    ) {
        var families: [MetricsInterface.Family] = []
        var values: [MetricsInterface.Metric] = []
        for metric in metrics where !metric.samples.isEmpty {
            var suffixes: [String] = []
            for sample in metric.samples where sample.value.isFinite {
                if !suffixes.contains(sample.suffix) { suffixes.append(sample.suffix) }
                let about = objectLabels.lazy.compactMap { name in
                    sample.labels.first { $0.name == name }
                }.first
                let rest = sample.labels.filter { $0.name != about?.name }
                let fields = JSONObject(
                    rest.map { ($0.name, JSONValue.string($0.value)) }, uniquingKeysWith: { first, _ in first })
                values.append(
                    MetricsInterface.Metric(
                        name: prefix + metric.name + sample.suffix,
                        value: Int64(exactly: sample.value).map { .int($0) } ?? .double(sample.value),
                        object: about?.value, fields: fields.isEmpty ? nil : fields))
            }
            for suffix in suffixes {
                families.append(
                    MetricsInterface.Family(
                        name: prefix + metric.name + suffix, description: metric.help,
                        type: metric.kind == .gauge ? .gauge : .counter))
            }
        }
        return (families, values)
    }
}
