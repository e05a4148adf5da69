public import Synchronization

/// A stack for items that arrive while the loop's lock is held. Any number of threads push items without a lock. The
/// holder of the lock empties the stack.
///
/// Without it, more sending threads than processors would wait for the lock in the kernel. Such a wait costs a thousand
/// times as much as the work under the lock.
///
/// Source: R. K. Treiber, "Systems Programming: Coping with Parallelism", IBM Research Report RJ 5118, 1986. Items are
/// never popped one by one, so the ABA problem does not occur.
@usableFromInline
struct Inbox<Content: Sendable>: ~Copyable, Sendable {
    /// An item of the stack. It keeps the item below alive.
    @usableFromInline
    final class Letter: Sendable {
        @usableFromInline let content: Content
        /// The address of the item below, or `open`. It is set before other threads can see the item.
        @usableFromInline let below = Atomic<UInt>(0)

        @inlinable
        init(_ content: Content) {
            self.content = content
        }
    }

    /// The value of `top` for an empty stack. No item has this address.
    @inlinable static var open: UInt { 0 }
    /// The value of `top` for a closed stack, which is empty and accepts no items. No item has this address.
    @inlinable static var closed: UInt { 1 }

    /// The address of the latest item, which the stack owns, or `open` or `closed`.
    @usableFromInline let top = Atomic<UInt>(1)

    @inlinable
    init() {}

    @inlinable
    deinit {
        _ = unpack(top.load(ordering: .acquiring))
    }

    /// A Boolean value that indicates whether the stack accepts items.
    @inlinable var isOpen: Bool { top.load(ordering: .relaxed) != Self.closed }

    /// A Boolean value that indicates whether the stack has items. All threads see this access and ``push(_:)`` in one
    /// order.
    @inlinable var hasLetters: Bool { top.load(ordering: .sequentiallyConsistent) > Self.closed }

    /// Adds an item. Returns `false` if the stack is closed.
    @inlinable
    func push(_ content: Content) -> Bool {
        let letter = Letter(content)
        let reference = Unmanaged.passRetained(letter)
        let address = UInt(bitPattern: reference.toOpaque())
        var seen = top.load(ordering: .relaxed)
        while seen != Self.closed {
            letter.below.store(seen, ordering: .relaxed)
            let (exchanged, original) = top.compareExchange(
                expected: seen, desired: address, ordering: .sequentiallyConsistent)
            if exchanged { return true }
            seen = original
        }
        reference.release()
        return false
    }

    /// Opens the stack. Only the holder of the loop's lock may call this function and those below.
    @inlinable
    func open() {
        _ = top.compareExchange(expected: Self.closed, desired: Self.open, ordering: .sequentiallyConsistent)
    }

    /// Removes and returns all items, the earliest first.
    @inlinable
    func takeAll() -> [Content] {
        // A stack with items is open. It stays open, because the caller holds the lock.
        hasLetters ? unpack(top.exchange(Self.open, ordering: .acquiringAndReleasing)) : []
    }

    /// Closes the stack, then removes and returns its items, the earliest first.
    @inlinable
    func close() -> [Content] {
        unpack(top.exchange(Self.closed, ordering: .sequentiallyConsistent))
    }

    @inlinable
    func unpack(_ top: UInt) -> [Content] {
        var contents: [Content] = []
        var address = top
        while let pointer = UnsafeRawPointer(bitPattern: address), address > Self.closed {
            // The stack has owned the item since the push. Its ownership ends here.
            let letter = Unmanaged<Letter>.fromOpaque(pointer).takeRetainedValue()
            contents.append(letter.content)
            address = letter.below.load(ordering: .relaxed)
        }
        contents.reverse()
        return contents
    }
}
