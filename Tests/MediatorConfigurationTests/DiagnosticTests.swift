import MediatorConfiguration
import Testing

@Suite struct `Diagnostics` {
    private static let mistakes = [
        `YAML mistakes`.all, `Document mistakes`.all, `System mistakes`.all, `Transition mistakes`.all,
        `Feedback mistakes`.all, `Schedule mistakes`.all, `Parameter mistakes`.all,
        `Network parameter mistakes`.all, `Side effect mistakes`.all, `Outcome mistakes`.all, `Rule mistakes`.all,
        `Link value mistakes`.all, `Bus mistakes`.all, `Link mistakes`.all, `Silenced mistakes`.all,
        `External mistakes`.all,
    ].flatMap(\.self)

    @Test func `every code is in a test with its exact words`() {
        // Those of whole files and of limits are in the suites of their own.
        let elsewhere: Set<Diagnostic.Code> = [
            .unreadable, .tooLarge, .tooDeep, .tooManyDiagnostics, .encoding, .noFiles, .unusedDropIn,
            .nothingToRemove,
            // Those of the whole are in the corpus.
            .initialState, .loop, .cutShort, .needlessLoop, .unreachableState, .uncausedEvent, .unhandledEvent,
            .unreachableLink, .unknownInput, .unsetInput, .alwaysLoop, .deadEnd, .doubtfulOutcome,
            .unhandledFailure, .noTimeLimit, .undecidedPersistence, .persistedSecret,
            .unwrittenBus, .unreadBus, .unmatchedValue, .unmatchedCondition, .pastCalendarTime,
            // Kinds have mistakes of their own.
            .unknownKind,
            // Accounts are looked for by the daemon.
            .unknownAccount,
        ]
        let tested = Set(Self.mistakes.flatMap { compile($0.text).partial.map(\.code) })
        #expect(Set(Diagnostic.Code.all) == tested.union(elsewhere))
        #expect(Set(Diagnostic.Code.all.map(\.rawValue)).count == Diagnostic.Code.all.count)
        #expect(Self.mistakes.count >= 60)
    }

    @Test func `a name that is not there hides no other mistake, however often it is used`() throws {
        let links = (0..<1_200).map { "  l\($0): { attach: s, to: wishes, onValue: a, emitEvent: E }\n" }.joined()
        let result = compile(
            """
            system: s
            states: { A: {} }
            events: { E: {} }
            initialState: A
            transitions: { A: { E: stay } }
            ---
            links:
            \(links)  last: { attach: s, toSystem: s, onState: B, emitEvent: E }

            """)
        #expect(result.diagnostics.filter { $0.severity == .error }.map(\.code) == [.unknownBus, .unknownState])
        let first = try #require(result.diagnostics.first { $0.code == .unknownBus })
        #expect(first.notes.count == 1_199 && Set(first.notes).count == 1_199)
        let lines = first.rendered().split(separator: "\n")
        #expect(lines.count == 3 + 8 + 2)
        #expect(lines[11] == "  note: and at 1191 more places")
    }

    @Test func `a mistake in a file is one message unless it says otherwise`() {
        let several: Set<String> = [
            "a quote that runs into the next document", "a broken document silences who refers to it",
            "a misspelt key does not hide a wrong name beside it",
            "a foreign key is what is missing, and hides no wrong name",
            "a wrong state does not hide a wrong field", "a wrong state does not hide a wrong field of an event",
            "a publication in a state that there is not, on a bus that there is not",
        ]
        for mistake in Self.mistakes {
            let count = compile(mistake.text).partial.count
            #expect(count == 1 || several.contains(mistake.name), "\(mistake.name)")
        }
    }

    @Test func `colour surrounds, and changes no word`() {
        let diagnostic = Diagnostic(
            code: .unknownState, location: SourceLocation(file: "a.yaml", line: 7, column: 14),
            message: "'disk' has no state 'Normel'", hint: "did you mean 'Normal'?", excerpt: "    Cleaned: Normel",
            caretOffset: 13, caretLength: 6)
        let plain = """
            a.yaml:7:14: error: 'disk' has no state 'Normel' [unknown-state]
                  Cleaned: Normel
                           ^~~~~~
              hint: did you mean 'Normal'?
            """
        #expect(diagnostic.rendered() == plain)
        let coloured = diagnostic.rendered(colour: true)
        #expect(
            coloured
                == "\u{1B}[1ma.yaml:7:14: \u{1B}[0m\u{1B}[1;31merror: \u{1B}[0m"
                + "\u{1B}[1m'disk' has no state 'Normel'\u{1B}[0m [unknown-state]\n      Cleaned: Normel\n"
                + "               \u{1B}[1;32m^~~~~~\u{1B}[0m\n  hint: did you mean 'Normal'?")
        #expect(coloured.replacing(/\u{1B}\[[0-9;]*m/, with: "") == plain)
    }

    @Test func `the order is by place, then by severity`() {
        func diagnostic(_ file: String?, _ line: Int, _ column: Int, _ severity: Diagnostic.Severity) -> Diagnostic {
            Diagnostic(
                severity: severity, code: .syntax,
                location: file.map { SourceLocation(file: $0, line: line, column: column) }, message: "m")
        }
        let sorted = [
            diagnostic(nil, 0, 0, .error), diagnostic("a", 1, 2, .error), diagnostic("a", 1, 2, .warning),
            diagnostic("a", 1, 10, .error), diagnostic("a", 2, 1, .error), diagnostic("b", 1, 1, .error),
        ]
        #expect(sorted.reversed().sorted() == sorted)
        #expect(sorted.shuffled().sorted() == sorted)
    }

    @Test func `lengths cannot be senseless`() {
        let diagnostic = Diagnostic(code: .syntax, message: "m", excerpt: "x", caretOffset: -1, caretLength: 0)
        #expect(diagnostic.rendered() == "error: m [syntax]\n  x\n  ^")
    }

    @Test func `a name with control characters cannot paint the terminal`() throws {
        let diagnostic = try #require(
            compile("system: \"\\e[31m\\n\"\nstates: { A: {} }\ninitialState: A").diagnostics.first)
        #expect(diagnostic.message == "' [31m ' cannot name a system")
    }
}
