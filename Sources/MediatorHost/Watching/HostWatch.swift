import CommonExpression
import FeedbackKit
import MediatorConfiguration
import Synchronization

extension Host {
    /// A filter that indicates whether the watcher receives a change of a part. It runs on the reader.
    public typealias WatchFilter = @Sendable (WatchedChange) -> Bool

    /// All parts of the host, as a watch can choose them.
    public var watchedParts: [WatchedPart] {
        let set = current
        return set.graph.systems.indices.map { .system(set.systems[$0].described(set.graph.systems[$0])) }
            + set.graph.buses.map { .bus($0) } + set.graph.links.map { set.watched($0) }
    }

    /// Watches the chosen parts: first their present states and values, then every change.
    ///
    /// The watch includes parts of a new configuration soon after it is in force, and parts that restart. Its buffer holds
    /// ``watchBuffer`` events beyond one for each part, and ``watchBytes`` bytes of large data. A watcher that falls further
    /// behind misses events. It receives their number, which includes events that its filters would reject. The sequence ends
    /// when the host stops.
    ///
    /// - Parameters:
    ///   - rate: The maximum rate of states, values and firings, without the present ones at the beginning; `nil` for no limit.
    ///   - pace: The pace that limits the cost of the watch; `nil` for no limit.
    ///   - choose: A function that returns the filter of a part, or `nil` if the part is not watched.
    public func watch(
        rate: WatchRate? = nil, pace: (any WatchPace)? = nil,
        choose: @escaping @Sendable (WatchedPart) -> WatchFilter?
    ) -> Happenings {
        let set = current
        let first = set.systems.count + set.buses.count + set.links.count
        let dropped = Happenings.Counter()
        let (stream, continuation) = Happenings.Stream.makeStream(
            bufferingPolicy: .bufferingNewest(first + Self.watchBuffer))
        let meter = rate.map { rate in
            RateMeter(rate, time: time) { continuation.yield(.periodIsOver) }
        }
        let load = Happenings.Load(limit: Self.watchBytes)
        let watching = Watching(self, choose: choose, continuation, dropped, load)
        continuation.onTermination = { _ in
            watching.end()
            meter?.end()
        }
        watching.begin()
        return Happenings(stream, load: load, dropped: dropped, meter: meter, pace: pace, time: time)
    }
}

extension HostedSet {
    /// Returns a link as a part to watch, with the type of its output.
    func watched(_ link: LinkDefinition) -> WatchedPart {
        switch link.form {
        case .systemToBus(let bus, _, _): return .link(link, type: graph.buses[bus].valueType, event: nil)
        case .busToSystem(_, _, let program):
            let event = graph.systems[link.system].events[program.event]
            return .link(link, type: .structure(event.type), event: event.name)
        case .systemToSystem(let target, _, let programs):
            let events = Set(programs.values.map(\.event))
            guard events.count == 1, let index = events.first else { return .link(link, type: nil, event: nil) }
            let event = graph.systems[target].events[index]
            return .link(link, type: .structure(event.type), event: event.name)
        }
    }
}

/// News of the host as a whole.
enum HostNews: Sendable {
    /// The host runs another configuration.
    case exchanged
    /// The host has stopped.
    case stopped
}
