import CommonExpression
import FeedbackKit
import MediatorConfiguration
import Synchronization

/// The bound for the memory that data of a host's systems and buses takes, and the present amount.
///
/// Data of up to 1 KiB counts as nothing (``SystemEvent/size(of:)``), so what most systems do costs no more than a look at a
/// number.
final class HostRoom: Sendable {
    private let mostOfOne: Atomic<Int>
    /// What all states hold, and all values of buses that are kept or on their way.
    let kept: SharedBytes
    /// What the events hold that wait in all mailboxes.
    let waiting: SharedBytes
    /// The bound for a mailbox.
    let mailbox: MailboxSize<SystemEvent>

    /// Room in which there is nothing.
    init(_ limits: MemoryLimits) {
        mostOfOne = Atomic(limits.value)
        kept = SharedBytes(limit: limits.states)
        let waiting = SharedBytes(limit: limits.mailboxes)
        self.waiting = waiting
        mailbox = MailboxSize(limit: ConfigurationLimits.mailboxBytes, shared: waiting) { $0.size }
    }

    /// Has other limits. What is there already stays.
    func change(to limits: MemoryLimits) {
        mostOfOne.store(limits.value, ordering: .relaxed)
        kept.limit = limits.states
        waiting.limit = limits.mailboxes
    }

    /// Why something must not hold so many bytes; nil: it may.
    ///
    /// - Parameter what: what it is, such as `the event 'Add'`.
    func excess(ofSize size: Int, _ what: @autoclosure () -> String) -> String? {
        guard size > 0 else { return nil }
        let most = mostOfOne.load(ordering: .relaxed)
        guard size > most else { return nil }
        return "\(what()) would hold \(ByteSize.text(of: size)) of data, more than the limit of "
            + "\(ByteSize.text(of: most)); the limit is 'value' of 'limits' in the configuration"
    }

    /// That there is no room for something that may be so large by itself.
    func lack(for what: String) -> String {
        "there is no room for \(what): all states and values of buses hold \(ByteSize.text(of: max(0, kept.count))), of "
            + "\(ByteSize.text(of: kept.limit)) that they may; the limit is 'states' of 'limits' in the configuration"
    }
}

/// The size of a system's state, counted in the room of its host until nothing of the system is left.
final class HeldState: Sendable {
    private let room: HostRoom
    private let size = Atomic<Int>(0)

    init(in room: HostRoom) {
        self.room = room
    }

    deinit {
        room.kept.add(-size.load(ordering: .relaxed))
    }

    /// The state holds so many bytes now, whether there is room or not. Called on the turn of its loop, or before there is one.
    func become(_ new: Int) {
        let old = size.exchange(new, ordering: .relaxed)
        if new != old { room.kept.add(new - old) }
    }

    /// The state is to hold as many bytes as another one. Called on the turn of its loop.
    ///
    /// - Parameter name: what the new state is called.
    /// - Returns: why it must not; nil: it does.
    func change(to state: SystemState, _ name: @autoclosure () -> String) -> String? {
        let (old, new) = (size.load(ordering: .relaxed), state.record.roughSize)
        guard old != 0 || new != 0 else { return nil }
        // What is near a limit is measured.
        if room.excess(ofSize: new, "") != nil,
            let excess = room.excess(ofSize: SystemEvent.size(of: state.data), "the state '\(name())'")
        {
            return excess
        }
        // What shrinks always may.
        if new <= old {
            room.kept.add(new - old)
        } else if !room.kept.take(new - old) {
            return room.lack(for: "the state '\(name())' with \(ByteSize.text(of: new))")
        }
        size.store(new, ordering: .relaxed)
        return nil
    }
}

/// A value of a bus with more data than a cause keeps, counted in the room of its host for as long as it is there.
final class LargeValue: Sendable {
    let value: Value
    /// How many bytes of it count.
    let size: Int
    private let room: HostRoom

    /// A value that is counted; nil: there is no room for it.
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

/// Sizes in a byte, rounded up by an eighth at most: 0 for what is not counted.
package enum SizeCode {
    /// The code of a size.
    package static func code(of size: Int) -> UInt8 {
        guard size >= 1024 else { return 0 }
        let width = Int.bitWidth - 1 - size.leadingZeroBitCount
        let shift = width - 3
        // From 8 to 16; 16 is 8 of the next width.
        let eighths = (size + (1 << shift) - 1) >> shift
        return UInt8(clamping: (width - 10) * 8 + eighths - 8 + 1)
    }

    /// The size of a code.
    package static func size(of code: UInt8) -> Int {
        guard code > 0 else { return 0 }
        let (width, eighths) = (Int(code - 1) / 8 + 10, Int(code - 1) % 8 + 8)
        return eighths << (width - 3)
    }
}
