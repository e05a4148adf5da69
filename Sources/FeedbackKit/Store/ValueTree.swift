/// A value as a tree of types, names and texts, read by reflection: what is compared and printed when values differ.
///
/// Deterministic: dictionaries and sets are sorted by the text of their keys and elements. Finite: cycles through
/// classes, depth and size are cut off, and the cut is visible as `…`.
package struct ValueTree: Equatable {
    /// The kind of brackets that hold the children together.
    package enum Shape {
        /// No children; the head is the text.
        case leaf
        /// `Head(label: child, …)`, in the order of declaration.
        case fields
        /// `[child, …]`
        case list
        /// `[key: child, …]`, sorted by key.
        case map
        /// `Set([child, …])`, sorted.
        case bag
    }

    /// A child and its label: a field's name or a key's text; empty if it has no name.
    package struct Child: Equatable {
        package var label: String
        package var tree: ValueTree

        package init(label: String, tree: ValueTree) {
            self.label = label
            self.tree = tree
        }
    }

    /// Limits on reading a value.
    package enum Limit {
        /// The maximum number of levels.
        package static let depth = 24
        /// The maximum number of nodes of a value, all levels together.
        package static let nodes = 20_000
    }

    package var shape: Shape
    package var head: String
    package var children: [Child] = []
    /// A Boolean value that indicates whether the limits left out a part of the value. It is not known for parts of a
    /// tree.
    package private(set) var isCut = false
    /// The value itself, if it has no fields and its text may be the same as that of another value.
    private var identity: AnyHashable?

    /// The replacement for a part that was left out.
    private static var ellipsis: ValueTree { ValueTree(shape: .leaf, head: "…") }

    /// The note about two values that may differ beyond the limits.
    package static var cutNote: String {
        "… the same as far as it is compared: \(Limit.depth) levels deep, \(Limit.nodes) parts wide"
    }

    /// Returns whether two values may differ beyond the limits: something was left out, and `==` does not report them
    /// as equal.
    package static func mayDifferBeyond<Value>(_ tree: ValueTree, _ old: Value, _ new: Value) -> Bool {
        func isEqual<T: Equatable>(_ old: T) -> Bool { (new as? T).map { $0 == old } ?? false }
        guard tree.isCut else { return false }
        return (old as? any Equatable).map { !isEqual($0) } ?? true
    }

    private init(shape: Shape, head: String, children: [Child] = []) {
        self.shape = shape
        self.head = head
        self.children = children
    }

    /// Creates a value that is compared by its text, and by `==` if it is hashable.
    private init(_ value: Any, text: String) {
        self.init(shape: .leaf, head: text)
        identity = (value as? any Hashable).map { AnyHashable($0) }
    }

    /// Reads a value.
    ///
    /// - Complexity: O(size of the value, at most ``Limit/nodes``), and sorting its dictionaries and sets.
    package init(_ value: Any) {
        var reader = Reader()
        self = reader.read(value, depth: 0)
        isCut = reader.isCut
    }

    private struct Reader {
        var left = Limit.nodes
        var isCut = false
        /// The objects on the path from the root.
        var path: Set<ObjectIdentifier> = []

        /// Records that a part is left out.
        mutating func cut() -> ValueTree {
            isCut = true
            return .ellipsis
        }

        mutating func read(_ value: Any, depth: Int) -> ValueTree {
            guard left > 0, depth < Limit.depth else { return cut() }
            left -= 1
            if type(of: value) == AnyHashable.self, let any = value as? AnyHashable {
                return read(any.base, depth: depth + 1)
            }
            if let text = Self.plainText(value) { return ValueTree(shape: .leaf, head: text) }
            if value is Duration || Self.isFoundations(value) {
                return ValueTree(value, text: String(describing: value))
            }
            let mirror = Mirror(reflecting: value)
            let name = String(describing: type(of: value))
            switch mirror.displayStyle {
            case .optional:
                guard let wrapped = mirror.children.first?.value else { return ValueTree(shape: .leaf, head: "nil") }
                return read(wrapped, depth: depth)
            case .collection:
                return ValueTree(shape: .list, head: "", children: readAll(mirror.children, depth) { _ in "" })
            case .set:
                let children = readAll(mirror.children, depth) { _ in "" }
                return ValueTree(shape: .bag, head: "Set", children: children.sorted { $0.tree.line < $1.tree.line })
            case .dictionary:
                return readDictionary(mirror, depth)
            case .enum:
                return readEnum(value, mirror, name, depth)
            case .tuple:
                return ValueTree(shape: .fields, head: "", children: readFields(mirror, depth))
            case .class, .foreignReference:
                return readObject(value, mirror, name, depth)
            default:
                let children = readFields(mirror, depth)
                if children.isEmpty { return ValueTree(value, text: Self.text(value, name)) }
                return ValueTree(shape: .fields, head: name, children: children)
            }
        }

        /// Returns the text of a value that is clearer by its text than by its fields, or `nil`.
        static func plainText(_ value: Any) -> String? {
            switch value {
            case let text as String: return text.debugDescription
            case let text as Substring: return text.debugDescription
            case let character as Character: return character.debugDescription
            case let type as any Any.Type: return String(describing: type) + ".self"
            default: return nil
            }
        }

        /// Returns whether the type belongs to Foundation; fields of such types are private details.
        static func isFoundations(_ value: Any) -> Bool {
            let module = String(reflecting: type(of: value)).prefix { $0 != "." }
            return module == "Foundation" || module == "FoundationEssentials"
        }

        /// Returns the text of a value without fields.
        static func text(_ value: Any, _ name: String) -> String {
            let describesItself = value is any CustomStringConvertible || value is any CustomDebugStringConvertible
            if describesItself { return String(describing: value) }
            let style = Mirror(reflecting: value).displayStyle
            return style == .struct || style == .class ? name + "()" : String(describing: value)
        }

        mutating func readAll(
            _ children: Mirror.Children, _ depth: Int, label: (String?) -> String
        ) -> [Child] {
            var read: [Child] = []
            // Skip the storage that the compiler adds to an actor.
            for child in children where child.label != "$defaultActor" {
                guard left > 0 else {
                    read.append(Child(label: "", tree: cut()))
                    break
                }
                read.append(Child(label: label(child.label), tree: self.read(child.value, depth: depth + 1)))
            }
            return read
        }

        /// Returns the fields, those of the superclasses first. Unnamed fields of tuples have no name here either.
        mutating func readFields(_ mirror: Mirror, _ depth: Int) -> [Child] {
            var fields: [Child] = []
            if depth < Limit.depth, let parent = mirror.superclassMirror { fields = readFields(parent, depth + 1) }
            return fields + readAll(mirror.children, depth) { $0.map { $0.hasPrefix(".") ? "" : $0 } ?? "" }
        }

        mutating func readDictionary(_ mirror: Mirror, _ depth: Int) -> ValueTree {
            var children: [Child] = []
            for child in mirror.children {
                guard left > 0 else {
                    children.append(Child(label: "…", tree: cut()))
                    break
                }
                let pair = Array(Mirror(reflecting: child.value).children)
                guard pair.count == 2 else { continue }
                let key = read(pair[0].value, depth: depth + 1).line
                children.append(Child(label: key, tree: read(pair[1].value, depth: depth + 1)))
            }
            return ValueTree(
                shape: .map, head: "",
                children: children.sorted { ($0.label, $0.tree.line) < ($1.label, $1.tree.line) })
        }

        mutating func readEnum(_ value: Any, _ mirror: Mirror, _ name: String, _ depth: Int) -> ValueTree {
            guard let payload = mirror.children.first else {
                return ValueTree(value, text: "\(name).\(value)")
            }
            let head = "\(name).\(payload.label ?? "")"
            let inner = Mirror(reflecting: payload.value)
            if inner.displayStyle == .tuple {
                return ValueTree(shape: .fields, head: head, children: readFields(inner, depth))
            }
            let child = Child(label: "", tree: read(payload.value, depth: depth + 1))
            return ValueTree(shape: .fields, head: head, children: [child])
        }

        mutating func readObject(_ value: Any, _ mirror: Mirror, _ name: String, _ depth: Int) -> ValueTree {
            let object = ObjectIdentifier(value as AnyObject)
            guard path.insert(object).inserted else { return ValueTree(shape: .leaf, head: "\(name)(again)") }
            defer { path.remove(object) }
            let children = readFields(mirror, depth)
            if children.isEmpty { return ValueTree(shape: .leaf, head: Self.text(value, name)) }
            return ValueTree(shape: .fields, head: name, children: children)
        }
    }
}

extension ValueTree {
    /// The brackets around the children.
    package var brackets: (open: String, close: String) {
        switch shape {
        case .leaf: (head, "")
        case .fields: (head + "(", ")")
        case .list, .map: ("[", "]")
        case .bag: (head + "([", "])")
        }
    }

    /// The whole tree in one line.
    ///
    /// - Complexity: O(nodes).
    package var line: String {
        if shape == .leaf { return head }
        if shape == .map, children.isEmpty { return "[:]" }
        let inner = children.map(\.line).joined(separator: ", ")
        return brackets.open + inner + brackets.close
    }
}

extension ValueTree {
    /// Returns a value in one line of at most `characters` characters, with an ellipsis if it is longer.
    package static func brief(_ value: Any, characters: Int) -> String {
        let line = ValueTree(value).line
        return line.utf8.count <= characters || line.count <= characters ? line : line.prefix(characters) + "…"
    }
}

extension ValueTree.Child {
    /// Name and value in one line.
    package var line: String { label.isEmpty ? tree.line : "\(label): \(tree.line)" }
}
