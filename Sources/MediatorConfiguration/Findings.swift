/// What of a whole a finding is about that concerns more than a file.
enum Concern: Sendable, Hashable {
    /// A system, by its index.
    case system(Int)
    /// A bus, by its index.
    case bus(Int)
    /// A link, by its name.
    case link(String)
    /// What goes round in circles.
    case loops
    /// Anything else, such as a template.
    case other
}

/// Gathers what is found. One mistake is to be reported once, where it was made.
final class Findings {
    /// Characters of a message or hint; of longer ones the middle is left out.
    private static let longestMessage = 600
    /// At how many places at most it is noted that a name is used that is not there.
    private static let mostRepeats = 100_000
    private var gathered: [Diagnostic] = []
    /// What of that is about a part of the whole.
    private(set) var told: [Concern: [Diagnostic]] = [:]
    /// Parts of the whole of which the same is to be said at one place: it is told of the first only.
    private(set) var sharing: Set<Concern> = []
    /// The part that is looked at.
    private var concern: Concern?
    private var counts: [String: Int] = [:]
    /// How often a name that is not there is used.
    private var repeats: [Missing: Int] = [:]
    /// Where names stand that are in another file already, and in which: of a file that is a copy all do.
    private var originals: [SourceLocation: String] = [:]
    /// Files of which some name is in another one, and that one.
    private var copies: Set<Copy> = []
    /// By what is said of whoever uses it, where drop-ins remove something.
    private var removals: [String: SourceLocation] = [:]
    /// Where tags stand, and keys that are none: what stands there is not what its author meant, so nothing more is said
    /// about it.
    private var tagged: [String: Set<Int>] = [:]
    private var last: (source: SourceText, span: Span, code: Diagnostic.Code, concern: Concern?)?
    /// Whether some finding is an error.
    var hasErrors: Bool { errors > 0 }
    /// How often something was reported, whether it is shown or not; but for what was given with a body that was checked
    /// for all instances.
    private(set) var reports = 0
    /// How many errors there are.
    private(set) var errors = 0
    /// The instance of a template whose body is being compiled.
    var instance: String?
    /// Whether that body has been checked for all instances before, so that what there is to be warned of has been said.
    var isChecked = false
    /// What has been said of some instance.
    private var saidOfInstances: Set<String> = []
    /// Whether what is said of a place is said once: the body of a template is looked at for each instance.
    var saysOnce = false
    /// What has been said once at places, and of what part.
    private var saidOnce: [String: Concern?] = [:]

    /// Reports a part of a file. The hint is made only if the finding is shown, since looking for the nearest of many
    /// names takes its time.
    func report(
        _ code: Diagnostic.Code, in source: SourceText, at span: Span, _ message: String,
        hint: @autoclosure () -> String? = nil,
        severity: Diagnostic.Severity = .error, notes: [Diagnostic.Note] = []
    ) {
        if severity == .error {
            errors += 1
        } else if instance != nil, isChecked {
            // It was given with the body.
            return
        }
        reports += 1
        let (source, span) = source.resolved(span)
        if saysOnce {
            let place = "\(source.path):\(span.start):\(code)"
            if let first = saidOnce[place] { return shares(with: first) }
            saidOnce.updateValue(concern, forKey: place)
        }
        var message = message
        if let instance {
            guard saidOfInstances.insert("\(source.path):\(span.start):\(code):\(message)").inserted else { return }
            // A warning is about the body, whatever the instance.
            if severity == .error { message += " (for '\(instance)')" }
        }
        if code == .tag {
            tagged[source.path, default: []].insert(span.start)
        } else if tagged[source.path]?.contains(span.start) ?? false {
            return
        }
        // Through an alias or a list of one cause, the same may be found again and again.
        if let last, last.source === source, last.span == span, last.code == code { return shares(with: last.concern) }
        last = (source, span, code, concern)
        // A name that is not there is one finding, wherever it is used.
        if Self.codesOfNames.contains(code) {
            let missing = Missing(code: code, message: message)
            repeats[missing, default: 0] += 1
            let number = repeats[missing, default: 0]
            guard number <= Self.mostRepeats else { return }
            if number > 1 { return add(code, source, span, message, hint(), severity, notes) }
        }
        // Nor is a file of which several names are in another one more than one.
        if code == .duplicateName, let original = originals[source.location(at: span.start)],
            !copies.insert(Copy(file: source.path, original: original)).inserted
        {
            return add(code, source, span, message, hint(), severity, notes)
        }
        let count = counts[source.path, default: 0]
        counts[source.path] = count + 1
        guard count < ConfigurationLimits.findings else {
            if count == ConfigurationLimits.findings {
                let end = SourceLocation(file: source.path, line: source.lineCount + 1, column: 1)
                let message =
                    "more than \(ConfigurationLimits.findings) findings in this file; the others are not shown"
                gathered.append(Diagnostic(code: .tooManyFindings, location: end, message: message))
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
        // What is wrong in an expression, or with a character, says so itself.
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

    /// Notes that something is not told of the part that is looked at, as it was told of another.
    private func shares(with other: Concern?) {
        guard let concern, let other, concern != other else { return }
        sharing.formUnion([concern, other])
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

    /// How many findings there are to be told.
    var count: Int { gathered.count }

    /// Does something whose findings are about a part of the whole.
    func about<Result>(_ concern: Concern, _ body: () -> Result) -> Result {
        let before = gathered.count
        let outer = self.concern
        self.concern = concern
        defer { self.concern = outer }
        defer { if gathered.count > before { told[concern, default: []] += gathered[before...] } }
        return body()
    }

    /// Takes back what was said of keys that are missing in something; whether there was anything.
    ///
    /// - Parameters:
    ///   - place: where its name stands.
    ///   - isSystem: whether it is a system: then that was said at the key before the name.
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

    /// Notes that a name is in another file already. Several of one file that are in the same other file are told once.
    func noteCopy(at location: SourceLocation, of file: String) {
        guard location.file != file, originals.count < Self.mostRepeats else { return }
        originals[location] = file
    }

    /// Notes that a drop-in removes something, since who uses its name elsewhere may not know.
    ///
    /// - Parameter message: what is said of its name where it is used.
    func noteRemoval(_ message: String, in source: SourceText, at span: Span) {
        let (source, span) = source.resolved(span)
        if removals.count < Self.mostRepeats, removals[message] == nil {
            removals[message] = source.location(at: span.start)
        }
    }

    /// Lets nothing more be said about what begins at an offset.
    func silence(_ offset: Int, in source: SourceText) {
        tagged[source.path, default: []].insert(offset)
    }

    /// Reports what has no place in a text.
    func report(_ diagnostic: Diagnostic) {
        if diagnostic.severity == .error { errors += 1 }
        reports += 1
        gathered.append(diagnostic)
    }

    /// The errors that are told.
    var errorsTold: some Sequence<Diagnostic> { gathered.lazy.filter { $0.severity == .error } }

    /// What was found in a part of the work.
    struct Part: Sendable {
        fileprivate var gathered: [Diagnostic]
        fileprivate var errors: Int
        fileprivate var counts: [String: Int]
        fileprivate var tagged: [String: Set<Int>]
        fileprivate var told: [Concern: [Diagnostic]]
        fileprivate var sharing: Set<Concern>
        fileprivate var removals: [String: SourceLocation]

        /// Whether there is nothing to be told, and nothing to be known for what is told of others.
        var isEmpty: Bool { gathered.isEmpty && removals.isEmpty }
        /// Whether there are errors.
        var hasErrors: Bool { errors > 0 }
    }

    /// No findings.
    init() {}

    /// Findings of their own for more work on files in which something has been found; that counts, but is not among
    /// them.
    init(continuing part: Part) {
        counts = part.counts
        tagged = part.tagged
    }

    /// What was found until now.
    var part: Part {
        Part(
            gathered: gathered, errors: errors, counts: counts, tagged: tagged, told: told, sharing: sharing,
            removals: removals)
    }

    /// Adds what was found in a part that deals with files of its own.
    func add(_ part: Part) {
        gathered += part.gathered
        errors += part.errors
        if !part.counts.isEmpty { counts.merge(part.counts) { max($0, $1) } }
        if !part.tagged.isEmpty { tagged.merge(part.tagged) { $0.union($1) } }
        if !part.told.isEmpty { told.merge(part.told) { $0 + $1 } }
        if !part.sharing.isEmpty { sharing.formUnion(part.sharing) }
        if !part.removals.isEmpty { removals.merge(part.removals) { first, _ in first } }
    }

    /// Everything found, sorted; what was found twice at one place (through an alias) is there once.
    ///
    /// A name that is not there is one mistake, wherever it is used: the first use is the finding, the others are its notes. So
    /// are the names of a file that are in another file already.
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
                    // Of each what it is, as long as that is all printed.
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
            // What there is in the file of a drop-in is another matter in each.
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

    /// What is said of a name that is not there.
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
