import HeapModule

/// A queue of elements by their times on the continuous clock.
package struct AlarmQueue<Element> {
    private struct Entry: Comparable {
        let time: ContinuousClock.Instant
        /// The order of entries of the same time.
        let number: UInt64
        let element: Element

        static func < (left: Entry, right: Entry) -> Bool {
            (left.time, left.number) < (right.time, right.number)
        }

        static func == (left: Entry, right: Entry) -> Bool { left.number == right.number }
    }

    private var heap = Heap<Entry>()
    private var added: UInt64 = 0

    package init() {}

    /// The number of elements.
    package var count: Int { heap.count }

    /// The earliest time.
    package var next: ContinuousClock.Instant? { heap.min?.time }

    /// Adds an element.
    ///
    /// - Complexity: O(log *n*) for *n* elements.
    package mutating func add(_ element: Element, at time: ContinuousClock.Instant) {
        added += 1
        heap.insert(Entry(time: time, number: added, element: element))
    }

    /// Removes the elements whose time has come, and returns them in the order of their times; those of the same time in
    /// the order in which they were added.
    ///
    /// - Complexity: O(*k* log *n*) for *k* of *n* elements.
    package mutating func take(until now: ContinuousClock.Instant) -> [Element] {
        var due: [Element] = []
        while let first = heap.min, first.time <= now {
            heap.removeMin()
            due.append(first.element)
        }
        return due
    }

    /// Removes the elements for which a predicate is false.
    ///
    /// - Complexity: O(*n*) for *n* elements.
    package mutating func keep(where holds: (Element) -> Bool) {
        heap = Heap(heap.unordered.filter { holds($0.element) })
    }
}
