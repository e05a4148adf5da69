/// A stack from which the topmost elements can be taken as an array without being copied.
struct NodeStack<Element>: ~Copyable {
    private var storage: UnsafeMutableBufferPointer<Element>
    private(set) var count = 0

    /// An empty one with room for some elements.
    init(capacity: Int) {
        storage = .allocate(capacity: max(1, capacity))
    }

    deinit {
        storage[..<count].deinitialize()
        storage.deallocate()
    }

    /// Puts an element on top.
    mutating func push(_ element: consuming Element) {
        if count == storage.count {
            let larger = UnsafeMutableBufferPointer<Element>.allocate(capacity: 2 * count)
            _ = larger.moveInitialize(fromContentsOf: storage)
            storage.deallocate()
            storage = larger
        }
        storage.initializeElement(at: count, to: element)
        count += 1
    }

    /// The topmost element, of which there must be one.
    var top: Element {
        _read {
            precondition(count > 0)
            yield storage[count - 1]
        }
        _modify {
            precondition(count > 0)
            yield &storage[count - 1]
        }
    }

    /// An element, of which there must be one.
    subscript(index: Int) -> Element {
        precondition(index < count)
        return storage[index]
    }

    /// Removes and returns the topmost element; nil if the stack is empty.
    mutating func pop() -> Element? {
        guard count > 0 else { return nil }
        count -= 1
        return storage.moveElement(from: count)
    }

    /// Returns whether one of the elements is of a kind.
    func contains(where isOfKind: (Element) -> Bool) -> Bool {
        storage[..<count].contains(where: isOfKind)
    }

    /// Takes all elements from an index on, in the order in which they were put there.
    mutating func take(from start: Int) -> [Element] {
        precondition(start <= count)
        // An array without room is one that all threads share, to which nothing may be written, not even that it is empty.
        guard start < count else { return [] }
        // An array rather than raw memory, since raw memory looks up types at run time.
        var elements: [Element] = []
        elements.reserveCapacity(count - start)
        for index in start..<count { elements.append(storage.moveElement(from: index)) }
        count = start
        return elements
    }
}
