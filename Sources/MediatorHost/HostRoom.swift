import CommonExpression
import FeedbackKit
import MediatorConfiguration
import Synchronization

/// The limits for the memory of the data of a host's systems and buses, and the present amounts.
///
/// Data of up to 1 KiB does not count (``SystemEvent/size(of:)``). So the checks cost most systems only the comparison of one
/// number.
final class HostRoom: Sendable {
    private let mostOfOne: Atomic<Int>
    /// The bytes of all states, and of all values of buses, kept or in transit.
    let kept: SharedBytes
    /// The bytes of the events that wait in all mailboxes.
    let waiting: SharedBytes
    /// The limit for a mailbox.
    let mailbox: MailboxSize<SystemEvent>

    /// Creates an empty room with the given limits.
    init(_ limits: MemoryLimits) {
        mostOfOne = Atomic(limits.value)
        kept = SharedBytes(limit: limits.states)
        let waiting = SharedBytes(limit: limits.mailboxes)
        self.waiting = waiting
        mailbox = MailboxSize(limit: ConfigurationLimits.mailboxBytes, shared: waiting) { $0.size }
    }

    /// Changes the limits. Present data stays, even beyond the new limits.
    func change(to limits: MemoryLimits) {
        mostOfOne.store(limits.value, ordering: .relaxed)
        kept.limit = limits.states
        waiting.limit = limits.mailboxes
    }

    /// Returns the reason why one state, event or value must not hold so many bytes, or `nil` if it may.
    ///
    /// - Parameter what: The description of the data, such as `the event 'Add'`.
    func excess(ofSize size: Int, _ what: @autoclosure () -> String) -> String? {
        guard size > 0 else { return nil }
        let most = mostOfOne.load(ordering: .relaxed)
        guard size > most else { return nil }
        return "\(what()) would hold \(ByteSize.text(of: size)) of data, more than the limit of "
            + "\(ByteSize.text(of: most)); the limit is 'value' of 'limits' in the configuration"
    }

    /// Returns the message about data that is within its own limit, but finds no room beside all other data.
    func lack(for what: String) -> String {
        "there is no room for \(what): all states and values of buses hold \(ByteSize.text(of: max(0, kept.count))), of "
            + "\(ByteSize.text(of: kept.limit)) that they may; the limit is 'states' of 'limits' in the configuration"
    }
}

/// The size of a system's state, counted in the room of its host while anything of the system exists.
final class HeldState: Sendable {
    private let room: HostRoom
    private let size = Atomic<Int>(0)

    init(in room: HostRoom) {
        self.room = room
    }

    deinit {
        room.kept.add(-size.load(ordering: .relaxed))
    }

    /// Notes the size of the state, even without room for it. Called in an activation of the loop, or before its first.
    func become(_ new: Int) {
        let old = size.exchange(new, ordering: .relaxed)
        if new != old { room.kept.add(new - old) }
    }

    /// Changes the size to that of a new state, if there is room. Called in an activation of the loop.
    ///
    /// - Parameter name: The name of the new state.
    /// - Returns: The reason why there is no room, or `nil` if the size has changed.
    func change(to state: SystemState, _ name: @autoclosure () -> String) -> String? {
        let (old, new) = (size.load(ordering: .relaxed), state.record.roughSize)
        guard old != 0 || new != 0 else { return nil }
        // The rough size may be too large by an eighth, so a size beyond the limit is measured exactly.
        if room.excess(ofSize: new, "") != nil,
            let excess = room.excess(ofSize: SystemEvent.size(of: state.data), "the state '\(name())'")
        {
            return excess
        }
        // A state that is not larger always has room.
        if new <= old {
            room.kept.add(new - old)
        } else if !room.kept.take(new - old) {
            return room.lack(for: "the state '\(name())' with \(ByteSize.text(of: new))")
        }
        size.store(new, ordering: .relaxed)
        return nil
    }
}

/// A value of a bus with more than 1 KiB of data, counted in the room of its host while the value exists.
final class LargeValue: Sendable {
    let value: Value
    /// The number of bytes that count.
    let size: Int
    private let room: HostRoom

    /// Counts a value, or returns `nil` if there is no room for it.
    ///
    /// - Parameter isForced: A Boolean value that indicates whether the value needs no free room.
    init?(_ value: Value, ofSize size: Int, in room: HostRoom, isForced: Bool = false) {
        if isForced { room.kept.add(size) } else if !room.kept.take(size) { return nil }
        self.value = value
        self.room = room
        self.size = size
    }

    deinit {
        room.kept.add(-size)
    }
}

/// A code of one byte for a size, which it rounds up by an eighth at most. The code of a size that does not count is 0.
package enum SizeCode {
    /// Returns the code of a size.
    package static func code(of size: Int) -> UInt8 {
        guard size >= 1024 else { return 0 }
        let width = Int.bitWidth - 1 - size.leadingZeroBitCount
        let shift = width - 3
        // The result is 8 to 16, and 16 has the same code as 8 of the next width.
        let eighths = (size + (1 << shift) - 1) >> shift
        return UInt8(clamping: (width - 10) * 8 + eighths - 8 + 1)
    }

    /// Returns the size for a code.
    package static func size(of code: UInt8) -> Int {
        guard code > 0 else { return 0 }
        let (width, eighths) = (Int(code - 1) / 8 + 10, Int(code - 1) % 8 + 8)
        return eighths << (width - 3)
    }
}
