/// An error or warning about a configuration: what is wrong, why, what to do, and where.
///
/// A diagnostic is also the error thrown where only one thing can be wrong (``ConfigurationDirectory/read(_:)``).
public struct Diagnostic: Error, Sendable, Hashable, Comparable {
    /// A Boolean value that indicates whether the configuration can be started in spite of it.
    public enum Severity: String, Sendable, Hashable, CaseIterable {
        /// There is no graph.
        case error
        /// The configuration is valid, but it may not do what its author wants.
        case warning
    }

    /// A Boolean value that indicates whether the configuration can be started in spite of it.
    public let severity: Severity
    /// The sort of mistake, for programs.
    public let code: Code
    /// The place of the mistake; nil if it is in no file.
    public let location: SourceLocation?
    /// The mistake, in one sentence without a full stop.
    public let message: String
    /// Advice, or the names that exist.
    public internal(set) var hint: String?
    /// The line of the location, without its line break; of a long line the part around the location, with `…` where
    /// something was left out. Control characters and tabs are spaces.
    public let excerpt: String?
    /// The number of characters of the excerpt before the mistake, from 0.
    public let caretOffset: Int
    /// The number of wrong characters of the excerpt, at least 1.
    public let caretLength: Int
    /// Other places that play a part, in order.
    public internal(set) var notes: [Note]
    /// The number of errno(3) with which the system refused a request; nil if the mistake is another.
    public let errorNumber: Int32?

    /// A place that explains a diagnostic.
    public struct Note: Sendable, Hashable {
        /// The place.
        public let location: SourceLocation
        /// The part that the place plays, in one sentence without a full stop.
        public let message: String

        /// The message at further places of the same mistake.
        static let again = "here, too"
        /// At how many of these places that is printed for people.
        static let mostAgain = 8

        /// A note.
        public init(location: SourceLocation, message: String) {
            self.location = location
            self.message = message
        }
    }

    /// A diagnostic. Lengths below 1 and offsets below 0 are raised to these.
    public init(
        severity: Severity = .error, code: Code, location: SourceLocation? = nil, message: String, hint: String? = nil,
        excerpt: String? = nil, caretOffset: Int = 0, caretLength: Int = 1, notes: [Note] = [],
        errorNumber: Int32? = nil
    ) {
        self.severity = severity
        self.code = code
        self.location = location
        self.message = message
        self.hint = hint
        self.excerpt = excerpt
        self.caretOffset = max(0, caretOffset)
        self.caretLength = max(1, caretLength)
        self.notes = notes
        self.errorNumber = errorNumber
    }

    /// Orders by file, line and column, those without a location first; then errors before warnings; then by code,
    /// message and hint.
    public static func < (left: Diagnostic, right: Diagnostic) -> Bool {
        switch (left.location, right.location) {
        case (nil, .some): return true
        case (.some, nil): return false
        case (.some(let first), .some(let second)) where first != second: return first < second
        default: break
        }
        if left.severity != right.severity { return left.severity == .error }
        return (left.code.rawValue, left.message, left.hint ?? "")
            < (right.code.rawValue, right.message, right.hint ?? "")
    }

    /// The diagnostic as compilers print it, in up to four lines and one for each note, without a final line break:
    ///
    ///     disk.yaml:7:13: error: 'disk-guard' has no state 'Normel' [unknown-state]
    ///         Cleaned: Normel
    ///                  ^~~~~~
    ///       hint: did you mean 'Normal'?
    ///
    /// - Parameter colour: Whether to add ANSI escapes for a terminal.
    public func rendered(colour: Bool = false) -> String {
        func painted(_ text: String, _ escape: String) -> String {
            colour ? "\u{1B}[\(escape)m\(text)\u{1B}[0m" : text
        }
        let shade = severity == .error ? "1;31" : "1;35"
        var output = ""
        if let location { output += painted("\(location): ", "1") }
        output += painted("\(severity.rawValue): ", shade) + painted(message, "1") + " [\(code.rawValue)]"
        if let excerpt {
            let caret = "^" + String(repeating: "~", count: caretLength - 1)
            output += "\n  \(excerpt)\n  " + String(repeating: " ", count: caretOffset) + painted(caret, "1;32")
        }
        var again = 0
        for note in notes {
            if note.message == Note.again { again += 1 }
            if note.message != Note.again || again <= Note.mostAgain {
                output += "\n  note: \(note.location): \(note.message)"
            }
        }
        if again > Note.mostAgain {
            let left = again - Note.mostAgain
            output += "\n  note: and at \(left) more place\(left == 1 ? "" : "s")"
        }
        if let hint { output += "\n  hint: \(hint)" }
        return output
    }
}
