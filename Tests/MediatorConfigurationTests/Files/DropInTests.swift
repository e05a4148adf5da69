import CommonExpression
import MediatorConfiguration
import Testing

@Suite struct `Drop-ins` {
    private static let backup = """
        system: backup
        states: { Idle: { runs: int }, Running: { runs: int } }
        events: { Start: {}, Done: {} }
        initialState: { Idle: { runs: 0 } }
        feedbacks:
          copy: { onState: Running, run: [rsync, -a, /srv], onSuccess: Done, onFailure: Done }
          look: { onState: any, every: 5s, emit: Done }
        transitions:
          Idle: { Start: Running }
          Running: { Done: Idle, Start: stay }
        ---
        buses: { status: { kind: currentValue, value: string, initial: unknown } }
        links:
          tell: { attach: backup, to: status, onState: Idle, emitValue: idle }
          hear: { attach: backup, to: status, onValue: go, emitEvent: Start }

        """

    private func file(_ dropIns: [String]) -> ConfigurationFile {
        var file = ConfigurationFile(path: "/lib/b.yaml", text: Self.backup)
        file.dropIns = dropIns.enumerated().map { ConfigurationFile(path: "/etc/b.yaml.d/\($0).yaml", text: $1) }
        return file
    }

    private func result(_ dropIns: String...) -> CompilationResult {
        ConfigurationCompiler.compile(files: [file(dropIns)])
    }

    private func graph(_ dropIns: String...) throws -> Graph {
        let result = ConfigurationCompiler.compile(files: [file(dropIns)])
        #expect(result.partial.map { $0.rendered() } == [])
        return try #require(result.graph)
    }

    private func messages(_ dropIns: String...) -> String {
        ConfigurationCompiler.compile(files: [file(dropIns)]).partial.map { $0.rendered() }
            .joined(separator: "\n")
    }

    @Test func `mappings merge key by key, single values replace`() throws {
        let graph = try graph("system: backup\nfeedbacks: { look: { every: 1m } }\nmailbox: { limit: 7 }")
        let system = try #require(graph.systems.first)
        #expect(system.feedbacks.map(\.name) == ["copy", "look"])
        #expect(system.mailbox.limit == 7)
        guard case .every(let periods) = system.feedbacks[1].schedule, case .constant(let period)? = periods[0] else {
            Issue.record("no period")
            return
        }
        #expect(period == .duration(try #require(TimeSpan(text: "1m"))))
        #expect(system.source.description == "/lib/b.yaml:1:9")
        #expect(graph.links.count == 2)
    }

    @Test func `a rule in its short form keeps its target when a drop-in adds something`() throws {
        let graph = try graph("system: backup\ntransitions: { Idle: { Start: { set: { runs: 7 } } } }")
        let system = try #require(graph.systems.first)
        guard case .to(let program)? = system.rules[0][0].first?.outcome else {
            Issue.record("\(system.rules[0][0])")
            return
        }
        #expect(system.states[program.state].name == "Running")
        let text = messages("system: backup\ntransitions: { Running: { Start: { set: { runs: 7 } } } }")
        #expect(text.contains("'stay' changes nothing, so 'set' has no meaning here"), "\(text)")
    }

    @Test func `a mistyped feedback is told as such, a new one is whole`() throws {
        let text = "system: backup\nfeedbacks: { cpoy: { timeout: 5s }, copy: { run: [sync] } }"
        var file = ConfigurationFile(path: "/lib/b.yaml", text: Self.backup)
        file.dropIns = [ConfigurationFile(path: "/etc/b.yaml.d/0.yaml", text: text)]
        let errors = ConfigurationCompiler.compile(files: [file]).diagnostics.filter { $0.severity == .error }
        #expect(errors.count == 1)
        #expect(errors.first?.location?.description == "/etc/b.yaml.d/0.yaml:2:14")
        #expect(
            errors.first?.message == "there is no feedback 'cpoy' of 'backup' to change, and a new one needs 'onState'")
        #expect(errors.first?.hint == "did you mean 'copy'?")
        // Drop-ins that are complete together are complete in any order.
        let parts = ["{ more: { emit: Done } }", "{ more: { onState: any } }"].map {
            "system: backup\nfeedbacks: \($0)"
        }
        for parts in [parts, parts.reversed()] {
            file.dropIns = parts.enumerated().map { ConfigurationFile(path: "/etc/b.yaml.d/\($0).yaml", text: $1) }
            let whole = ConfigurationCompiler.compile(files: [file]).graph
            #expect(whole?.systems.first?.feedbacks.map(\.name) == ["copy", "look", "more"])
        }
        let more = try graph("system: backup\nfeedbacks: { more: { onState: any, emit: Done } }")
        #expect(more.systems.first?.feedbacks.map(\.name) == ["copy", "look", "more"])
    }

    @Test func `a list replaces a list`() throws {
        let system = try #require(try graph("system: backup\nfeedbacks: { copy: { run: [sync] } }").systems.first)
        guard case .constant(let command)? = system.feedbacks[0].arguments[1]?["command"] else {
            Issue.record("no command")
            return
        }
        #expect(command == .list([.string("sync")]))
    }

    @Test func `nothing removes`() throws {
        let graph = try graph("system: backup\nfeedbacks: { look: null }\n---\nlinks: { hear: ~ }")
        #expect(graph.systems.first?.feedbacks.map(\.name) == ["copy"])
        #expect(graph.links.map(\.name) == ["tell"])
        #expect(try self.graph("links: null\n").links.isEmpty)
    }

    @Test func `a mapping marked so replaces`() throws {
        let replaced = try graph("system: backup\nfeedbacks: !replace { only: { onState: any, emit: Done } }")
        #expect(replaced.systems.first?.feedbacks.map(\.name) == ["only"])
        let links = try graph("links: !replace\n  one: { attach: backup, to: status, onState: any, emitValue: x }")
        #expect(links.links.map(\.name) == ["one"])
    }

    @Test func `what is new is added`() throws {
        let graph = try graph(
            """
            links: { more: { attach: backup, to: alarms, onState: Running, emitValue: 1 } }
            buses: { alarms: { kind: passthrough, value: int } }
            """)
        #expect(graph.links.map(\.name) == ["hear", "more", "tell"])
        #expect(graph.buses.map(\.name) == ["alarms", "status"])
        #expect(graph.links[1].source.description == "/etc/b.yaml.d/0.yaml:1:10")
    }

    @Test func `merged with itself, a file means the same`() throws {
        for text in [Self.backup, Templates.sample, `Values from elsewhere`.sample] {
            var file = ConfigurationFile(path: "a.yaml", text: text)
            let alone = try #require(ConfigurationCompiler.compile(files: [file]).graph)
            file.dropIns = [ConfigurationFile(path: "a.yaml.d/1.yaml", text: text)]
            let result = ConfigurationCompiler.compile(files: [file])
            #expect(result.partial == [])
            let merged = try #require(result.graph)
            #expect(merged.systems.map(\.name) == alone.systems.map(\.name))
            #expect(merged.links.map(\.summary) == alone.links.map(\.summary))
            #expect(merged.buses.map(\.initial) == alone.buses.map(\.initial))
        }
    }

    @Test func `later ones see what earlier ones did`() throws {
        let graph = try graph(
            "buses: { status: { initial: first, description: one } }", "buses: { status: { initial: second } }")
        #expect(graph.buses.first?.initial == .string("second"))
        #expect(graph.buses.first?.description == "one")
    }

    @Test func `a mistake is shown in the file where it was made`() {
        #expect(
            messages("# a comment with ü\nsystem: backup\nfeedbacks: { copy: { onSuccess: Don } }") == """
                /etc/b.yaml.d/0.yaml:3:33: error: 'backup' has no event 'Don' [unknown-event]
                  feedbacks: { copy: { onSuccess: Don } }
                                                  ^~~
                  hint: did you mean 'Done'?
                """)
        #expect(
            messages(
                "system: backup\nstates: { Idle: null, Rest: { runs: int } }\ninitialState: !replace { Rest: { runs: 0 } }"
            )
                == """
                /lib/b.yaml:9:3: error: 'backup' has no state 'Idle' [unknown-state]
                    Idle: { Start: Running }
                    ^~~~
                  note: /etc/b.yaml.d/0.yaml:2:11: it is removed here
                  note: /lib/b.yaml:10:20: here, too
                  note: /lib/b.yaml:14:48: here, too
                  hint: possible here: Running, Rest
                """)
    }

    @Test func `what a drop-in removes and another file uses is told with where it is removed`() {
        let other = ConfigurationFile(
            path: "/lib/c.yaml",
            text: "links: { more: { attach: backup, to: status, onState: Running, emitValue: busy } }\n")
        let without = "links: { tell: null, hear: null }\nbuses:\n  status: null\n"
        let result = ConfigurationCompiler.compile(files: [file([without]), other])
        #expect(
            result.partial.map { $0.rendered() } == [
                """
                /lib/c.yaml:1:38: error: there is no bus 'status' [unknown-bus]
                  links: { more: { attach: backup, to: status, onState: Running, emitValue: busy } }
                                                       ^~~~~~
                  note: /etc/b.yaml.d/0.yaml:3:3: it is removed here
                  hint: add it under 'buses'
                """
            ])
    }

    @Test func `what is removed of one explains nothing of another`() {
        let other = ConfigurationFile(
            path: "/lib/c.yaml",
            text: """
                system: other
                states: { A: {} }
                events: { Go: {} }
                fromOutside: any
                initialState: A
                transitions: { A: { Go: look }, Idle: { Go: tell } }

                """)
        let without = "links: { tell: null }\n---\nsystem: backup\nfeedbacks: { look: null }\n"
        let found = ConfigurationCompiler.compile(files: [file([without]), other]).partial
        #expect(found.map(\.code) == [.unknownState, .unknownState, .unknownState])
        #expect(found.allSatisfy { $0.notes.isEmpty }, "\(found.map { $0.rendered() })")
    }

    @Test func `what changes a link of another file is told where that belongs`() {
        var other = ConfigurationFile(
            path: "/etc/a.yaml",
            text: "system: a\nstates: { A: {} }\nevents: { E: {} }\ninitialState: A\ntransitions: { A: { E: stay } }\n")
        other.dropIns = [ConfigurationFile(path: "/etc/a.yaml.d/0.yaml", text: "links: { tell: { emitValue: b } }\n")]
        let result = ConfigurationCompiler.compile(files: [other, file([])])
        #expect(
            result.partial.map { $0.rendered() } == [
                """
                /etc/a.yaml.d/0.yaml:1:10: error: there is a link 'tell' already, at /lib/b.yaml:14:3 [duplicate-name]
                  links: { tell: { emitValue: b } }
                           ^~~~
                  hint: to change that one, write it into a drop-in of its file: /lib/b.yaml.d/0.yaml
                """
            ])
    }

    @Test func `an expression's mistake is shown within its text`() {
        #expect(
            messages("links: { tell: { emitValue: \"was ${state.rnus}\" } }") == """
                /etc/b.yaml.d/0.yaml:1:42: error: 'state' (Idle) has no field 'rnus' [unknown-field]
                  links: { tell: { emitValue: "was ${state.rnus}" } }
                                                           ^~~~
                  hint: did you mean 'runs'?
                """)
    }

    @Test func `a system that the file does not have is a mistake`() {
        #expect(
            messages("system: bakcup\nready: Idle") == """
                /etc/b.yaml.d/0.yaml:1:9: error: there is no system 'bakcup' in the file of this drop-in [unknown-system]
                  system: bakcup
                          ^~~~~~
                  hint: did you mean 'backup'?
                """)
    }

    @Test func `removing what is not there is warned of`() {
        let result = result("system: backup\nfeedbacks: { cpy: null, copy: { onLine: ~ } }\nready: null")
        #expect(result.graph != nil)
        #expect(
            result.partial.map(\.code) == [.nothingToRemove, .nothingToRemove, .nothingToRemove])
        #expect(
            result.diagnostics.first?.rendered() == """
                /etc/b.yaml.d/0.yaml:2:14: warning: there is no 'cpy' here that could be removed [nothing-to-remove]
                  feedbacks: { cpy: null, copy: { onLine: ~ } }
                               ^~~
                  hint: to add it, write its keys, or {} for none
                """)
    }

    @Test func `a document that changes nothing known is a mistake`() {
        #expect(
            messages("feedbacks: { copy: { after: 1s } }") == """
                /etc/b.yaml.d/0.yaml:1:1: error: a drop-in's document names the system it changes with 'system', or \
                holds 'buses', 'links', 'instances', 'groups', 'access', 'limits' or 'store' [document-kind]
                  feedbacks: { copy: { after: 1s } }
                  ^~~~~~~~~
                  hint: write system: backup
                """)
        #expect(messages("links: {}\nlinsk: {}").contains("has no key 'linsk' [unknown-key]"))
        #expect(messages("[a]").contains("a document must be a mapping, not a list [wrong-shape]"))
    }

    @Test func `the mark has a meaning only on a mapping of a drop-in`() {
        #expect(messages("system: backup\nready: !replace [Idle]").contains("'!replace' marks a mapping [tag]"))
        let main = ConfigurationCompiler.compile(files: [
            ConfigurationFile(path: "a.yaml", text: "links: !replace {}")
        ])
        #expect(main.diagnostics.map(\.message) == ["'!replace' has a meaning only in a drop-in"])
    }

    @Test func `a drop-in that is no YAML does not hide other mistakes`() {
        let printed = messages("system: [", "system: backup\nready: Idel")
        #expect(printed.contains("/etc/b.yaml.d/0.yaml:"))
        #expect(printed.contains("/etc/b.yaml.d/1.yaml:2:8: error: 'backup' has no state 'Idel' [unknown-state]"))
    }

    @Test func `drop-ins have a limit together`() {
        let large = "#" + String(repeating: "x", count: ConfigurationLimits.fileSize - 1)
        let count = ConfigurationLimits.layeredSize / ConfigurationLimits.fileSize
        let result = ConfigurationCompiler.compile(files: [file(Array(repeating: large, count: count))])
        #expect(result.diagnostics.map(\.code) == [.tooLarge])
        let one = self.result(large + "x")
        #expect(one.diagnostics.map { $0.location?.file } == ["/etc/b.yaml.d/0.yaml"])
    }

    /// With a time for each that grows with the number before it, these would take minutes.
    @Test(.timeLimit(.minutes(5))) func `merging takes linear time`() throws {
        func file(_ section: (Int) -> String) -> ConfigurationFile {
            self.file((0..<1_500).map { section($0) })
        }
        func entries(_ number: Int, _ value: String) -> String {
            (0..<40).map { "T\(number)x\($0): \(value)" }.joined(separator: ", ")
        }
        let links = file { "links: { \(entries($0, "{ attach: backup }")) }" }
        let feedbacks = file { "system: backup\nfeedbacks: { \(entries($0, "{ onState: any }")) }" }
        for (file, key) in [(links, "links"), (feedbacks, "feedbacks")] {
            let merged = ConfigurationCompiler.merged(files: [file])
            #expect(merged.diagnostics == [])
            #expect(merged.documents.compactMap { $0.root[key]?.entries.count } == [60_002])
        }
    }

    @Test(.timeLimit(.minutes(5))) func `drop-ins with too many states are one error`() {
        let states = (0..<400).map { "x\($0): {}" }
        let file = self.file(
            (0..<1_500).map { number in
                "system: backup\nstates: { \(states.map { "T\(number)\($0)" }.joined(separator: ", ")) }"
            })
        let result = ConfigurationCompiler.compile(files: [file])
        #expect(result.diagnostics.map(\.message) == ["'backup' has more than 1000 states"])
        // The others are not read.
        let read = ConfigurationCompiler.merged(files: [file]).documents[0].root["states"]?.entries.count ?? 0
        #expect(read > ConfigurationLimits.states && read < 10_000)
    }

    @Test func `what was removed can come back, at the end`() throws {
        let graph = try graph(
            "system: backup\nevents: { Start: null }\ntransitions: { Idle: null, Running: { Start: null } }\n---\n"
                + "links: { hear: null, tell: null }",
            "system: backup\nevents: { Start: {} }\n---\n"
                + "links: { hear: { attach: backup, to: status, onValue: go, emitEvent: Start } }",
            "links: { hear: { onValue: stop } }")
        #expect(graph.systems.first?.events.map(\.name) == ["Done", "Start"])
        #expect(graph.links.map(\.name) == ["hear"])
        #expect(graph.links.first?.source.description == "/etc/b.yaml.d/1.yaml:4:10")
    }

    @Test func `a section that replaces another can be changed again`() throws {
        let graph = try graph(
            "links: !replace { one: { attach: backup, to: status, onState: any, emitValue: x } }",
            "links: { one: { onState: Idle }, two: { attach: backup, to: status, onState: any, emitValue: x } }",
            "links: { one: null }")
        #expect(graph.links.map(\.name) == ["two"])
    }

    /// Random drop-ins for random files, in two orders.
    @Test(arguments: 0..<50) func `the order of reading changes nothing`(seed: UInt64) throws {
        var random = Random(state: seed)
        var files: [ConfigurationFile] = []
        for index in 0..<6 {
            let name = "s\(index)"
            var file = ConfigurationFile(
                path: "/lib/\(name).yaml",
                text: "system: \(name)\nstates: { A: {}, B: {}, C: {} }\ninitialState: A\n---\nbuses: "
                    + "{ \(name): { kind: currentValue, value: int, initial: 0 } }\n")
            for number in 0..<Int.random(in: 0..<5, using: &random) {
                let state = ["A", "B", "C", "D"].randomElement(using: &random) ?? "A"
                let layer = ["etc", "run", "lib"].randomElement(using: &random) ?? "etc"
                file.dropIns.append(
                    ConfigurationFile(
                        path: "/\(layer)/\(name).yaml.d/\(number).yaml",
                        text: "system: \(name)\ninitialState: \(state)\n---\nbuses: { \(name): { initial: \(number) } }"
                    ))
            }
            files.append(file)
        }
        let expected = ConfigurationCompiler.compile(files: files)
        for _ in 0..<5 {
            files.shuffle(using: &random)
            for index in files.indices { files[index].dropIns.shuffle(using: &random) }
            let result = ConfigurationCompiler.compile(files: files)
            #expect(result.diagnostics == expected.diagnostics)
            #expect(result.files == expected.files)
            #expect(result.graph.map(Self.summary) == expected.graph.map(Self.summary))
        }
    }

    private static func summary(_ graph: Graph) -> [String] {
        graph.systems.map { "\($0.name) \($0.initialState.state) \($0.source)" }
            + graph.buses.map { "\($0.name) \(String(describing: $0.initial)) \($0.source)" }
    }
}
