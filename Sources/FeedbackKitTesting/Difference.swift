import FeedbackKit

/// The limits of printed values.
public enum DifferenceLimit {
    /// The maximum number of lines of a difference. A last line reports the number of omitted lines.
    public static let lines = 100
    /// The maximum number of characters of a value in one line; the rest is cut off.
    public static let characters = 200
    /// The maximum length of a value in one line; a longer value gets a line for each part.
    static let inline = 80
}

/// Returns the difference of two values, with a line for each removed (`-`) and each added (`+`) part. The result is
/// empty if the values do not differ.
///
///       Player(
///     -     score: 3
///     +     score: 4
///           … 2 unchanged
///       )
///
/// The values are read by reflection: structs, enums with associated values, optionals, arrays, dictionaries, sets,
/// tuples and objects, nested. Equal parts are only counted. Arrays are compared after their common prefix and before
/// their common suffix, dictionaries by key. Dictionaries and sets are sorted by their text, so the result is always
/// the same. Values without fields that have a description are compared by it.
///
/// ``DifferenceLimit`` bounds the output. A value is read 24 levels deep and 20 000 parts wide, and the rest is not
/// compared. If nothing else differs and `==` does not report equality, one line says so. An object that contains
/// itself is read once.
///
/// - Complexity: O(*n* log *n*) for *n* parts; the logarithm is for sorting dictionaries and sets.
public func difference<Value>(from old: Value, to new: Value) -> String {
    var writer = DifferenceWriter()
    let before = ValueTree(old)
    writer.compare(before, ValueTree(new), label: "", indent: 0)
    let text = writer.text
    return text.isEmpty && ValueTree.mayDifferBeyond(before, old, new) ? "  " + ValueTree.cutNote : text
}

/// Returns a value in one line of at most ``DifferenceLimit/characters`` characters.
package func describe<Value>(_ value: Value) -> String {
    shorten(ValueTree(value).line)
}

/// Returns whether two values are equal: by `==` if their type has it, otherwise by reflection.
package func areEqual<Left, Right>(_ left: Left, _ right: Right) -> Bool {
    func compare<T: Equatable>(_ left: T, _ right: Any) -> Bool { (right as? T).map { $0 == left } ?? false }
    if let left = left as? any Equatable { return compare(left, right) }
    return type(of: left as Any) == type(of: right as Any) && ValueTree(left) == ValueTree(right)
}

/// Shortens a long text but keeps the part at `focus`.
private func shorten(_ text: String, focus: Int = 0) -> String {
    let limit = DifferenceLimit.characters
    guard text.utf8.count > limit, text.count > limit else { return text }
    let start = max(0, min(focus - limit / 4, text.count - limit))
    let cut = text.dropFirst(start).prefix(limit)
    return (start > 0 ? "…" : "") + cut + (start + limit < text.count ? "…" : "")
}

/// The writer of the difference of two trees.
private struct DifferenceWriter {
    /// The lines within the limit.
    private var lines: [String] = []
    private var leftOut = 0

    var text: String {
        (lines + (leftOut > 0 ? ["  … \(leftOut) more lines"] : [])).joined(separator: "\n")
    }

    private mutating func add(_ mark: String, _ indent: Int, _ text: String) {
        guard lines.count < DifferenceLimit.lines else {
            leftOut += 1
            return
        }
        lines.append(mark + " " + String(repeating: "    ", count: indent) + text)
    }

    private func prefix(_ label: String) -> String { label.isEmpty ? "" : label + ": " }

    /// Compares two trees at the same position.
    mutating func compare(_ old: ValueTree, _ new: ValueTree, label: String, indent: Int) {
        if old == new { return }
        guard old.shape == new.shape, old.shape != .leaf, old.head == new.head, !old.children.isEmpty,
            !new.children.isEmpty
        else {
            let focus = zip(old.line, new.line).prefix { $0 == $1 }.count
            write(old, "-", label, indent, focus)
            guard old.shape == .leaf, old.shape == new.shape, old.head == new.head else {
                return write(new, "+", label, indent, focus)
            }
            return add(
                "+", indent, prefix(label) + shorten(new.head) + " (looks the same, but == says that it differs)")
        }
        add(" ", indent, prefix(label) + old.brackets.open)
        switch old.shape {
        case .leaf: break
        case .fields: comparePairs(old.children, new.children, indent + 1) { $0.label }
        case .list: compareLists(old.children, new.children, indent + 1)
        case .map: compareSorted(old.children, new.children, indent + 1) { $0.label }
        case .bag: compareSorted(old.children, new.children, indent + 1) { $0.tree.line }
        }
        add(" ", indent, old.brackets.close)
    }

    /// Writes a tree that has no counterpart.
    private mutating func write(_ tree: ValueTree, _ mark: String, _ label: String, _ indent: Int, _ focus: Int = 0) {
        let line = tree.line
        if tree.children.isEmpty || line.count <= DifferenceLimit.inline {
            return add(mark, indent, prefix(label) + shorten(line, focus: focus))
        }
        add(mark, indent, prefix(label) + tree.brackets.open)
        for child in tree.children { write(child.tree, mark, child.label, indent + 1) }
        add(mark, indent, tree.brackets.close)
    }

    private mutating func noteUnchanged(_ count: inout Int, _ indent: Int) {
        if count > 0 { add(" ", indent, "… \(count) unchanged") }
        count = 0
    }

    /// Compares children by position, from `first` on.
    private mutating func comparePairs(
        _ old: [ValueTree.Child], _ new: [ValueTree.Child], _ indent: Int, unchangedBefore: Int = 0,
        unchangedAfter: Int = 0, label: (ValueTree.Child) -> String
    ) {
        var unchanged = unchangedBefore
        for index in 0..<max(old.count, new.count) {
            let (was, now) = (index < old.count ? old[index] : nil, index < new.count ? new[index] : nil)
            if let was, let now {
                if was == now {
                    unchanged += 1
                    continue
                }
                noteUnchanged(&unchanged, indent)
                if was.label == now.label {
                    compare(was.tree, now.tree, label: label(was), indent: indent)
                    continue
                }
            }
            noteUnchanged(&unchanged, indent)
            if let was { write(was.tree, "-", label(was), indent) }
            if let now { write(now.tree, "+", label(now), indent) }
        }
        unchanged += unchangedAfter
        noteUnchanged(&unchanged, indent)
    }

    /// Compares lists by position, after the common prefix and before the common suffix.
    private mutating func compareLists(_ old: [ValueTree.Child], _ new: [ValueTree.Child], _ indent: Int) {
        let before = zip(old, new).prefix { $0 == $1 }.count
        let rest = min(old.count, new.count) - before
        let after = zip(old.reversed(), new.reversed()).prefix(rest).prefix { $0 == $1 }.count
        func middle(_ children: [ValueTree.Child]) -> [ValueTree.Child] {
            children[before..<children.count - after].enumerated().map { index, child in
                ValueTree.Child(label: "[\(before + index)]", tree: child.tree)
            }
        }
        comparePairs(middle(old), middle(new), indent, unchangedBefore: before, unchangedAfter: after) { $0.label }
    }

    /// Compares children by a key by which both lists are sorted.
    private mutating func compareSorted(
        _ old: [ValueTree.Child], _ new: [ValueTree.Child], _ indent: Int, key: (ValueTree.Child) -> String
    ) {
        var (i, j, unchanged) = (0, 0, 0)
        while i < old.count || j < new.count {
            let (was, now) = (i < old.count ? old[i] : nil, j < new.count ? new[j] : nil)
            if let was, let now, key(was) == key(now) {
                i += 1
                j += 1
                if was == now {
                    unchanged += 1
                } else {
                    noteUnchanged(&unchanged, indent)
                    compare(was.tree, now.tree, label: was.label, indent: indent)
                }
                continue
            }
            noteUnchanged(&unchanged, indent)
            if let was, now.map({ key(was) < key($0) }) ?? true {
                i += 1
                write(was.tree, "-", was.label, indent)
            } else if let now {
                j += 1
                write(now.tree, "+", now.label, indent)
            }
        }
        noteUnchanged(&unchanged, indent)
    }
}
