import MediatorConfiguration
import Testing

/// Words of a shell in commands: the ones that cause a warning, and above all those that do not.
@Suite struct `Words of a shell` {
    /// The warnings about a command, in short: the marked element, and whether it is a script.
    private func told(_ command: String) -> [String] {
        let file = ConfigurationFile(
            path: "a.yaml",
            text: """
                system: disk
                states: { Full: { used: int, on: bool, since: timestamp, name: string, names: list(string) } }
                events: { Go: {} }
                fromOutside: any
                initialState: { Full: { used: 0, on: true, since: "${now}", name: x, names: [] } }
                feedbacks:
                  clean: { onState: Full, run: \(command) }
                transitions: { Full: { Go: stay } }

                """)
        let result = ConfigurationCompiler.compile(files: [file])
        #expect(result.errors == 0, "\(result.diagnostics.map { $0.rendered() })")
        return result.diagnostics.filter { $0.code == .shellSyntax }.map { $0.message }
    }

    @Test(arguments: [
        #"[find, /tmp, -exec, rm, "{}", ;]"#, #"[ssh, host, ls, "&&", ls]"#, #"[expr, "1", ">", "2"]"#,
        #"[awk, "{ print $(NF) }", "$1"]"#, #"[dpkg, --compare-versions, "1.0", "<<", "2.0"]"#,
        #"[cut, -d, "|", -f1, f]"#, #"[/usr/bin/sort, -t, "|", f]"#, #"[tcpdump, host, a, "&&", port, "80"]"#,
        #"[grep, -c, "&", f]"#, "[envsubst, $HOME]", "[systemd-run, echo, $HOME]", #"[sudo, ssh, x, ls, "&&", ls]"#,
        #"[bash, -x, script.sh, "&&"]"#, #"[tool, -d, "|", x]"#, #"[tool, "|"]"#, #"[tool, a, ">", b]"#,
        #"[sh, -c, 'echo "$1" && ls ~/x', sh, "${state.name}"]"#, #"[sh, -c, "echo ${state.used}"]"#,
        #"[sh, -c, "systemctl ${state.on ? 'start' : 'stop'} foo"]"#, #"[sh, -c, "echo ${string(state.used)}"]"#,
        #"[sh, -c, "echo ${string(now)} ${state.since}"]"#, #"[tool, "${'&&'}", x]"#, "[jq, -n, $x, f]",
        #"[ssh, -p, "22", -v, "${state.name}", uptime]"#, #"[ssh, -i, "${state.name}", host, ls]"#,
        #"[bash, script.sh, -c, "${state.name}"]"#, #"[tool, "a > b", "x|y", $5, "100$"]"#,
        #"[tool, 5", size=7', "it's", 'x"', a"b"]"#, #"[cut, -d", -f2, /etc/os-release]"#, "[echo, the dogs']",
    ])
    func `are no slips where another program means something by them`(command: String) {
        #expect(told(command).isEmpty)
    }

    @Test(arguments: [
        #"[sh, -c, "echo it's late"]"#, #"[sh, -c, "echo 'hi"]"#, #"[bash, -ec, 'echo "hi; ls "/tmp"']"#,
        #"[sudo, sh, -c, "ls 'a' 'b"]"#, #"[sh, -c, "echo \\\\'a"]"#,
    ])
    func `with a quote that never ends are told`(command: String) {
        let told = told(command)
        #expect(told.count == 1 && told[0].hasPrefix("the quote ") && told[0].hasSuffix("never ends"), "\(told)")
    }

    @Test(arguments: [
        #"[sh, -c, "echo \"it's\""]"#, #"[sh, -c, "echo it\\'s"]"#, #"[sh, -c, 'echo "a\"b"']"#,
        #"[sh, -c, "ls # it's"]"#, #"[sh, -c, 'echo "$(cat "it''s")"']"#,
        #"[sh, -c, "cat <<E\nit's\nE"]"#, #"[sh, -c, "echo $'it\\'s'"]"#,
        #"[echo, "it's"]"#,
    ])
    func `with quotes that end, or that may, are not told`(command: String) {
        #expect(told(command).isEmpty, "\(told(command))")
    }

    @Test(arguments: [
        (#"[sync, "&&", ls]"#, "'&&' as it stands"), (#"[ls, "|", wc, -l]"#, "'|' as it stands"),
        (#"[ls, ">", /tmp/x]"#, "'>' as it stands"), (#"[ls, "2>/dev/null"]"#, "'2>/dev/null' as it stands"),
        (#"[ls, ">>/tmp/x"]"#, "'>>/tmp/x' as it stands"), (#"[ls, "2>&1"]"#, "'2>&1' as it stands"),
        ("[ls, $HOME/x]", "'$HOME/x' as it stands"), (#"["$PROG", x]"#, "'$PROG' as it stands"),
        ("[~/bin/x]", "'~/bin/x' as it stands"), (#"[echo, "$(date)"]"#, "'$(date)' as it stands"),
        ("[ls -l, /]", "with its spaces"), ("[cd, /tmp]", "is no program"),
    ])
    func `are told where no shell sees them`(command: String, words: String) {
        let told = told(command)
        #expect(told.count == 1 && told[0].contains(words), "\(told)")
    }

    @Test(arguments: [
        #"[sh, -c, "ls ${state.name}"]"#, #"[/bin/bash, -ec, "ls ${state.name}"]"#,
        #"[bash, -o, pipefail, -c, "ls ${state.name}"]"#, #"[bash, -euxo, pipefail, -c, "ls ${state.name}"]"#,
        #"[bash, --login, -c, "ls ${state.names[0]}"]"#, #"[sudo, -u, x, bash, -c, "ls ${state.name}"]"#,
        #"[env, A=b, sh, -c, "ls ${state.name}"]"#, #"[/usr/bin/env, bash, -c, "${state.name}"]"#,
        #"[ssh, host, "ls ${state.name}"]"#, #"[ssh, -l, root, -q, host, ls, "${state.name}"]"#,
        #"[sh, -c, "echo ${state.on ? state.name : 'x'}"]"#,
    ])
    func `may come with data that a shell would run`(command: String) {
        #expect(told(command) == ["the shell runs these data as part of the script"])
    }
}
