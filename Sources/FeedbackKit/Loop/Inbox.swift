public import Synchronization

/// Takes in what comes while the lock is held: a stack that any number of threads push onto without a lock, and that
/// whoever holds the loop's lock empties. (R. K. Treiber, "Systems Programming: Coping with Parallelism", IBM Research
/// Report RJ 5118, 1986. Nothing is ever popped singly, so that the ABA problem does not arise.)
///
/// Without it, once more threads send than there are processors, each would wait for the lock in the kernel, which costs
/// a thousand times what is done under the lock.
@usableFromInline
struct Inbox<Content: Sendable>: ~Copyable, Sendable {
    /// One thing on the stack; it keeps the one below alive.
    @usableFromInline
    final class Letter: Sendable {
        @usableFromInline let content: Content
        /// The address of the letter below, or `open`. Set before the letter can be seen by others.
        @usableFromInline let below = Atomic<UInt>(0)

        @inlinable
        init(_ content: Content) {
            self.content = content
        }
    }

    /// What `top` is when nothing is there: no letter has such an address.
    @inlinable static var open: UInt { 0 }
    /// The same, and nothing is to be put there.
    @inlinable static var closed: UInt { 1 }

    /// The address of the latest letter, which the stack owns, or one of the two above.
    @usableFromInline let top = Atomic<UInt>(1)

    @inlinable
    init() {}

    @inlinable
    deinit {
        _ = unpack(top.load(ordering: .acquiring))
    }

    /// Whether something may be put there.
    @inlinable var isOpen: Bool { top.load(ordering: .relaxed) != Self.closed }

    /// Whether something is there. In one order with ``push(_:)``, for all threads.
    @inlinable var hasLetters: Bool { top.load(ordering: .sequentiallyConsistent) > Self.closed }

    /// Puts something there; `false`: it is closed.
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

    /// Opens it; only who holds the loop's lock, as with all that follows.
    @inlinable
    func open() {
        _ = top.compareExchange(expected: Self.closed, desired: Self.open, ordering: .sequentiallyConsistent)
    }

    /// Takes what is there, the earliest first.
    @inlinable
    func takeAll() -> [Content] {
        // It is open, since something is there, and stays so, since the lock is held.
        hasLetters ? unpack(top.exchange(Self.open, ordering: .acquiringAndReleasing)) : []
    }

    /// Closes it and takes what is there.
    @inlinable
    func close() -> [Content] {
        unpack(top.exchange(Self.closed, ordering: .sequentiallyConsistent))
    }

    @inlinable
    func unpack(_ top: UInt) -> [Content] {
        var contents: [Content] = []
        var address = top
        while let pointer = UnsafeRawPointer(bitPattern: address), address > Self.closed {
            // The stack owned it since it was pushed, and gives it up here.
            let letter = Unmanaged<Letter>.fromOpaque(pointer).takeRetainedValue()
            contents.append(letter.content)
            address = letter.below.load(ordering: .relaxed)
        }
        contents.reverse()
        return contents
    }
}
