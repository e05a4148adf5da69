public import CommonExpression
import FeedbackKit
public import MediatorConfiguration
import Synchronization

/// A part of a host that can be watched.
public enum WatchedPart: Sendable {
    /// A system.
    case system(SystemDefinition)
    /// A bus.
    case bus(BusDefinition)
    /// A link, the type of its output, and the name of its event if it emits one. A link whose event depends on the state has
    /// neither.
    case link(LinkDefinition, type: ValueType?, event: String?)

    /// The name of the part.
    public var name: String {
        switch self {
        case .system(let definition): definition.name
        case .bus(let definition): definition.name
        case .link(let definition, _, _): definition.name
        }
    }

    /// The kind of the part.
    public var kind: Kind {
        switch self {
        case .system: .system
        case .bus: .bus
        case .link: .link
        }
    }

    /// A kind of part that can be watched.
    public enum Kind: String, Sendable, Hashable, CaseIterable {
        /// A system.
        case system
        /// A bus.
        case bus
        /// A link.
        case link
    }
}

/// A change of a watched part.
public enum WatchedChange: Sendable {
    /// The system is in a state.
    case state(SystemState)
    /// A value has come to the bus.
    case value(Value)
    /// The link has fired with a value, or with an event and its data.
    case fired(Value, event: String?)
    /// The part is new or has restarted.
    case began
    /// The part has been removed, or has ended with a fault.
    case ended
    /// The rate limit has left out a number of changes.
    case leftOut(Int)
}

/// A watch event: a change, with its part and time.
public struct WatchedHappening: Sendable {
    /// The part; `nil` if the event concerns no part.
    public let part: WatchedPart?
    /// The change.
    public let happening: WatchedChange
    /// The time of the change.
    public let time: Timestamp
    /// A Boolean value that indicates whether the change is older than the watch.
    public let isReplayed: Bool
    /// The number of events that the watcher missed just before this one, because it read too slowly.
    public fileprivate(set) var dropped = 0
}

/// The events of a watch of many parts, until the host stops. Only one task may read them, one at a time.
///
/// Filters run on the reader, so a slow filter never delays a publisher.
public final class Happenings: Sendable {
    /// An entry of the queue.
    enum Item: Sendable {
        /// An event that the filter and the rate limit may withhold.
        case filtered(Load.Item)
        /// An event that the watcher always receives.
        case certain(WatchedHappening)
        /// The end of a period of the rate limit.
        case periodIsOver
    }

    typealias Stream = AsyncStream<Item>
    /// The events that wait, each with its filter and the number of its bytes.
    typealias Load = HeavyLoad<(happening: WatchedHappening, filter: Host.WatchFilter, size: Int)>

    private let stream: Stream
    private let load: Load
    private let pace: (any WatchPace)?
    /// The number of events dropped since the last one was read.
    private let dropped: Counter
    private let meter: RateMeter?
    private let time: HostTime
    /// An event that was read, but that follows a report of events left out before it.
    private let kept = Mutex<WatchedHappening?>(nil)

    /// A counter of dropped events.
    final class Counter: Sendable {
        private let count = Atomic<Int>(0)

        func add(_ number: Int) { count.add(number, ordering: .relaxed) }

        func take() -> Int { count.exchange(0, ordering: .relaxed) }
    }

    init(
        _ stream: Stream, load: Load, dropped: Counter, meter: RateMeter?, pace: (any WatchPace)?, time: HostTime
    ) {
        self.stream = stream
        self.load = load
        self.pace = pace
        self.dropped = dropped
        self.meter = meter
        self.time = time
    }

    /// Returns the next event; `nil` at the end. Cancellation of the task ends the sequence.
    public func next() async -> WatchedHappening? {
        if let happening = kept.withLock({ $0.take() }) { return happening }
        for await item in stream {
            let leftOut = meter?.takeLeftOut() ?? 0
            var told = await happening(item)
            // The queue drops its oldest events, which came before this one.
            if told != nil || leftOut > 0 {
                let count = dropped.take()
                guard leftOut > 0 else {
                    told?.dropped = count
                    return told
                }
                kept.withLock { [told] in $0 = told }
                return WatchedHappening(
                    part: nil, happening: .leftOut(leftOut), time: time.now(), isReplayed: false, dropped: count)
            }
        }
        return nil
    }

    /// Returns the event of an entry, if the watcher receives it.
    private func happening(_ item: Item) async -> WatchedHappening? {
        switch item {
        case .periodIsOver: return nil
        case .certain(let happening): return happening
        case .filtered(let item):
            // While the reader waits for its turn, its event can give way to newer ones, like the events in the queue.
            await pace?.begin(ofSize: item.size)
            guard let (happening, filter, _) = load.leave(item) else {
                pace?.end(isTold: false)
                return nil
            }
            let isTold =
                filter(happening.happening) && (happening.isReplayed || meter?.isWithin() ?? true)
            pace?.end(isTold: isTold)
            return isTold ? happening : nil
        }
    }
}

/// The maximum number of events within a period, which begins with its first event.
public struct WatchRate: Sendable, Hashable {
    /// The maximum number of events.
    public let count: Int
    /// The length of the period.
    public let period: Duration

    /// Creates a rate.
    public init(count: Int, period: Duration) {
        self.count = count
        self.period = period
    }
}
