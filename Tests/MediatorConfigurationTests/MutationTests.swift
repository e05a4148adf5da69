import MediatorConfiguration
import Testing
import TestSupport

@Suite struct `Wild bytes` {
    private static let originals = [
        `The format's sketch`.uplink, `The format's sketch`.wiring, `What feedbacks and links mean`.disk,
        `What a graph means`.levels, Templates.sample, `Values from elsewhere`.sample,
    ]

    private static let pieces: [String] = [
        "\t", "\n", "\r", "---\n", "...\n", "&a ", "*a", "!x ", "<<: ", "? ", "- ", "{", "}", "[", "]", ":", ": ", ",",
        "'", "\"", "\\", "|\n", ">-\n", "#", "%", "@", "`", "${", "}", "$${", "~", "null", "any", "stay", "0x", "1e999",
        "é", "\u{2028}", "\u{85}", "\u{FEFF}", "\u{0}", "\u{1}", "state", "event", "9223372036854775808", "system: x\n",
        "!env ", "!env { name: A }", "!credential ", "!replace ", "@", "@*", "instance", "parameters", "null\n",
    ]

    private static func mutated(_ original: String, _ random: inout Random) -> [UInt8] {
        var bytes = Array(original.utf8)
        for _ in 0...(random.next() % 4) {
            let place = Int(random.next() % UInt64(bytes.count + 1))
            let length = min(Int(random.next() % 12), bytes.count - place)
            switch random.next() % 6 {
            case 0: bytes.insert(UInt8(truncatingIfNeeded: random.next()), at: place)
            case 1: bytes.removeSubrange(place..<(place + length))
            case 2:
                bytes.insert(contentsOf: bytes[place..<(place + length)], at: Int(random.next() % UInt64(place + 1)))
            case 3: bytes.removeSubrange(place...)
            default: bytes.insert(contentsOf: pieces[Int(random.next() % UInt64(pieces.count))].utf8, at: place)
            }
            if bytes.isEmpty { bytes = [0x20] }
        }
        return bytes
    }

    /// Whether everything that a link refers to is there, under the name that its summary says.
    private static func checkIndices(of graph: Graph) {
        #expect(graph.systems.map(\.name) == graph.systems.map(\.name).sorted())
        for link in graph.links {
            guard graph.systems.indices.contains(link.system) else {
                Issue.record("\(link.name) has no system")
                continue
            }
            #expect(link.summary.contains(graph.systems[link.system].name))
            switch link.form {
            case .systemToBus(let bus, _, _), .busToSystem(let bus, _, _):
                #expect(graph.buses.indices.contains(bus) && link.summary.contains(graph.buses[bus].name))
            case .systemToSystem(let target, _, _):
                #expect(graph.systems.indices.contains(target) && link.summary.contains(graph.systems[target].name))
            }
        }
    }

    @Test(arguments: 0..<UInt64(2 * soakFactor))
    func `no mutation of a valid file breaks the compiler`(seed: UInt64) {
        var random = Random(state: seed)
        var graphs = 0
        for round in 0..<500 {
            let files = (0...(random.next() % 2)).map { number in
                let original = Self.originals[Int(random.next() % UInt64(Self.originals.count))]
                var file = ConfigurationFile(path: "\(number).yaml", contents: Self.mutated(original, &random))
                // Merged with itself, a file means the same.
                if random.next() % 4 == 0 {
                    file.dropIns.append(ConfigurationFile(path: "d/1.yaml", contents: Self.mutated(original, &random)))
                }
                return file
            }
            let result = ConfigurationCompiler.compile(files: files)
            let hasErrors = result.diagnostics.contains { $0.severity == .error }
            if let graph = result.graph { Self.checkIndices(of: graph) }
            _ = ConfigurationCompiler.merged(files: files)
            #expect((result.graph == nil) == hasErrors, "seed \(seed), round \(round)")
            for diagnostic in result.diagnostics {
                let text = diagnostic.rendered()
                #expect(!text.utf8.contains { $0 < 0x20 && $0 != 0x0A }, "seed \(seed), round \(round)")
                if let excerpt = diagnostic.excerpt {
                    #expect(diagnostic.caretOffset <= excerpt.unicodeScalars.count, "seed \(seed), round \(round)")
                }
            }
            #expect(result.diagnostics == result.diagnostics.sorted())
            graphs += result.graph == nil ? 0 : 1
        }
        // Some mutations must be harmless, or nothing but the first stage was tried.
        #expect(graphs > 0)
    }

    @Test(arguments: 100..<104)
    func `random bytes are refused, not crashed on`(seed: UInt64) {
        var random = Random(state: seed)
        for _ in 0..<500 {
            let count = Int(random.next() % 200)
            let bytes = (0..<count).map { _ in UInt8(truncatingIfNeeded: random.next()) & 0x7F }
            let result = ConfigurationCompiler.compile(files: [ConfigurationFile(path: "a", contents: bytes)])
            #expect((result.graph == nil) == !result.diagnostics.isEmpty)
        }
    }
}
