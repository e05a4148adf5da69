public import CommonExpression
package import FeedbackKit
import MediatorConfiguration
import Synchronization

// The watches of single systems and buses.
extension Host {
    /// Returns the present state of a system, then every new one, without a gap.
    ///
    /// A reader that falls behind by more than ``watchBuffer`` changes or ``watchBytes`` bytes misses the oldest ones.
    /// ``Change/dropped`` counts them. The sequence ends when the system stops, also for a restart or when another system of
    /// its name replaces it.
    public func watchSystem(_ name: String) throws(HostError) -> Changes<SystemState> {
        let system = try named(name)
        return watch { change, finish in
            system.loop.watch({ change($0, $0.changed, $0.size) }, finish: finish)
        } isReplayed: {
            $0
        }
    }

    /// Calls `see` with each state of a system, the present one first, in an activation of the system.
    package func onStates(
        of name: String, _ see: @escaping @Sendable (SystemState) -> Void
    ) throws(HostError) -> Subscription {
        try named(name).loop.watch(see)
    }

    /// Returns the values of a bus, beginning with the present value of a current-value bus.
    ///
    /// A reader that falls behind by more than ``watchBuffer`` values or ``watchBytes`` bytes misses the oldest ones.
    /// ``Change/dropped`` counts them. The sequence ends when the host stops, or when a reload removes the bus or changes its
    /// kind or type.
    public func watchBus(_ name: String) throws(HostError) -> Changes<Value> {
        let bus = try self.bus(name)
        let remembers = bus.definition.kind == .currentValue
        return watch { change, finish in
            bus.channel.watch({ change($0.value, $0.time, $0.large?.size ?? 0) }, finish: finish)
        } isReplayed: {
            $0 && remembers
        }
    }

    private func watch<Subject: Sendable>(
        _ subscribe: (@escaping @Sendable (Subject, Timestamp, Int) -> Void, @escaping @Sendable () -> Void) ->
            Subscription,
        isReplayed: @escaping @Sendable (Bool) -> Bool
    ) -> Changes<Subject> {
        let load = HeavyLoad<Change<Subject>>(limit: Self.watchBytes)
        let stream = Changes<Subject>.Stream(bufferingPolicy: .bufferingNewest(Self.watchBuffer)) { continuation in
            let count = Mutex<UInt64>(0)
            let subscription = subscribe(
                { subject, time, size in
                    let number = count.withLock { count in
                        count += 1
                        return count
                    }
                    let change = Change(
                        number: number, time: time, isReplayed: isReplayed(number == 1), subject: subject)
                    // A change that is dropped or displaced leaves a gap in the numbers, which the reader counts.
                    if case .dropped(let item) = continuation.yield(load.enter(change, ofSize: size).item) {
                        _ = load.leave(item)
                    }
                }, { continuation.finish() })
            continuation.onTermination = { _ in subscription.cancel() }
        }
        return Changes(stream: stream, load: load)
    }
}
