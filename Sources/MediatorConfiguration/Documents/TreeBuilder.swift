import CYaml
import CommonExpression

/// Builds one document's tree from events: a stack instead of recursion, within limits.
struct TreeBuilder: ~Copyable {
    /// The effect of an event.
    enum Step {
        /// The document goes on.
        case more
        /// The document is complete; it is several where one begins within another, which is reported.
        case roots([Node])
        /// The document is given up; `isFinal`: and the rest of the file.
        case abandoned(isFinal: Bool)
    }

    /// A list or mapping that is not closed yet.
    private struct Frame {
        var start: Int
        var isMapping: Bool
        /// A Boolean value that indicates whether this stands where a key should, and is dropped when closed.
        var isKey: Bool
        var anchor: String?
        var firstNode: Int
        var height = 1
        /// The start of its part of the builder's items or entries.
        var base: Int
        var awaited = Awaited.key
        /// A Boolean value that indicates whether it is marked `!replace`.
        var replaces = false
        /// A Boolean value that indicates whether it is marked as a value from elsewhere.
        var kind: UnavailableValue.Kind?
        /// A Boolean value that indicates whether it stands in brackets or braces.
        var isFlow: Bool
        /// The entries of a merge key, for the keys that are not written themselves.
        var merged: [Node.Entry] = []
    }

    /// The next part of a mapping.
    private enum Awaited {
        case key
        /// The value of the last entry, which has its key and nothing as its value.
        case value
        /// The value of a wrong key, which is dropped.
        case nothing
        /// The value of the key `<<`. It is merged although that is an error, so that later checks find the same names.
        case merged
    }

    /// The node of an anchor.
    private struct Anchored {
        var node: Node
        var nodes: Int
        var height: Int
    }

    /// The number of nodes until now. An alias counts as all nodes that it repeats.
    private(set) var nodes: Int
    /// Marks a mapping of a drop-in that replaces.
    private static let replaceTag = "!replace"
    private let source: SourceText
    private let diagnostics: DiagnosticsCollector
    /// A Boolean value that indicates whether the file changes another.
    private let isDropIn: Bool
    private var frames = NodeStack<Frame>(capacity: 16)
    /// The elements of all lists that are not closed yet, one list's after the other's.
    private var items = NodeStack<Node>(capacity: 16)
    /// The same of mappings.
    private var entries = NodeStack<Node.Entry>(capacity: 48)
    private var anchors: [String: Anchored] = [:]
    private var cutValues: CutValueMender
    private let keys: MappingKeys

    /// A builder for one document of a file in which so many nodes were counted before.
    init(source: SourceText, diagnostics: DiagnosticsCollector, nodes: Int, isDropIn: Bool) {
        self.isDropIn = isDropIn
        self.source = source
        self.diagnostics = diagnostics
        self.nodes = nodes
        cutValues = CutValueMender(source: source, diagnostics: diagnostics)
        keys = MappingKeys(source: source, diagnostics: diagnostics)
    }

    /// Forgets the document, to begin another of the same file.
    mutating func restart() {
        _ = frames.take(from: 0)
        _ = items.take(from: 0)
        _ = entries.take(from: 0)
        anchors.removeAll()
        flowStart = nil
    }

    /// The offset of the outermost open brackets or braces.
    private(set) var flowStart: Int?

    /// The place of the innermost open list or mapping.
    var innermost: Int? { frames.count > 0 ? frames.top.start : nil }

    /// Takes one event of a node.
    mutating func take(_ event: yaml_event_t, _ span: Span) -> Step {
        switch event.type {
        case YAML_SCALAR_EVENT: return takeScalar(event, span)
        case YAML_SEQUENCE_START_EVENT:
            let data = event.data.sequence_start
            return open(
                isMapping: false, isFlow: data.style == YAML_FLOW_SEQUENCE_STYLE, anchor: data.anchor, tag: data.tag,
                span)
        case YAML_MAPPING_START_EVENT:
            let data = event.data.mapping_start
            return open(
                isMapping: true, isFlow: data.style == YAML_FLOW_MAPPING_STYLE, anchor: data.anchor, tag: data.tag, span
            )
        case YAML_SEQUENCE_END_EVENT, YAML_MAPPING_END_EVENT: return close(span)
        case YAML_ALIAS_EVENT: return takeAlias(String(cString: event.data.alias.anchor), span)
        default: return .more
        }
    }

    private mutating func takeScalar(_ event: yaml_event_t, _ span: Span) -> Step {
        let data = event.data.scalar
        let kind = externalKind(data.tag)
        if kind == nil { complainOfTag(data.tag, span) }
        guard count(1, at: span) else { return .abandoned(isFinal: true) }
        let text = String(decoding: UnsafeBufferPointer(start: data.value, count: data.length), as: UTF8.self)
        let style: Scalar.Style =
            switch data.style {
            case YAML_SINGLE_QUOTED_SCALAR_STYLE: .singleQuoted
            case YAML_DOUBLE_QUOTED_SCALAR_STYLE: .doubleQuoted
            case YAML_LITERAL_SCALAR_STYLE: .literal
            case YAML_FOLDED_SCALAR_STYLE: .folded
            default: .plain
            }
        let scalar = Scalar(text: text, style: style, span: span)
        if frames.count > 0, frames.top.awaited == .key, frames.top.isMapping, data.tag == nil, data.anchor == nil {
            frames.top.awaited = addKey(scalar)
            return .more
        }
        var node = Node(content: .scalar(scalar), span: span)
        if let kind { node.content = .external(ExternalReference(kind: kind, name: scalar)) }
        if let anchor = data.anchor {
            anchors[String(cString: anchor)] = Anchored(node: node, nodes: 1, height: 0)
        }
        return add(node)
    }

    private mutating func open(
        isMapping: Bool, isFlow: Bool, anchor: UnsafePointer<yaml_char_t>?, tag: UnsafePointer<yaml_char_t>?,
        _ span: Span
    ) -> Step {
        let replaces = isMapping && isDropIn && tag.map { String(cString: $0) == Self.replaceTag } ?? false
        let kind = isMapping ? externalKind(tag) : nil
        if !replaces, kind == nil { complainOfTag(tag, span) }
        guard count(1, at: span) else { return .abandoned(isFinal: true) }
        guard frames.count < ConfigurationLimits.nesting else {
            complainOfDepth(span)
            return .abandoned(isFinal: false)
        }
        var isKey = false
        if frames.count > 0, frames.top.isMapping, frames.top.awaited == .key, !isMapping, isFlow,
            anchor == nil, isAmongTransitions
        {
            isKey = true
        } else if frames.count > 0, frames.top.isMapping, frames.top.awaited == .key {
            isKey = true
            let kind = isMapping ? "a mapping" : "a list"
            diagnostics.report(
                .wrongShape, in: source, at: Span(start: span.start, end: span.start + 1),
                "a key is a name, not \(kind)", hint: "text that begins with '{' or '[' needs quotes")
            diagnostics.silence(span.start, in: source)
        }
        if isFlow, flowStart == nil { flowStart = span.start }
        frames.push(
            Frame(
                start: span.start, isMapping: isMapping, isKey: isKey, anchor: anchor.map { String(cString: $0) },
                firstNode: nodes, base: isMapping ? entries.count : items.count, replaces: replaces, kind: kind,
                isFlow: isFlow))
        return .more
    }

    private mutating func close(_ span: Span) -> Step {
        guard let frame = frames.pop() else { return .more }
        let content: Node.Content
        if frame.isMapping {
            // The keys of a document are looked at when it is known how many documents there are.
            var own = entries.take(from: frame.base)
            if frame.isFlow { cutValues.mend(&own, inFlowAt: flowStart) }
            if frames.count > 0 { own = keys.withoutDuplicates(own) }
            for entry in frame.merged where !own.contains(where: { $0.key.text == entry.key.text }) {
                own.append(entry)
            }
            content = .mapping(own)
        } else {
            var own = items.take(from: frame.base)
            if frame.isFlow { cutValues.mend(&own, inFlowAt: flowStart) }
            content = .sequence(own)
        }
        if frame.start == flowStart { flowStart = nil }
        var node = Node(
            content: content, span: Span(start: frame.start, end: span.end), replaces: frame.replaces)
        if let kind = frame.kind, case .mapping(let entries) = node.content {
            let decoder = Decoder(source: source, diagnostics: diagnostics)
            let mark = Span(start: frame.start, end: frame.start + 1 + kind.rawValue.utf8.count)
            node.content = .external(ExternalReference.reading(kind, entries, at: mark, decoder))
        }
        if let anchor = frame.anchor {
            anchors[anchor] = Anchored(node: node, nodes: nodes - frame.firstNode + 1, height: frame.height)
        }
        if frames.count > 0 {
            frames.top.height = max(frames.top.height, frame.height + 1)
            if frame.isKey, !frame.isMapping, let key = listKey(node) {
                frames.top.awaited = addKey(key)
                return .more
            }
            if frame.isKey {
                // The intended key is unknown, and the mistake has been reported.
                begin(Scalar(text: "", style: .plain, span: Span(start: frame.start, end: frame.start)))
                frames.top.awaited = .value
                return .more
            }
        }
        return add(node)
    }

    /// A Boolean value that indicates whether the innermost mapping is the value of the document's key `transitions`. Its keys may
    /// be lists of states.
    private var isAmongTransitions: Bool {
        frames.count == 2 && frames.top.base > 0 && entries[frames.top.base - 1].key.text == "transitions"
    }

    /// The key that a list of names makes; nil: it is none, which has been reported.
    private func listKey(_ node: Node) -> Scalar? {
        guard case .sequence(let items) = node.content, isAmongTransitions else { return nil }
        let names = items.compactMap { $0.scalar?.text }
        guard names.count == items.count, !names.isEmpty, names.allSatisfy(Names.isStateName) else {
            diagnostics.report(
                .wrongShape, in: source, at: node.mark, "a key in brackets is a list of states",
                hint: "write [Idle, Broken]: { Start: Busy }")
            diagnostics.silence(node.span.start, in: source)
            return nil
        }
        // The order has no meaning, and two lists of the same states are one key.
        return Scalar(text: "[\(names.sorted().joined(separator: ", "))]", style: .list, span: node.span)
    }

    private mutating func takeAlias(_ name: String, _ span: Span) -> Step {
        guard let anchored = anchors[name] else {
            if frames.count > 0, frames.top.isMapping, frames.top.awaited == .merged {
                // The merge key has been reported.
            } else if frames.contains(where: { $0.anchor == name }) {
                diagnostics.report(.alias, in: source, at: span, "'*\(name)' is used inside its own anchor")
            } else {
                let near = nearestName(to: name, among: anchors.keys.sorted())
                diagnostics.report(
                    .alias, in: source, at: span, "there is no anchor '&\(name)' before this alias",
                    hint: near.map { "did you mean '*\($0)'?" } ?? "text that begins with '*' needs quotes")
            }
            return .abandoned(isFinal: false)
        }
        guard count(anchored.nodes, at: span) else { return .abandoned(isFinal: true) }
        guard frames.count + anchored.height <= ConfigurationLimits.nesting else {
            complainOfDepth(span)
            return .abandoned(isFinal: false)
        }
        if frames.count > 0 {
            frames.top.height = max(frames.top.height, anchored.height + 1)
        }
        return add(anchored.node)
    }

    /// Puts a complete node where it belongs.
    private mutating func add(_ node: consuming Node) -> Step {
        guard frames.count > 0 else { return .roots(keys.documents(of: node)) }
        guard frames.top.isMapping else {
            items.push(node)
            return .more
        }
        switch frames.top.awaited {
        case .key:
            frames.top.awaited = addKey(node)
            return .more
        case .value:
            // The entries of lists and mappings within have gone, so it is the last.
            entries.top.value = node
        case .nothing: break
        case .merged:
            if case .mapping(let entries) = node.content, entries.count <= ConfigurationLimits.fields {
                frames.top.merged = entries
            }
        }
        frames.top.awaited = .key
        return .more
    }

    /// Begins an entry.
    private mutating func begin(_ key: Scalar) {
        entries.push(Node.Entry(key: key, value: Node(content: .sequence([]), span: key.span)))
    }

    /// Takes a node that stands where a key should; what comes next.
    private mutating func addKey(_ node: Node) -> Awaited {
        if let scalar = node.scalar { return addKey(scalar) }
        diagnostics.report(.wrongShape, in: source, at: node.mark, "a key is a name, not \(node.kind)")
        return .nothing
    }

    private mutating func addKey(_ scalar: Scalar) -> Awaited {
        if scalar.style == .plain, scalar.text == "<<" {
            diagnostics.report(
                .mergeKey, in: source, at: scalar.span, "YAML 1.2 has no merge key '<<'",
                hint: "write the entries out, or use an alias for a whole value")
            return .merged
        }
        begin(scalar)
        return .value
    }

    private mutating func count(_ more: Int, at span: Span) -> Bool {
        nodes += more
        if nodes <= ConfigurationLimits.nodes { return true }
        diagnostics.report(
            .tooLarge, in: source, at: span,
            "this file has more than \(ConfigurationLimits.nodes) nodes, with the nodes behind each alias counted",
            hint: "split the file")
        return false
    }

    private func complainOfDepth(_ span: Span) { Self.complainOfDepth(span, source, diagnostics) }

    /// Reports that a document is nested too deep.
    static func complainOfDepth(_ span: Span, _ source: SourceText, _ diagnostics: DiagnosticsCollector) {
        diagnostics.report(
            .tooDeep, in: source, at: Span(start: span.start, end: span.start + 1),
            "lists and mappings lie more than \(ConfigurationLimits.nesting) deep in each other")
    }

    /// The source of the value from elsewhere that a tag marks; nil for other tags.
    private func externalKind(_ tag: UnsafePointer<yaml_char_t>?) -> UnavailableValue.Kind? {
        tag.flatMap { ExternalReference.kind(ofTag: String(cString: $0)) }
    }

    private mutating func complainOfTag(_ tag: UnsafePointer<yaml_char_t>?, _ span: Span) {
        guard let tag else { return }
        if String(cString: tag) == Self.replaceTag {
            diagnostics.report(
                .tag, in: source, at: Span(start: span.start, end: span.start + 1),
                isDropIn ? "'!replace' marks a mapping" : "'!replace' has a meaning only in a drop-in",
                hint: "leave it out\(isDropIn ? ": lists and single values always replace" : "")")
            return
        }
        guard !cutValues.complainOfTag(at: span.start, inFlowAt: flowStart) else { return }
        let name = String(cString: tag)
        let known = UnavailableValue.Kind.allCases.map { "!\($0.rawValue)" } + (isDropIn ? [Self.replaceTag] : [])
        let lowercased = ["!environment": "!env", "!secret": "!credential"][name.lowercased()] ?? name.lowercased()
        if let near = known.first(where: { $0 == lowercased }) ?? nearestName(to: lowercased, among: known) {
            diagnostics.report(
                .tag, in: source, at: Span(start: span.start, end: span.start + 1),
                "there is no tag '\(name.prefix(60))'", hint: "did you mean '\(near)'?")
            return
        }
        diagnostics.report(
            .tag, in: source, at: Span(start: span.start, end: span.start + 1),
            "tags such as '!!str' are not used here", hint: "text that begins with '!' needs quotes")
    }
}
