import CommonExpression
import MediatorConfiguration
import Testing

/// Expressions that YAML ends too early, since they stand within `{ … }` or `[ … ]` without quotes.
@Suite struct `Expressions without quotes` {
    private static let head = """
        system: lamp
        states: { Off: { n: int, l: list(int), s: string }, On: {} }
        events: { Press: { n: int, t: string }, Other: {} }
        fromOutside: any
        initialState: { Off: { n: 1, l: [], s: a } }
        transitions:
          On: { Press: stay, Other: stay }
          Off:
            Other: On

        """

    private static func found(_ line: String) -> [Diagnostic] {
        compile(Self.head + "    " + line + "\n").diagnostics
    }

    @Test(arguments: [
        ("Press: { when: state.l.exists(x, x == event.n), to: On }", ",", #""state.l.exists(x, x == event.n)""#),
        (
            "Press: { to: On, when: state.l.filter(x, x > 1).size() > 0 }", ",",
            #""state.l.filter(x, x > 1).size() > 0""#
        ),
        ("Press: { when: cel.bind(x, 1, x == event.n), to: On }", ",", #""cel.bind(x, 1, x == event.n)""#),
        (
            "Press: { when: math.greatest(state.n, event.n) > 3, to: On }", ",",
            #""math.greatest(state.n, event.n) > 3""#
        ),
        ("Press: { when: event.t.split(',').size() > 1, to: On }", ",", #""event.t.split(',').size() > 1""#),
        (#"Press: { when: event.t.split(",").size() > 1, to: On }"#, ",", #"'event.t.split(",").size() > 1'"#),
        (
            #"Press: { when: event.t.split(",") == ['a'], to: On }"#, ",", #"'event.t.split(",") == [''a'']'"#
        ),
        ("Press: { when: event.n > 1 ? true : false, to: On }", ": ", #""event.n > 1 ? true : false""#),
        (
            "Press: { when: event.n > 1 ? math.least(1, event.n) > 0 : false, to: On }", ",",
            #""event.n > 1 ? math.least(1, event.n) > 0 : false""#
        ),
        ("Press: { when: event.n in [1, 2], to: On }", "[", #""event.n in [1, 2]""#),
        ("Press: { when: [1, 2].exists(x, x == event.n), to: On }", nil, #""[1, 2].exists(x, x == event.n)""#),
        ("Press: { when: event.t in {'a': 1, 'b': 2}, to: On }", "{", #""event.t in {'a': 1, 'b': 2}""#),
        ("Press: { when: {'a': 1}['a'] == event.n, to: On }", nil, #""{'a': 1}['a'] == event.n""#),
        ("Press: { when: state.l[0] == 1, to: On }", "[", #""state.l[0] == 1""#),
        ("Press: { when: 'a' in [event.t], to: On }", nil, #""'a' in [event.t]""#),
        (#"Press: { when: "a" == event.t, to: On }"#, nil, #"'"a" == event.t'"#),
        ("Press: { when: event.t == 'a, b', to: On }", ",", #""event.t == 'a, b'""#),
        (#"Press: { when: event.t.matches("\\d,"), to: On }"#, ",", #"'event.t.matches("\\d,")'"#),
        ("Press: { when: !event.t.contains('a'), to: On }", "!", #""!event.t.contains('a')""#),
        ("Press: { when: !(event.n > 1), to: On }", "!", #""!(event.n > 1)""#),
        ("Press: [{ when: math.least(event.n, 1, 2) > 1, to: On }, stay]", ",", #""math.least(event.n, 1, 2) > 1""#),
        (
            "Press: [{ when: event.n > 1, to: Off, set: { n: ${math.least(event.n, 1)} } }, stay]", "{",
            #""${math.least(event.n, 1)}""#
        ),
        ("Press: { when: event.n in [1, 2], to: On } # [a, b], 'it''s'", "[", #""event.n in [1, 2]""#),
        ("Press: { when: event.n > 1 ? true : false, to: On, }", ": ", #""event.n > 1 ? true : false""#),
    ])
    func `are told once, with the line as it must be`(line: String, character: String?, quoted: String) throws {
        let found = Self.found(line)
        #expect(found.count == 1, "\(found.map { $0.rendered() }.joined(separator: "\n"))")
        let first = try #require(found.first)
        #expect(first.code == .syntax && first.message.hasSuffix("so it needs quotes"))
        #expect(first.message.contains("'when'") || first.message.contains("'n'"))
        if let character { #expect(first.message.contains("'\(character)'")) }
        let hint = try #require(first.hint)
        #expect(hint.contains(quoted), "\(hint)")
        #expect(first.location?.line == 10 && first.location?.column == Self.column(of: quoted, in: line))
        // The line of the hint is sound.
        let pasted = Self.found(String(hint.dropFirst("write ".count))).filter { $0.severity == .error }
        #expect(pasted.isEmpty, "\(pasted.map { $0.rendered() }.joined(separator: "\n"))")
    }

    /// The place of the quoted value.
    private static func column(of quoted: String, in line: String) -> Int? {
        let value = quoted.dropFirst().dropLast().replacing("''", with: quoted.hasPrefix("'") ? "'" : "''")
        return line.firstRange(of: value).map { 5 + line.distance(from: line.startIndex, to: $0.lowerBound) }
    }

    @Test func `several in a line are one mistake`() {
        let found = Self.found(
            "Press: [{ when: math.least(event.n, 1) > 1, to: On }, { when: math.least(event.n, 2) > 1, to: stay }]")
        #expect(found.count == 1)
        #expect(
            found.first?.hint
                == #"write Press: [{ when: "math.least(event.n, 1) > 1", to: On }, { when: "math.least(event.n, 2) > 1", to: stay }]"#
        )
    }

    @Test func `in several lines are each one mistake`() {
        let found = Self.found(
            "Press:\n      - { when: math.least(event.n, 1) > 1, to: On }\n      - { when: math.least(event.n, 2) > 1, to: On }"
        )
        #expect(found.map { $0.location?.line } == [11, 12])
    }

    @Test func `that go over several lines are told with their key`() {
        let found = Self.found("Press: { when: math.least(event.n,\n        1) > 1,\n      to: On }")
        #expect(found.count == 1)
        #expect(found.first?.hint == #"write when: "math.least(event.n, 1) > 1""#)
    }

    @Test func `are looked at all the same`() {
        let found = Self.found("Press: { when: math.least(event.nn, 1) > 1, to: On }")
        #expect(found.map(\.code) == [.syntax, .unknownField])
    }

    @Test(arguments: [
        ("when: event.n > 1 ? true : false", #"when: "event.n > 1 ? true : false""#),
        (#"when: "a" == event.t"#, #"when: '"a" == event.t'"#),
        ("when: [1, 2].exists(x, x == event.n)", #"when: "[1, 2].exists(x, x == event.n)""#),
        ("when: !event.t.contains('a') && event.n > 1", #"when: "!event.t.contains('a') && event.n > 1""#),
        ("when: !event.t.contains('a')", #"when: "!event.t.contains('a')""#),
        ("when: !(event.n > 1)", #"when: "!(event.n > 1)""#), ("when: !value", #"when: "!value""#),
    ])
    func `outside of braces are told, too`(line: String, quoted: String) {
        let found = Self.found("Press:\n      \(line)\n      to: On")
        #expect(found.count == 1, "\(found.map { $0.rendered() }.joined(separator: "\n"))")
        #expect(found.first?.hint == "write \(quoted)", "\(found.map { $0.rendered() }.joined(separator: "\n"))")
        #expect(found.first?.location?.line == 11)
    }

    @Test func `are told in drop-ins and templates`() {
        let text =
            "system: lamp@\nparameters: { n: int }\nstates: { Off: {} }\nevents: { E: {} }\nfromOutside: any\n"
            + "initialState: Off\ntransitions: { Off: { E: { when: math.least(parameters.n, 1) > 1, to: Off } } }\n"
        let template = compile(text).diagnostics
        #expect(template.map(\.code) == [.syntax], "\(template.map { $0.rendered() }.joined(separator: "\n"))")
        let base = Self.head + "    Press: stay\n"
        let change = "system: lamp\ntransitions: { Off: { Press: { when: math.least(event.n, 1) > 1, to: On } } }\n"
        var file = ConfigurationFile(path: "lamp.yaml", text: base)
        file.dropIns = [ConfigurationFile(path: "lamp.yaml.d/10.yaml", text: change)]
        let dropIn = ConfigurationCompiler.compile(files: [file]).diagnostics
        #expect(dropIn.map(\.code) == [.syntax], "\(dropIn.map { $0.rendered() }.joined(separator: "\n"))")
    }

    /// Values that YAML takes whole, and texts that only look like expressions.
    @Test(arguments: [
        "Press: { when: event.n > 1 && (state.n > 2), to: On }", "Press: { when: (event.n > 1), to: On }",
        #"Press: { when: "event.n in [1, 2]", to: On }"#, "Press: { when: 'size([1, 2]) > 1', to: On }",
        "Press: { to: Off, set: { s: it's fine, n: 3 } }", "Press: { to: Off, set: { s: rock 'n roll, n: 3 } }",
        #"Press: { to: Off, set: { s: 5" wide, n: 3 } }"#, "Press: { to: Off, set: { s: a :-(, n: 3 } }",
        "Press: { to: Off, set: { s: really ? yes, n: 3 } }", "Press: { to: Off, set: { s: a::b, n: 3 } }",
        "Press: { to: Off, set: { s: (a) b (c), n: 3 } }", "Press: { to: Off, set: { l: [1, 2], n: 3 } }",
        #"Press: { to: Off, set: { s: "a, (b", n: 3 } }"#, #"Press: { "when": "true || event.n > 1", "to": "On" }"#,
        "Press:\n      when: math.least(event.n, 1) > 0\n      to: On", "Press: # a, (b\n      { to: On } # ' (",
        "Press: { when: event.n > 1 # (a\n      , to: On }",
        "Press:\n      when: >-\n        event.n > 1 ? true : false\n      to: On",
    ])
    func `are not seen where there are none`(line: String) {
        let found = Self.found(line)
        #expect(found.allSatisfy { $0.code != .syntax }, "\(found.map { $0.rendered() }.joined(separator: "\n"))")
        #expect(found.allSatisfy { $0.severity == .warning }, "\(found.map { $0.rendered() }.joined(separator: "\n"))")
    }

    /// The words of a command may have parentheses of their own.
    @Test(arguments: [
        "[find, /, (, -name, a, -o, -name, b, ), -print]", "[expr, (, 1, +, 2, ), '*', 3]", "[echo, it's, o'clock]",
        "[awk, '{ print $1, $2 }']", "[echo, a(b), c(d, e]", "[printf, \"%s, %s\", a, b]",
    ])
    func `are not seen in commands`(command: String) {
        let found = Self.found("Press: stay\nfeedbacks: { f: { onState: On, run: \(command) } }")
        #expect(found.allSatisfy { $0.code != .syntax }, "\(found.map { $0.rendered() }.joined(separator: "\n"))")
    }

    @Test(arguments: ["[echo, \"${a}\", ${math.least(1, 2)}]", "[echo, max(1, 2)]"])
    func `are seen in lists`(command: String) {
        let found = Self.found("Press: stay\nfeedbacks: { f: { onState: On, run: \(command) } }")
        #expect(found.map(\.code) == [.syntax], "\(found.map { $0.rendered() }.joined(separator: "\n"))")
    }

    /// A list whose element lacks the opening quote, and the element as it must be.
    @Test(arguments: [
        (#"[echo, at ${state.n}", "-c"]"#, #""at ${state.n}""#), (#"[echo, at ${state.n}"]"#, #""at ${state.n}""#),
        ("[echo, at ${state.n}', '-c']", #""at ${state.n}""#), (#"[echo, rm {}", "c"]"#, #""rm {}""#),
        (#"[echo, echo [a]"]"#, #""echo [a]""#), (#"[echo, f(a)", "-c"]"#, #""f(a)""#),
        (#"[echo, echo (a, b)", "c"]"#, #""echo (a, b)""#),
    ])
    func `without their opening quote only are told, and get that`(command: String, quoted: String) throws {
        let found = Self.found("Press: stay\nfeedbacks: { f: { onState: Off, run: \(command) } }")
        #expect(found.map(\.code) == [.syntax], "\(found.map { $0.rendered() }.joined(separator: "\n"))")
        #expect(found.first?.message == "the quote at the end of an element has no opening quote")
        let hint = try #require(found.first?.hint)
        #expect(hint.hasPrefix("write feedbacks: { f: ") && hint.contains("[echo, \(quoted)"), "\(hint)")
        let pasted = Self.found("Press: stay\n" + hint.dropFirst("write ".count)).filter { $0.severity == .error }
        #expect(pasted.isEmpty, "\(pasted.map { $0.rendered() }.joined(separator: "\n"))")
    }

    @Test(arguments: [#"["echo, "b", "c"]"#, #"[echo, ""b", "c"]"#])
    func `with a quote in a wrong place are not closed by a bracket`(command: String) {
        let found = Self.found("Press: stay\nfeedbacks: { f: { onState: Off, run: \(command) } }")
        #expect(found.map(\.code) == [.syntax], "\(found.map { $0.rendered() }.joined(separator: "\n"))")
        #expect(found.first?.hint?.hasPrefix("a text begins and ends with a quote") == true)
    }

    @Test func `cost no more than the text is long`() {
        let values = (0..<20_000).map { "k\($0): f(\($0), 1)" }.joined(separator: ", ")
        let unclosed = (0..<20_000).map { "k\($0): f(" }.joined(separator: ", ")
        for text in [values, unclosed, String(repeating: "{ a: f(", count: 20_000)] {
            let clock = ContinuousClock()
            let elapsed = clock.measure { _ = compile("system: { \(text) }\n") }
            #expect(elapsed < .seconds(20))
        }
    }
}
