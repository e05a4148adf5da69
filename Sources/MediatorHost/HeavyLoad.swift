import Synchronization

/// A bound for the bytes of the elements that wait for a watcher: the oldest give way to new ones.
///
/// Elements with little data are bounded by their number alone, and pass as they are.
final class HeavyLoad<Element: Sendable>: Sendable {
    /// An element that waits, until it is read or has given way.
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

        /// The number of its bytes; 0: too few to be counted.
        var size: Int { if case .heavy(let slot) = self { slot.size } else { 0 } }
    }

    private struct Load {
        var slots: [Slot] = []
        var bytes = 0
    }

    /// The number of bytes that may wait. The newest waits in any case.
    private let limit: Int
    private let load = Mutex(Load())

    /// - Parameter limit: how many bytes may wait.
    init(limit: Int) {
        self.limit = limit
    }

    /// Makes an entry for the queue. Returns it, and the number of those that have given way to it.
    ///
    /// - Parameter size: how many bytes it holds; 0: too few to be counted.
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

    /// Takes the element out of an entry that has left the queue; nil: it has given way, and has been counted.
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
