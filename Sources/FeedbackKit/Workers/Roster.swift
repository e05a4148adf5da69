/// The idle and the searching workers of a pool, as a plain value in one word.
///
/// No wake-up is lost, because of two orders. A sender first adds work and then reads the roster. A worker first enters the
/// roster as idle and then searches for work once more. All threads see these accesses in one order, so at least one of the
/// two sees the other. While a worker searches, no other one is woken. The last worker that ends its search wakes another
/// one if work is left.
///
/// `RosterTests` tries every order of the steps of workers and senders.
package struct Roster: Sendable, Hashable {
    /// The limit on the workers of a pool.
    package static let limit = 48

    /// The idle workers, one bit each, and above them the number of searching workers.
    package private(set) var word: UInt64

    private static let oneSearch: UInt64 = 1 << 48
    private static let idleBits: UInt64 = oneSearch - 1

    /// A roster with this number of idle workers, and no search.
    package init(idle count: Int) {
        precondition((0...Self.limit).contains(count), "a pool has at most \(Self.limit) workers, not \(count)")
        word = Self.oneSearch >> UInt64(Self.limit - count) - 1
    }

    package init(word: UInt64) { self.word = word }

    /// The idle workers, one bit each.
    package var idle: UInt64 { word & Self.idleBits }

    /// The number of searching workers.
    package var searches: UInt64 { word >> 48 }

    /// Enters a worker that has found no work. The worker must then search once more, and either ``reclaim(_:)`` or wait.
    ///
    /// - Parameter wasSearching: A Boolean value that indicates whether the worker is counted among the searching ones.
    package mutating func park(_ index: Int, wasSearching: Bool) {
        word |= 1 << UInt64(index)
        if wasSearching { word -= Self.oneSearch }
    }

    /// Turns an idle worker that has seen work into a searching one. Returns `false` if another thread is about to wake it: then
    /// the worker must wait for that call.
    package mutating func reclaim(_ index: Int) -> Bool {
        guard word & (1 << UInt64(index)) != 0 else { return false }
        word = word & ~(1 << UInt64(index)) + Self.oneSearch
        return true
    }

    /// Chooses the worker to wake for added work, and turns it into a searching one. Returns `nil` if a worker searches
    /// already, or if none of `these` is idle.
    package mutating func wake(_ these: UInt64) -> Int? {
        guard searches == 0, idle & these != 0 else { return nil }
        let index = (idle & these).trailingZeroBitCount
        word = word & ~(1 << UInt64(index)) + Self.oneSearch
        return index
    }

    /// Ends the search of a worker that has found work. Returns `true` if no worker searches now: then another one must be
    /// woken if work is left.
    package mutating func endSearch() -> Bool {
        word -= Self.oneSearch
        return searches == 0
    }
}
