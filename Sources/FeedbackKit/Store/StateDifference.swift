/// Where two states differ, as lines of text: `counter: 1 → 2`.
///
/// It compares what reflection shows of them: properties by name, elements by index, the cases of enumerations by their
/// text. Two values that reflect alike count as equal. It is bounded: ``maximumDepth`` levels, ``maximumLines`` lines,
/// ``maximumText`` characters a value.
public enum StateDifference {
    /// How deep it looks; what differs below is shown as a whole.
    public static let maximumDepth = 16
    /// How many differences it shows.
    public static let maximumLines = 64
    /// How many characters of a value it shows.
    public static let maximumText = 200

    /// The differences, in the order of the properties; none if the values reflect alike.
    public static func lines(from old: Any, to new: Any) -> [String] {
        var lines: [String] = []
        compare(old, new, path: "", depth: 0, into: &lines)
        if lines.count > maximumLines {
            lines.removeSubrange(maximumLines...)
            lines.append("…")
        }
        return lines
    }

    private static func compare(_ old: Any, _ new: Any, path: String, depth: Int, into lines: inout [String]) {
        guard lines.count <= maximumLines else { return }
        let (before, after) = (Mirror(reflecting: old), Mirror(reflecting: new))
        let isWalkable =
            before.displayStyle == .struct || before.displayStyle == .tuple || before.displayStyle == .class
        if depth < maximumDepth, isWalkable, type(of: old) == type(of: new),
            before.children.count == after.children.count,
            !before.children.isEmpty
        {
            for (index, pair) in zip(before.children, after.children).enumerated() {
                let name = pair.0.label ?? "\(index)"
                compare(
                    pair.0.value, pair.1.value, path: path.isEmpty ? name : path + "." + name, depth: depth + 1,
                    into: &lines)
            }
            return
        }
        if depth < maximumDepth, before.displayStyle == .collection, after.displayStyle == .collection {
            compareElements(Array(before.children), Array(after.children), path: path, depth: depth, into: &lines)
            return
        }
        let (oldText, newText) = (String(reflecting: old), String(reflecting: new))
        guard oldText != newText else { return }
        lines.append("\(path.isEmpty ? "" : path + ": ")\(brief(oldText)) → \(brief(newText))")
    }

    private static func compareElements(
        _ old: [Mirror.Child], _ new: [Mirror.Child], path: String, depth: Int, into lines: inout [String]
    ) {
        for index in 0..<max(old.count, new.count) {
            guard lines.count <= maximumLines else { return }
            let place = "\(path)[\(index)]"
            if index >= old.count {
                lines.append("\(place): added \(brief(String(reflecting: new[index].value)))")
            } else if index >= new.count {
                lines.append("\(place): removed \(brief(String(reflecting: old[index].value)))")
            } else {
                compare(old[index].value, new[index].value, path: place, depth: depth + 1, into: &lines)
            }
        }
    }

    private static func brief(_ text: String) -> String {
        text.count <= maximumText ? text : text.prefix(maximumText) + "…"
    }
}
