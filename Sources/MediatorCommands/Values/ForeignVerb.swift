/// The verbs of systemctl, supervisorctl, docker and other programs, each with the verb that does the same here.
enum ForeignVerb {
    /// Returns a clause about the verb that does the same, or `nil` for an unknown word.
    static func hint(_ verb: String) -> String? { table[verb].map { "; \($0)" } }

    private static let table: [String: String] = Dictionary(
        [
            ("stop halt suspend disable", "`mediatorctl pause SYSTEM` holds a system; systemctl stops the daemon"),
            ("start unpause continue enable thaw", "`mediatorctl resume SYSTEM` lets a paused system go on"),
            ("logs log journal", "the log is in the journal: `journalctl -u mediatord`; or `mediatorctl trace SYSTEM`"),
            ("ls ps systems", "`mediatorctl list` lists all parts"),
            ("info describe inspect get cat", "`mediatorctl show NAME` prints all about a part"),
            ("daemon-reload reread update apply rehash", "`mediatorctl reload` reads the configuration again"),
            ("check test lint verify configtest", "`mediatorctl validate DIRECTORY` checks a configuration"),
            ("send fire trigger signal event", "`mediatorctl emit SYSTEM EVENT` sends an event"),
            ("pub write", "`mediatorctl publish BUS VALUE` writes a value to a bus"),
            ("history events", "`mediatorctl trace SYSTEM` prints the last steps of a system"),
            ("watch follow tail monitor subscribe", "`mediatorctl tap NAME` prints new states, events and values"),
            ("kill", "`mediatorctl restart SYSTEM` ends the side effects of a system, and restarts it"),
            ("is-active is-failed ping health", "`mediatorctl status` ends with 0 if all is healthy"),
            ("diff dry-run", "`mediatorctl plan` lists the changes of a reload"),
            ("timers list-timers", "`mediatorctl list --waits` lists all pending waits"),
        ].flatMap { words, hint in words.split(separator: " ").map { (String($0), hint) } }
    ) { first, _ in first }
}
