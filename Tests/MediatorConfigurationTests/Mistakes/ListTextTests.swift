import MediatorConfiguration
import Testing

@Suite struct `A list of texts that was written as one text` {
    private func hint(_ run: String) throws -> String {
        let text = """
            system: s
            states: { A: {} }
            events: { E: {} }
            initialState: A
            feedbacks:
              f:
                onState: A
                onSuccess: E
                run: \(run)
            transitions: { A: { E: A } }
            """
        let result = ConfigurationCompiler.compile(files: [ConfigurationFile(path: "a.yaml", text: text)])
        let error = try #require(result.diagnostics.first { $0.severity == .error })
        let hint = try #require(error.hint)
        // The advice is the intended value.
        if !hint.contains("…") {
            let mended = text.replacing("run: \(run)", with: "run: \(hint.replacing("write a list: ", with: ""))")
            let again = ConfigurationCompiler.compile(files: [ConfigurationFile(path: "a.yaml", text: mended)])
            #expect(!again.diagnostics.contains { $0.severity == .error }, "\(again.diagnostics.map(\.message))")
        }
        return hint
    }

    @Test(
        arguments: [
            ("df -h /", "[df, -h, /]"), ("sleep 5", #"[sleep, "5"]"#), ("dim-lamp --now", "[dim-lamp, --now]"),
            ("systemctl is-active true", #"[systemctl, is-active, "true"]"#),
            (#"'echo "hello world" 5'"#, #"[sh, -c, "echo \"hello world\" 5"]"#),
            ("sh -c 'test -e /x && echo a'", #"[sh, -c, "test -e /x && echo a"]"#),
            (#"bash -c "exit 3""#, #"[bash, -c, "exit 3"]"#), ("FOO=1 prog x", #"[sh, -c, "FOO=1 prog x"]"#),
            ("ls ~/x", #"[sh, -c, "ls ~/x"]"#), ("cd /tmp", #"[sh, -c, "cd /tmp"]"#),
            ("df -h / | tail -1", #"[sh, -c, "df -h / | tail -1"]"#),
            ("rm $HOME/x", #"[sh, -c, "rm $HOME/x"]"#), ("grep [a-z], x", #"[grep, "[a-z],", x]"#),
            (#""a\\b c""#, #"[sh, -c, "a\\b c"]"#),
            ("|\n      #!/bin/sh\n      sleep 1\n", ##"[sh, -c, "#!/bin/sh\nsleep 1\n"]"##),
            ("|\n      cd /srv\n      \(String(repeating: "tar c . | ", count: 9))cat\n", #"[sh, -c, "…"]"#),
        ])
    func `is told as the list that was meant`(run: String, list: String) throws {
        #expect(try hint(run) == "write a list: \(list)")
    }
}
