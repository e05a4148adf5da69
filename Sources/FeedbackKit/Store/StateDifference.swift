/// The differences between two states, as lines of text: `counter: 1 → 2`.
///
/// It compares the values by reflection: properties and associated values by name, elements by index, dictionaries by
/// key. Values with equal reflections count as equal. The comparison is bounded: ``maximumDepth`` levels,
/// ``maximumLines`` lines, ``maximumText`` characters per value. If states differ only beyond these bounds, one line
/// reports it.
public enum StateDifference {
    /// The maximum number of levels that are compared.
    public static let maximumDepth = ValueTree.Limit.depth
    /// The maximum number of differences in the result.
    public static let maximumLines = 64
    /// The maximum number of characters of one value.
    public static let maximumText = 200

    /// Returns the differences in the order of the properties, or an empty array if the reflections are equal.
    public static func lines(from old: Any, to new: Any) -> [String] {
        var lines: [String] = []
        let before = ValueTree(old)
        compare(before, ValueTree(new), path: "", into: &lines)
        if lines.isEmpty, ValueTree.mayDifferBeyond(before, old, new) { lines.append(ValueTree.cutNote) }
        if lines.count > maximumLines {
            lines.removeSubrange(maximumLines...)
            lines.append("…")
        }
        return lines
    }

    /// The recursion is bounded, because the depth of a tree is.
    private static func compare(_ old: ValueTree, _ new: ValueTree, path: String, into lines: inout [String]) {
        guard lines.count <= maximumLines, old != new else { return }
        let isSame = old.shape == new.shape && old.head == new.head
        switch old.shape {
        case .fields where isSame && old.children.map(\.label) == new.children.map(\.label):
            for (index, pair) in zip(old.children, new.children).enumerated() {
                compare(
                    pair.0.tree, pair.1.tree, path: place(path, pair.0.label, index, of: old.children.count),
                    into: &lines)
            }
        case .list where isSame:
            for index in 0..<max(old.children.count, new.children.count) {
                compare(
                    index < old.children.count ? old.children[index].tree : nil,
                    index < new.children.count ? new.children[index].tree : nil, path: "\(path)[\(index)]", into: &lines
                )
            }
        case .map where isSame:
            let (before, after) = (byLabel(old.children), byLabel(new.children))
            for key in Set(before.keys).union(after.keys).sorted() {
                compare(before[key], after[key], path: "\(path)[\(key)]", into: &lines)
            }
        case .bag where isSame:
            let (before, after) = (Set(old.children.map(\.tree.line)), Set(new.children.map(\.tree.line)))
            let name = path.isEmpty ? "" : path + ": "
            for line in before.subtracting(after).sorted() { lines.append("\(name)removed \(brief(line))") }
            for line in after.subtracting(before).sorted() { lines.append("\(name)added \(brief(line))") }
        default:
            lines.append("\(path.isEmpty ? "" : path + ": ")\(brief(old.line)) → \(brief(new.line))")
        }
    }

    /// Compares two trees, either of which may be missing.
    private static func compare(_ old: ValueTree?, _ new: ValueTree?, path: String, into lines: inout [String]) {
        switch (old, new) {
        case (nil, nil): return
        case (let old?, let new?): compare(old, new, path: path, into: &lines)
        case (let old?, nil): lines.append("\(path): removed \(brief(old.line))")
        case (nil, let new?): lines.append("\(path): added \(brief(new.line))")
        }
    }

    private static func place(_ path: String, _ label: String, _ index: Int, of count: Int) -> String {
        if label.isEmpty, count == 1 { return path }
        let name = label.isEmpty ? "\(index)" : label
        return path.isEmpty ? name : path + "." + name
    }

    /// Returns the children by label. Of children with the same label, the first one counts.
    private static func byLabel(_ children: [ValueTree.Child]) -> [String: ValueTree] {
        Dictionary(children.map { ($0.label, $0.tree) }) { first, _ in first }
    }

    private static func brief(_ text: String) -> String {
        text.count <= maximumText ? text : text.prefix(maximumText) + "…"
    }
}
