import MediatorConfiguration
import Testing

/// Hints for slips, and that they are not given where something else is wrong.
@Suite struct `Hints for slips` {
    private func told(_ when: String, set: String = "x") -> [Diagnostic] {
        let file = ConfigurationFile(
            path: "a.yaml",
            text: """
                system: lamp
                states: { Off: { n: int, s: string }, On: { s: string } }
                events: { Press: { by: string } }
                fromOutside: any
                initialState: { Off: { n: 1, s: a } }
                transitions:
                  Off:
                    Press:
                      - when: \(when)
                        to: On
                        set: { s: \(set) }
                      - stay
                  On: { Press: stay }

                """)
        return ConfigurationCompiler.compile(files: [file]).diagnostics.filter { $0.severity == .error }
    }

    private func hints(_ when: String, set: String = "x") -> [String] { told(when, set: set).map { $0.hint ?? "" } }

    @Test func `a comment that cuts an expression off is told only where it does`() {
        #expect(hints(#"state.s == "a #1""#).first?.hasPrefix("what follows ' #' is a comment") == true)
        #expect(hints("state.n > 1 && # more").first?.hasPrefix("what follows ' #' is a comment") == true)
        let other = told("state.n > 1; # foo")
        #expect(other.map(\.message) == ["';' is not part of the language"])
        #expect(other.map(\.hint) == [nil])
    }

    @Test func `a comment of an expression is told only where it begins behind what is wrong`() {
        let comment = "'//' begins a comment; write '/' to divide"
        #expect(hints(#""state.n // 2 > 1""#) == [comment])
        #expect(hints(#""state.s == 'http://x' && state.n == 'a'""#).allSatisfy { $0 != comment })
        #expect(hints("state.n > 0", set: #""http://x/${event.by + 1}""#).allSatisfy { $0 != comment })
    }

    @Test func `two braces are told only where they are`() {
        #expect(hints("state.n > 0", set: #""${{ event.by }}""#).first?.contains("one brace each") == true)
        #expect(hints("state.n > 0", set: #""$${{x}} ${event.by + 1}""#).allSatisfy { !$0.contains("one brace") })
        #expect(hints("state.n > 0", set: #""${{'a': 1}.b}""#).allSatisfy { !$0.contains("one brace") })
    }

    @Test func `a name where a text may be meant`() {
        #expect(hints("state.s == foo").first?.hasSuffix(#"a text is written "foo""#) == true)
        #expect(hints("state.s.contains(foo)").first?.hasSuffix(#"a text is written "foo""#) == true)
        #expect(hints("(foo && state.n > 0)").allSatisfy { !$0.contains("a text is written") })
        #expect(hints("state.n > 0", set: #""${foo}""#).allSatisfy { !$0.contains("is written") })
        #expect(hints("state.n > 0", set: #""${NAME}""#).first?.hasSuffix("is written !env NAME") == true)
        #expect(
            hints("state.n > 0", set: #""for i in 1; do echo ${i}; done""#).first?.hasSuffix("'$${i}' here") == true)
    }

    @Test func `what stands in a comment or a text is no cause of an error`() {
        func notes(_ text: String) -> [String] {
            ConfigurationCompiler.compile(files: [ConfigurationFile(path: "a.yaml", text: text)]).diagnostics
                .flatMap { $0.notes.map(\.message) }
        }
        let system = """
            system: lamp
            states: { Off: { s: string } }
            events: { Press: {} }
            fromOutside: any
            initialState: { Off: { s: "Prix\u{a0}: 3", k: 1 } }
            # Note\u{a0}: un commentaire
            transitions: { Off: { Pres: stay } }

            """
        #expect(notes(system).isEmpty)
        #expect(!notes(system.replacing("{ Pres:", with: "{\u{a0}Pres:")).isEmpty)
    }

    @Test(arguments: ["<<<<<<< HEAD", "=======", ">>>>>>> other", "||||||| base"])
    func `a mark of a merge is told whichever is left`(mark: String) {
        let text = "system: lamp\nstates: { Off: {} }\n\(mark)\nevents: { Press: {} }\ninitialState: Off\n"
        let found = ConfigurationCompiler.compile(files: [ConfigurationFile(path: "a.yaml", text: text)]).diagnostics
        #expect(found.first?.message == "a merge has left a mark here" && found.first?.location?.line == 3, "\(found)")
    }

    @Test(arguments: [
        ("run: { argv: [ls] }", "command"), ("run: { cmd: [ls] }", "command"), ("run: { args: [ls] }", "command"),
        ("run: { command: [ls], cwd: / }", "directory"), ("run: { command: [ls], workingDirectory: / }", "directory"),
        ("run: { command: [ls], env: {} }", "environment"), ("exec: [ls]", "run"), ("ExecStart: [ls]", "run"),
        ("run: [ls], retries: 3", "retry"), ("run: [ls], onError: Press", "onFailure"),
    ])
    func `keys as other programs call them`(feedback: String, meant: String) {
        let text = """
            system: lamp
            states: { Off: {} }
            events: { Press: {} }
            fromOutside: any
            initialState: Off
            feedbacks: { f: { onState: Off, \(feedback) } }
            transitions: { Off: { Press: stay } }

            """
        let found = ConfigurationCompiler.compile(files: [ConfigurationFile(path: "a.yaml", text: text)]).diagnostics
            .filter { $0.severity == .error }
        #expect(found.contains { $0.hint == "did you mean '\(meant)'?" }, "\(found.map { $0.rendered() })")
    }

    @Test func `a long copy hides no other mistake`() {
        let buses =
            "buses:\n" + (1...1_500).map { "  b\($0): { kind: passthrough, value: int, fromOutside: both }\n" }.joined()
        let link = "links: { l: { attach: nobody, to: b1, onState: A, emitValue: 1 } }\n"
        let found = ConfigurationCompiler.compile(files: [
            ConfigurationFile(path: "a.yaml", text: buses), ConfigurationFile(path: "b.yaml", text: buses + link),
        ]).diagnostics
        #expect(found.map(\.code) == [.duplicateName, .unknownSystem], "\(found.map(\.message))")
    }
}
