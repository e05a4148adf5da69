import Glibc

/// The ends of a command that are a success: `0,75-78,SIGTERM`.
public struct ExitStatuses: Sendable, Hashable {
    /// Ranges of exit codes.
    public let codes: [ClosedRange<Int>]
    /// Signals that ended it, by number.
    public let signals: Set<Int32>

    /// Reads exit codes from 0 to 255, ranges of them, and signals by name, separated by commas; `nil` if the text is not
    /// written so.
    public init?(_ text: String) {
        // A text longer than this has one twice.
        guard text.utf8.count <= 2_048 else { return nil }
        var codes: [ClosedRange<Int>] = []
        var signals: Set<Int32> = []
        for part in text.split(separator: ",", omittingEmptySubsequences: false) {
            if let number = SignalName.number(of: Self.trimmed(part)) {
                signals.insert(number)
                continue
            }
            let ends = part.split(separator: "-", omittingEmptySubsequences: false).map { Self.code($0) }
            guard ends.count <= 2, let first = ends.first ?? nil, let last = ends.last ?? nil, first <= last else {
                return nil
            }
            codes.append(first...last)
        }
        self.codes = codes
        self.signals = signals
    }

    /// Returns whether an exit code is among them.
    public func contains(exitCode: Int) -> Bool { codes.contains { $0.contains(exitCode) } }

    /// Returns whether the end by a signal is among them.
    public func contains(signal: Int32) -> Bool { signals.contains(signal) }

    private static func trimmed(_ text: Substring) -> Substring {
        var text = text.drop { $0 == " " }
        while text.last == " " { text.removeLast() }
        return text
    }

    private static func code(_ text: Substring) -> Int? {
        let digits = trimmed(text)
        guard (1...3).contains(digits.utf8.count),
            digits.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) })
        else { return nil }
        return Int(digits).flatMap { $0 <= 255 ? $0 : nil }
    }
}

/// The names of signals (signal(7)).
public enum SignalName {
    private static let names: [(name: String, number: Int32)] = [
        ("SIGHUP", SIGHUP), ("SIGINT", SIGINT), ("SIGQUIT", SIGQUIT), ("SIGILL", SIGILL), ("SIGTRAP", SIGTRAP),
        ("SIGABRT", SIGABRT), ("SIGBUS", SIGBUS), ("SIGFPE", SIGFPE), ("SIGKILL", SIGKILL), ("SIGUSR1", SIGUSR1),
        ("SIGSEGV", SIGSEGV), ("SIGUSR2", SIGUSR2), ("SIGPIPE", SIGPIPE), ("SIGALRM", SIGALRM), ("SIGTERM", SIGTERM),
        ("SIGSTKFLT", SIGSTKFLT), ("SIGCHLD", SIGCHLD), ("SIGCONT", SIGCONT), ("SIGSTOP", SIGSTOP),
        ("SIGTSTP", SIGTSTP), ("SIGTTIN", SIGTTIN), ("SIGTTOU", SIGTTOU), ("SIGURG", SIGURG), ("SIGXCPU", SIGXCPU),
        ("SIGXFSZ", SIGXFSZ), ("SIGVTALRM", SIGVTALRM), ("SIGPROF", SIGPROF), ("SIGWINCH", SIGWINCH),
        ("SIGIO", SIGIO), ("SIGPWR", SIGPWR), ("SIGSYS", SIGSYS),
    ]

    /// The name of a signal: `SIGTERM`, and of one of the real-time signals `SIGRTMIN+3`.
    public static func name(of number: Int32) -> String {
        if let known = names.first(where: { $0.number == number }) { return known.name }
        // The C library keeps the first two of the kernel's for itself.
        let first: Int32 = 34
        return number == first ? "SIGRTMIN" : number > first ? "SIGRTMIN+\(number - first)" : "SIG\(number)"
    }

    /// The signal of a name, without real-time signals; `nil` if the name is unknown.
    static func number(of name: some StringProtocol) -> Int32? {
        names.first { $0.name == name }?.number
    }
}
