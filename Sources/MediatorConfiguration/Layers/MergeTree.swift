/// A mapping into which drop-ins are merged. A change takes a time that depends on the change alone.
///
/// A mapping inside it becomes a tree of its own when the first change reaches that mapping. A tree has one owner.
final class MergeTree {
    /// An entry of the mapping.
    private struct Entry {
        var key: Scalar
        var value: Node
        /// The changed mapping; ``value`` then keeps the original.
        var tree: MergeTree?
    }

    /// The entries in their order; nil in the places of removed ones.
    private var entries: [Entry?]
    private var positions: [String: Int]
    private let span: Span

    /// A tree of the entries of a mapping, whose keys differ.
    init(_ entries: [Node.Entry], at span: Span) {
        self.span = span
        self.entries = entries.map { Entry(key: $0.key, value: $0.value) }
        positions = Dictionary(
            entries.enumerated().map { ($0.element.key.text, $0.offset) }, uniquingKeysWith: { _, last in last })
    }

    /// The mapping with all changes.
    var node: Node { Node(content: .mapping(nodes), span: span) }

    private var nodes: [Node.Entry] {
        entries.lazy.compactMap(\.self).map { Node.Entry(key: $0.key, value: $0.tree?.node ?? $0.value) }
    }

    /// The number of entries.
    var count: Int { positions.count }

    /// The number of places for entries. A new entry takes the next place.
    var places: Int { entries.count }

    /// The keys in the first places.
    func keys(inFirst places: Int) -> [String] { entries.prefix(places).compactMap { $0?.key.text } }

    /// Returns whether there is an entry of a key.
    func contains(_ key: String) -> Bool { positions[key] != nil }

    /// Returns the value of a key as a node, with all changes. Returns nil if the key is unknown.
    func value(of key: String) -> Node? {
        positions[key].flatMap { entries[$0] }.map { $0.tree?.node ?? $0.value }
    }

    /// Returns the value of a key as a tree if the value is a mapping, otherwise nil.
    ///
    /// - Parameter expand: Returns a mapping in place of another value; nil: the value stays.
    func tree(of key: String, expand: (Node) -> Node? = { _ in nil }) -> MergeTree? {
        guard let position = positions[key], let entry = entries[position] else { return nil }
        if let tree = entry.tree { return tree }
        let value = expand(entry.value) ?? entry.value
        guard case .mapping(let inner) = value.content else { return nil }
        let tree = MergeTree(inner, at: value.span)
        entries[position]?.tree = tree
        return tree
    }

    /// Adds an entry of a new key.
    func append(_ entry: Node.Entry) {
        positions[entry.key.text] = entries.count
        entries.append(Entry(key: entry.key, value: entry.value))
    }

    /// Puts an entry in the place of that of its key.
    func replace(_ entry: Node.Entry) {
        guard let position = positions[entry.key.text] else { return append(entry) }
        entries[position] = Entry(key: entry.key, value: entry.value)
    }

    /// Removes the entry of a key.
    func remove(_ key: String) {
        guard let position = positions.removeValue(forKey: key) else { return }
        entries[position] = nil
    }
}
