import FoundationEssentials
import MediatorCommands
import MediatorControl
import StrictJSON
import Testing
import Varlink

/// Graphs: what is in a loop, what is near, and how they are drawn.
struct GraphTests {
    /// A graph of systems by letters and links such as `ab`.
    private static func graph(_ parts: String, _ links: [String]) -> PartGraph {
        let names = parts.map(String.init)
        return PartGraph(
            parts: names.map { .init(kind: .system, name: $0) },
            edges: links.map { link in
                let ends = link.map { names.firstIndex(of: String($0)) ?? 0 }
                return .init(name: link, description: link, from: ends[0], to: ends[1])
            })
    }

    @Test(arguments: [
        ("abc", ["ab", "bc"], []), ("abc", ["ab", "bc", "ca"], ["ab", "bc", "ca"]), ("a", ["aa"], ["aa"]),
        ("abcd", ["ab", "ba", "bc", "cd"], ["ab", "ba"]),
        ("abcdef", ["ab", "bc", "ca", "cd", "de", "ed", "ef"], ["ab", "bc", "ca", "de", "ed"]),
        ("abcd", ["ab", "ac", "bd", "cd"], []),
    ])
    func `links over which one comes back are in a loop`(parts: String, links: [String], loops: [String]) {
        #expect(Self.graph(parts, links).edges.filter(\.isInLoop).map(\.name) == loops)
    }

    @Test func `loops are right for random graphs`() {
        var random = SystemRandomNumberGenerator()
        for _ in 0..<300 {
            let count = Int.random(in: 1...7, using: &random)
            let letters = Array("abcdefg".prefix(count))
            let links = (0..<Int.random(in: 0...12, using: &random)).map { _ in
                String(
                    [letters.randomElement(using: &random), letters.randomElement(using: &random)].compactMap(\.self))
            }
            // By hand: which leads to which, over any number of links.
            var reaches = Set(links)
            for middle in letters {
                for from in letters {
                    for to in letters
                    where reaches.contains("\(from)\(middle)") && reaches.contains("\(middle)\(to)") {
                        reaches.insert("\(from)\(to)")
                    }
                }
            }
            let expected = links.filter { $0.first == $0.last || reaches.contains(String($0.reversed())) }
            #expect(Self.graph(String(letters), links).edges.filter(\.isInLoop).map(\.name) == expected, "\(links)")
        }
    }

    @Test func `a graph is narrowed to what flows through a part or is near it`() {
        let graph = Self.graph("abcdefg", ["ab", "bc", "cd", "eb", "fg", "ca"])
        #expect(graph.narrowed(to: .flow(3)).parts.map(\.name) == ["a", "b", "c", "d", "e"])
        #expect(graph.narrowed(to: .flow(4)).parts.map(\.name) == ["a", "b", "c", "d", "e"])
        #expect(graph.narrowed(to: .flow(5)).parts.map(\.name) == ["f", "g"])
        let near = graph.narrowed(to: .around(4, depth: 1))
        #expect(near.parts.map(\.name) == ["b", "e"] && near.edges.map(\.name) == ["eb"])
        // A part of a loop is still one.
        let part = graph.narrowed(to: .around(3, depth: 1))
        #expect(part.parts.map(\.name) == ["c", "d"])
        #expect(graph.narrowed(to: .around(0, depth: 1)).edges.filter(\.isInLoop).map(\.name) == ["ab", "bc", "ca"])
        #expect(graph.narrowed(to: .around(3, depth: 0)).parts.map(\.name) == ["d"])
    }

    static let loop = """
        system: a
        states: { On: {}, Off: {} }
        events: { Up: {}, Down: {} }
        initialState: Off
        fromOutside: any
        transitions: { Off: { Up: On }, On: { Down: Off } }
        ---
        buses:
          b: { kind: currentValue, value: string, initial: 'x<y&"z"' }
        links:
          out: { attach: a, to: b, onState: On, emitValue: up, loop: { limit: 10 per 1s } }
          back: { attach: a, to: b, onValue: up, emitEvent: Down }
        """

    /// A directory with the files.
    private static func directory(_ files: [String: String]) throws -> String {
        let path = "/tmp/mediatorctl-graph-\(UInt64.random(in: 0 ... .max))"
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        for (name, text) in files { try Data(text.utf8).write(to: URL(filePath: "\(path)/\(name)")) }
        return path
    }

    @Test func `what is written is drawn without a daemon in each language`() async throws {
        let path = try Self.directory(["a.yaml": Self.loop])
        defer { try? FileManager.default.removeItem(atPath: path) }
        func drawn(_ format: String) async -> String {
            let result = await Bench.run(["graph", "--config", path, "--format", format])
            #expect(result.status == .success && result.error.isEmpty, "\(result)")
            return result.output
        }
        #expect(
            await drawn("text") == """
                a
                └─ out → bus b
                   └─ back → a  ↺ a loop

                """)
        #expect(
            await drawn("mermaid") == """
                flowchart LR
                  p0["a"]
                  p1(["b"])
                  p1 -->|"back"| p0
                  p0 -->|"out"| p1
                  linkStyle 0,1 stroke:#9a6700
                  style p1 fill:#e9f1fb,stroke:#3b6ea8,color:#1f2328

                """)
        let dot = await drawn("dot")
        #expect(dot.hasPrefix("digraph mediatord {\n") && dot.contains("p0 -> p1 [label=\"out\""))
        let svg = await drawn("svg")
        #expect(svg.hasPrefix("<svg ") && svg.hasSuffix("</svg>\n") && !svg.contains("script"))
        #expect(await drawn("json") == Bench.run(["graph", "--config", path, "--json"]).output)
    }

    @Test func `a configuration with errors is not drawn`() async throws {
        let path = try Self.directory(["a.yaml": "sytem: x\n"])
        defer { try? FileManager.default.removeItem(atPath: path) }
        let result = await Bench.run(["graph", "--config", path])
        #expect(result.status == .refused && result.output.isEmpty)
        #expect(result.error.contains("did you mean 'system'?") && result.error.contains("mediatorctl validate"))
        let json = await Bench.run(["graph", "--config", path, "--json"])
        #expect(json.error.hasPrefix(#"{"error":{"code":"not-valid""#))
    }

    @Test func `what comes from the daemon is text in every language, and nothing else`() {
        var graph = PartGraph(
            parts: [
                .init(kind: .system, name: "a\"]<script>&`\\#;\u{1B}", description: "</title><script>"),
                .init(kind: .bus, name: "b"),
            ], edges: [.init(name: "l\"|<b>", description: "-->", from: 0, to: 1)])
        graph = graph.narrowed(to: .flow(0))
        let svg = SVGText.text(graph) ?? ""
        #expect(!svg.contains("<script") && svg.contains("&lt;script&gt;") && !svg.contains("\u{1B}"))
        let dot = DotText.text(graph)
        #expect(dot.contains(##"label="a\"]<script>&`\\#;\\u{1b}""##), "\(dot)")
        let mermaid = MermaidText.text(graph)
        #expect(mermaid.contains(#"p0["a#34;#93;#60;script#62;#38;#96;#92;#35;#59;#92;u#123;1b#125;"]"#), "\(mermaid)")
        #expect(mermaid.contains(##"-->|"l#34;#124;#60;b#62;"| p1"##))
    }

    @Test func `times are as on the clock in every language`() {
        var parts = [PartGraph.Part(kind: .system, name: "s"), PartGraph.Part(kind: .bus, name: "b")]
        parts[0].state = SystemState(name: "On", data: ["at": "2026-11-21T11:57:00.5Z"])
        parts[1].value = "2026-11-21T11:58:00.5Z"
        let graph = PartGraph(parts: parts, edges: [])
        for text in [DotText.text(graph), MermaidText.text(graph), SVGText.text(graph) ?? ""] {
            #expect(text.contains("2026-11-21 11:57") && text.contains("2026-11-21 11:58"), "\(text)")
        }
    }

    @Test func `a long chain is drawn in pieces, and a large graph is refused as a picture`() {
        let count = 5000
        let graph = PartGraph(
            parts: (0..<count).map { .init(kind: .system, name: "s\($0)") },
            edges: (1..<count).map { .init(name: "l\($0)", description: "", from: $0 - 1, to: $0) })
        let lines = graph.description.split(separator: "\n")
        // Each part and each link is there, and a continued part is named twice.
        #expect(lines.count == count - 1 + lines.count { !$0.contains("→") })
        #expect(lines.allSatisfy { $0.count < 200 })
        let many = PartGraph(
            parts: (0..<30_000).map { .init(kind: .bus, name: "b\($0)") }, edges: [])
        #expect(SVGText.text(many) == nil)
    }

    @Test func `no two boxes or names of a picture lie on each other`() throws {
        var random = SystemRandomNumberGenerator()
        for count in [1, 4, 12, 60] {
            let links = (0..<count * 3 / 2).map { _ in
                (
                    from: Int.random(in: 0..<count, using: &random), to: Int.random(in: 0..<count, using: &random),
                    label: GraphLayout.Size(width: 40, height: 16)
                )
            }
            let sizes = (0..<count).map { _ in
                GraphLayout.Size(width: Double.random(in: 40...160, using: &random), height: 28)
            }
            let layout = try #require(GraphLayout(parts: sizes, links: links))
            let boxes =
                zip(layout.centers, sizes).map { ($0, $1) } + zip(layout.routes, links).map { ($0.label, $1.label) }
            for (index, one) in boxes.enumerated() {
                #expect(one.0.x - one.1.width / 2 >= 0 && one.0.x + one.1.width / 2 <= layout.size.width)
                #expect(one.0.y - one.1.height / 2 >= 0 && one.0.y + one.1.height / 2 <= layout.size.height)
                for other in boxes[..<index] {
                    let isApart =
                        abs(one.0.x - other.0.x) >= (one.1.width + other.1.width) / 2
                        || abs(one.0.y - other.0.y) >= (one.1.height + other.1.height) / 2 - 0.001
                    #expect(isApart)
                }
            }
            for (route, link) in zip(layout.routes, links) where link.from != link.to {
                let (first, last) = (try #require(route.points.first), try #require(route.points.last))
                #expect(abs(first.y - layout.centers[link.from].y) < 0.001)
                #expect(abs(last.y - layout.centers[link.to].y) < 0.001)
            }
        }
    }
}
