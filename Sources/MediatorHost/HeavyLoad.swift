import Synchronization

/// A limit for the bytes of the elements that wait for a watcher. Beyond the limit, new elements displace the oldest ones.
///
/// Elements with little data do not count. Only the length of the watcher's queue limits them.
final class HeavyLoad<Element: Sendable>: Sendable {
    /// A waiting element, until it is read or displaced.
    final class Slot: Sendable {
        fileprivate let size: Int
        private let content: Mutex<Element?>

        fileprivate init(_ element: Element, size: Int) {
            self.size = size
            content = Mutex(element)
        }

        fileprivate func take() -> Element? { content.withLock { $0.take() } }
    }

    /// An entry of a watcher's queue.
    enum Item: Sendable {
        case light(Element)
        case heavy(Slot)

        /// The number of bytes of the element, or 0 if they are too few to count.
        var size: Int { if case .heavy(let slot) = self { slot.size } else { 0 } }
    }

    private struct Load {
        var slots: [Slot] = []
        var bytes = 0
    }

    /// The maximum number of waiting bytes. The newest element waits in any case.
    private let limit: Int
    private let load = Mutex(Load())

    /// - Parameter limit: The maximum number of waiting bytes.
    init(limit: Int) {
        self.limit = limit
    }

    /// Makes an entry for the queue. Returns the entry, and the number of elements that it displaced.
    ///
    /// - Parameter size: The number of bytes of the element, or 0 if they are too few to count.
    func enter(_ element: Element, ofSize size: Int) -> (item: Item, shed: Int) {
        guard size > 0 else { return (.light(element), 0) }
        let slot = Slot(element, size: size)
        let shed = load.withLock { load -> [Slot] in
            load.bytes += size
            load.slots.append(slot)
            var count = 0
            while load.bytes > limit, count < load.slots.count - 1 {
                load.bytes -= load.slots[count].size
                count += 1
            }
            defer { load.slots.removeFirst(count) }
            return Array(load.slots.prefix(count))
        }
        return (.heavy(slot), shed.count { $0.take() != nil })
    }

    /// Returns the element of an entry that has left the queue. Returns `nil` if the element was displaced, because
    /// ``enter(_:ofSize:)`` has counted it already.
    func leave(_ item: Item) -> Element? {
        switch item {
        case .light(let element): return element
        case .heavy(let slot):
            load.withLock { load in
                guard let index = load.slots.firstIndex(where: { $0 === slot }) else { return }
                load.slots.remove(at: index)
                load.bytes -= slot.size
            }
            return slot.take()
        }
    }
}
