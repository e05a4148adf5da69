/// Where two states differ, as lines of text: `counter: 1 → 2`.
///
/// It compares what reflection shows of them: properties and what cases carry by name, elements by index, dictionaries by
/// key. Values that reflect alike count as equal. It is bounded: ``maximumDepth`` levels, ``maximumLines`` lines,
/// ``maximumText`` characters a value. Where states differ only beyond that, one line says so.
public enum StateDifference {
    /// How deep it looks.
    public static let maximumDepth = ValueTree.Limit.depth
    /// How many differences it shows.
    public static let maximumLines = 64
    /// How many characters of a value it shows.
    public static let maximumText = 200

    /// The differences, in the order of the properties; none if the values reflect alike.
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

    /// The depth of a tree is bounded, so the recursion is.
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

    /// The same where one of them may be missing.
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

    /// Keys that are written alike share a place; the first one has it.
    private static func byLabel(_ children: [ValueTree.Child]) -> [String: ValueTree] {
        Dictionary(children.map { ($0.label, $0.tree) }) { first, _ in first }
    }

    private static func brief(_ text: String) -> String {
        text.count <= maximumText ? text : text.prefix(maximumText) + "…"
    }
}
