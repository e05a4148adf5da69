/// Collects diagnostics. Each mistake should be reported once, where it was made.
final class DiagnosticsCollector {
    /// The largest number of characters of a message or hint. The middle of longer ones is left out.
    private static let longestMessage = 600
    /// The largest number of places at which a missing name is noted.
    private static let mostRepeats = 100_000
    private var gathered: [Diagnostic] = []
    private var counts: [String: Int] = [:]
    /// The number of uses of each missing name.
    private var repeats: [Missing: Int] = [:]
    /// The places of names that another file has defined already, with that file. In a copy of a file, every name is
    /// such a name.
    private var originals: [SourceLocation: String] = [:]
    /// Files with a name that another file has defined, with that other file.
    private var copies: Set<Copy> = []
    /// The places where drop-ins remove something, by the message that its users get.
    private var removals: [String: SourceLocation] = [:]
    /// The places of tags and of invalid keys. Their author meant something else, so nothing more is reported about
    /// them.
    private var tagged: [String: Set<Int>] = [:]
    private var last: (source: SourceText, span: Span, code: Diagnostic.Code)?
    /// A Boolean value that indicates whether some diagnostic is an error.
    var hasErrors: Bool { errors > 0 }
    /// The number of reports, shown or not. Warnings of a body that was checked for all instances do not count.
    private(set) var reports = 0
    /// The number of errors.
    private(set) var errors = 0
    /// The instance of a template whose body is being compiled, and whether that body has been checked for all instances
    /// before, so that its warnings have been reported.
    private var instance: (name: String, isChecked: Bool)?
    /// The reports about instances.
    private var saidOfInstances: Set<String> = []
    /// A Boolean value that indicates whether a code is reported once for each place: the body of a template is checked
    /// for each instance.
    private let isOncePerPlace: Bool
    /// The places and codes that have been reported.
    private var saidOnce: Set<String> = []

    /// Reports a part of a file. The hint is computed only if the diagnostic is shown, since the search for the nearest name
    /// takes time.
    func report(
        _ code: Diagnostic.Code, in source: SourceText, at span: Span, _ message: String,
        hint: @autoclosure () -> String? = nil,
        severity: Diagnostic.Severity = .error, notes: [Diagnostic.Note] = []
    ) {
        if severity == .error {
            errors += 1
        } else if instance?.isChecked == true {
            // It was reported with the body.
            return
        }
        reports += 1
        let (source, span) = source.resolved(span)
        if isOncePerPlace {
            let place = "\(source.path):\(span.start):\(code)"
            guard saidOnce.insert(place).inserted else { return }
        }
        var message = message
        if let instance {
            guard saidOfInstances.insert("\(source.path):\(span.start):\(code):\(message)").inserted else { return }
            // A warning is about the body, whatever the instance.
            if severity == .error { message += " (for '\(instance.name)')" }
        }
        if code == .tag {
            tagged[source.path, default: []].insert(span.start)
        } else if tagged[source.path]?.contains(span.start) ?? false {
            return
        }
        // Through an alias or a list of one cause, the same may be found again and again.
        if let last, last.source === source, last.span == span, last.code == code { return }
        last = (source, span, code)
        // A missing name is one mistake, wherever it is used.
        if Self.codesOfNames.contains(code) {
            let missing = Missing(code: code, message: message)
            repeats[missing, default: 0] += 1
            let number = repeats[missing, default: 0]
            guard number <= Self.mostRepeats else { return }
            if number > 1 { return add(code, source, span, message, hint(), severity, notes) }
        }
        // A file that repeats several names of another file is one mistake, too.
        if code == .duplicateName, let original = originals[source.location(at: span.start)],
            !copies.insert(Copy(file: source.path, original: original)).inserted
        {
            return add(code, source, span, message, hint(), severity, notes)
        }
        let count = counts[source.path, default: 0]
        counts[source.path] = count + 1
        guard count < ConfigurationLimits.diagnostics else {
            if count == ConfigurationLimits.diagnostics {
                let end = SourceLocation(file: source.path, line: source.lineCount + 1, column: 1)
                let message =
                    "more than \(ConfigurationLimits.diagnostics) diagnostics in this file; the others are not shown"
                gathered.append(Diagnostic(code: .tooManyDiagnostics, location: end, message: message))
            }
            return
        }
        add(code, source, span, message, hint(), severity, notes)
    }

    private func add(
        _ code: Diagnostic.Code, _ source: SourceText, _ span: Span, _ message: String, _ hint: String?,
        _ severity: Diagnostic.Severity, _ notes: [Diagnostic.Note]
    ) {
        let excerpt = source.excerpt(of: span)
        var notes = notes
        // A mistake in an expression or with a character needs no such note.
        if severity == .error, Self.codesOfShape.contains(code) {
            notes += source.falseBlanks(before: span.start)
        }
        gathered.append(
            Diagnostic(
                severity: severity, code: code, location: source.location(at: span.start),
                message: Self.printable(message), hint: hint.map(Self.printable),
                excerpt: excerpt.text.isEmpty ? nil : excerpt.text, caretOffset: excerpt.caretOffset,
                caretLength: excerpt.caretLength,
                notes: notes.map { Diagnostic.Note(location: $0.location, message: Self.printable($0.message)) }))
    }

    /// Text without control characters, since names and data may hold any and a terminal would obey them.
    private static func printable(_ text: String) -> String {
        let isControl = { (scalar: UnicodeScalar) in scalar.value < 0x20 || (0x7F..<0xA0).contains(scalar.value) }
        let scalars = text.unicodeScalars
        if scalars.count > longestMessage {
            return printable(String(scalars.prefix(longestMessage / 2 - 1)))
                + "…" + printable(String(scalars.suffix(longestMessage / 2 - 1)))
        }
        guard scalars.contains(where: { isControl($0) || $0.steersText }) else { return text }
        return scalars.reduce(into: "") {
            $0.unicodeScalars.append(isControl($1) ? " " : $1.steersText ? "\u{FFFD}" : $1)
        }
    }

    /// Removes the reports of missing keys of a definition.
    ///
    /// - Parameters:
    ///   - place: The place of its name.
    ///   - isSystem: Whether it is a system. Then the report is at the key before the name.
    /// - Returns: Whether there was such a report.
    func forgiveMissing(at place: SourceLocation, isSystem: Bool) -> Bool {
        let before = gathered.count
        gathered.removeAll { diagnostic in
            guard let location = diagnostic.location, location.file == place.file, location.line == place.line else {
                return false
            }
            switch diagnostic.code {
            case .missingKey: return isSystem ? location < place : location == place
            case .linkForm: return location == place
            default: return false
            }
        }
        return gathered.count < before
    }

    /// Notes that another file has the same name already. Several names in the same two files are reported once.
    func noteCopy(at location: SourceLocation, of file: String) {
        guard location.file != file, originals.count < Self.mostRepeats else { return }
        originals[location] = file
    }

    /// Notes that a drop-in removes something. A user of its name elsewhere may not know that.
    ///
    /// - Parameter message: The message that users of the name get.
    func noteRemoval(_ message: String, in source: SourceText, at span: Span) {
        let (source, span) = source.resolved(span)
        if removals.count < Self.mostRepeats, removals[message] == nil {
            removals[message] = source.location(at: span.start)
        }
    }

    /// Suppresses further reports at an offset.
    func silence(_ offset: Int, in source: SourceText) {
        tagged[source.path, default: []].insert(offset)
    }

    /// Reports a mistake that has no place in a text.
    func report(_ diagnostic: Diagnostic) {
        if diagnostic.severity == .error { errors += 1 }
        reports += 1
        gathered.append(diagnostic)
    }

    /// The errors that are shown.
    var shownErrors: some Sequence<Diagnostic> { gathered.lazy.filter { $0.severity == .error } }

    /// The diagnostics of a part of the work.
    struct Part: Sendable {
        fileprivate var gathered: [Diagnostic]
        fileprivate var errors: Int
        fileprivate var counts: [String: Int]
        fileprivate var tagged: [String: Set<Int>]
        fileprivate var removals: [String: SourceLocation]

        /// A Boolean value that indicates whether the part has no effect on the result.
        var isEmpty: Bool { gathered.isEmpty && removals.isEmpty }
        /// A Boolean value that indicates whether there are errors.
        var hasErrors: Bool { errors > 0 }
    }

    /// An empty collector.
    init() { isOncePerPlace = false }

    /// An empty collector for more work on files in which something has been found. Earlier diagnostics count for limits, but
    /// the collector does not have them.
    ///
    /// - Parameter isOncePerPlace: Whether a code is reported once for each place.
    init(continuing part: Part, isOncePerPlace: Bool = false) {
        counts = part.counts
        tagged = part.tagged
        self.isOncePerPlace = isOncePerPlace
    }

    /// Reports on an instance of a template: an error names the instance.
    ///
    /// - Parameter isChecked: Whether the body was checked for all instances before. Then its warnings have been reported.
    func about<Result>(_ instance: String, isChecked: Bool, _ body: () -> Result) -> Result {
        let outer = self.instance
        defer { self.instance = outer }
        self.instance = (instance, isChecked)
        return body()
    }

    /// The diagnostics until now.
    var part: Part {
        Part(
            gathered: gathered, errors: errors, counts: counts, tagged: tagged, removals: removals)
    }

    /// Adds the diagnostics of a part that deals with other files.
    func add(_ part: Part) {
        gathered += part.gathered
        errors += part.errors
        if !part.counts.isEmpty { counts.merge(part.counts) { max($0, $1) } }
        if !part.tagged.isEmpty { tagged.merge(part.tagged) { $0.union($1) } }
        if !part.removals.isEmpty { removals.merge(part.removals) { first, _ in first } }
    }

    /// All diagnostics, sorted. A mistake that was found twice at one place, through an alias, is there once.
    ///
    /// A missing name is one mistake, wherever it is used: the first use is the diagnostic, the others are its notes.
    /// The same is true of the names of a file that another file repeats.
    func sorted() -> [Diagnostic] {
        var result: [Diagnostic] = []
        result.reserveCapacity(gathered.count)
        var firsts: [Missing: Int] = [:]
        var firstOfCopies: [Copy: Int] = [:]
        var others: [Int: [SourceLocation]] = [:]
        var previous: Diagnostic?
        for diagnostic in gathered.sorted() where diagnostic != previous {
            previous = diagnostic
            if diagnostic.code == .duplicateName, let location = diagnostic.location, let file = originals[location] {
                let copy = Copy(file: location.file, original: file)
                if let first = firstOfCopies[copy] {
                    // Name each of them as long as notes are printed.
                    let isTold = result[first].notes.count < Diagnostic.Note.mostAgain
                    result[first].notes.append(
                        Diagnostic.Note(
                            location: location, message: isTold ? diagnostic.message : Diagnostic.Note.again))
                    result[first].hint = "rename one of each two, or remove one of the files"
                    continue
                }
                firstOfCopies[copy] = result.count
            }
            guard Self.codesOfNames.contains(diagnostic.code), let location = diagnostic.location else {
                result.append(diagnostic)
                continue
            }
            // Each file of a drop-in has other names to suggest.
            let hint = diagnostic.code == .unknownSystem ? diagnostic.hint : nil
            let missing = Missing(code: diagnostic.code, message: diagnostic.message, hint: hint)
            if let first = firsts[missing] {
                others[first, default: []].append(location)
            } else {
                firsts[missing] = result.count
                result.append(diagnostic)
                if !removals.isEmpty, let removal = removals[diagnostic.message] {
                    result[result.count - 1].notes.append(
                        Diagnostic.Note(location: removal, message: "it is removed here"))
                }
            }
        }
        for (index, locations) in others {
            result[index].notes += locations.map { Diagnostic.Note(location: $0, message: Diagnostic.Note.again) }
        }
        return result
    }

    /// A file of which several names are in another one already.
    private struct Copy: Hashable {
        var file: String
        var original: String
    }

    /// A report of a missing name.
    private struct Missing: Hashable {
        var code: Diagnostic.Code
        var message: String
        var hint: String?
    }

    /// The codes of what a character that is no space may be the cause of.
    private static let codesOfShape: Set<Diagnostic.Code> = [
        .syntax, .wrongShape, .unknownKey, .invalidName, .unknownState, .unknownEvent, .unknownSystem, .unknownBus,
        .unknownType, .unknownField, .unknownEffect, .unknownParameter, .unknownOutcome, .unknownChoice,
    ]

    /// The codes of names that are not there.
    private static let codesOfNames: Set<Diagnostic.Code> = [
        .unknownState, .unknownEvent, .unknownSystem, .unknownBus,
    ]
}
