import MediatorConfiguration
import StrictJSON
import Varlink

/// A checked configuration, and its output.
struct Check {
    /// The configuration, as the command line names it.
    let paths: [String]
    /// The diagnostics.
    let result: CompilationResult
    /// Whether a warning makes it invalid.
    let deniesWarnings: Bool
    /// The stored states that were checked with it.
    var states: StateCheck?

    /// The verdict.
    var isValid: Bool {
        result.graph != nil && !(deniesWarnings && (result.warnings > 0 || states.map { $0.losses > 0 } ?? false))
    }

    /// For people: the diagnostics as the daemon prints them, and a line that sums them up.
    ///
    /// - Parameter isJournal: whether each line has its severity.
    func human(colour: Bool, isQuiet: Bool, isJournal: Bool = false) -> String {
        var lines: [(priority: JournalPriority, text: String)] = result.diagnostics.map { diagnostic in
            (diagnostic.severity == .error ? .error : .warning, diagnostic.rendered(colour: colour))
        }
        lines += (states?.lines ?? []).filter { $0.isWarning || !isQuiet }.map {
            ($0.isWarning ? .warning : .info, PlainText.cleaned($0.text))
        }
        if !isQuiet {
            lines += result.unavailable.map { value in
                let kind = value.kind == .credential ? "credential" : "environment variable"
                let note = "\(value.source): note: the \(kind) '\(value.name)' is not available here"
                return (.info, PlainText.cleaned(note))
            }
            lines += readersByTo.map { (.info, PlainText.cleaned($0)) }
            let names = paths.map { $0 == ConfigurationCompiler.standardInputPath ? "standard input" : $0 }
            var summary = result.summary(of: names.joined(separator: ", "), deniesWarnings: deniesWarnings)
            if let states, states.losses > 0 {
                let count = "\(states.losses) stored state\(states.losses == 1 ? "" : "s")"
                summary += isValid ? "; a start loses \(count)" : "; not accepted, because a start loses \(count)"
            }
            lines.append((isValid ? .info : .error, PlainText.cleaned(summary)))
        }
        return lines.map { line in
            isJournal ? line.priority.marked(line.text) : line.text + "\n"
        }.joined()
    }

    /// Notes on links whose key `to` names the bus that they read, one for each written link. The key does not tell their
    /// direction.
    private var readersByTo: [String] {
        let links = result.graph?.links.filter(\.readsTo) ?? []
        // The links of all instances are written in one place.
        let written = Dictionary(links.map { ($0.source, $0) }) { first, _ in first }
        return written.sorted { $0.key < $1.key }.map { source, link in
            let name = link.name.prefix { $0 != "@" }
            return "\(source): note: the link '\(name)' reads its bus; write from instead of to"
        }
    }

    /// For programs: one object, whose members are documented and do not change.
    var json: JSONValue {
        var members: JSONObject = [
            "valid": .bool(isValid),
            "errors": .int(Int64(result.errors)),
            "warnings": .int(Int64(result.warnings)),
            "files": .array(result.files.map { .string($0) }),
            "systems": result.graph.map { .int(Int64($0.systems.count)) } ?? .null,
            "buses": result.graph.map { .int(Int64($0.buses.count)) } ?? .null,
            "links": result.graph.map { .int(Int64($0.links.count)) } ?? .null,
            "unavailable": .array(
                result.unavailable.map { value in
                    .object([
                        "kind": .string(value.kind.rawValue), "name": .string(value.name),
                        "file": .string(value.source.file), "line": .int(Int64(value.source.line)),
                        "column": .int(Int64(value.source.column)),
                    ])
                }),
            "diagnostics": .array(result.diagnostics.map(Self.json)),
        ]
        if let states { members["states"] = states.json }
        return .object(members)
    }

    /// A diagnostic for programs.
    static func json(_ diagnostic: Diagnostic) -> JSONValue {
        var object: JSONObject = [
            "severity": .string(diagnostic.severity.rawValue),
            "code": .string(diagnostic.code.rawValue),
            "message": .string(diagnostic.message),
        ]
        if let location = diagnostic.location {
            object["file"] = .string(location.file)
            object["line"] = .int(Int64(location.line))
            object["column"] = .int(Int64(location.column))
            object["length"] = .int(Int64(diagnostic.caretLength))
        }
        if let hint = diagnostic.hint { object["hint"] = .string(hint) }
        if !diagnostic.notes.isEmpty {
            object["notes"] = .array(
                diagnostic.notes.map { note in
                    .object([
                        "file": .string(note.location.file),
                        "line": .int(Int64(note.location.line)),
                        "column": .int(Int64(note.location.column)),
                        "message": .string(note.message),
                    ])
                })
        }
        if let excerpt = diagnostic.excerpt { object["excerpt"] = .string(excerpt) }
        return .object(object)
    }
}
