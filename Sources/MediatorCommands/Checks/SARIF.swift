import MediatorConfiguration
import StrictJSON
import Varlink

extension Check {
    /// For code hosting: the Static Analysis Results Interchange Format, version 2.1.0 (OASIS, 2020).
    var sarif: JSONValue {
        let codes = Set(result.diagnostics.map(\.code))
        let rules = Diagnostic.Code.all.filter(codes.contains)
        return .object([
            "$schema": "https://docs.oasis-open.org/sarif/sarif/v2.1.0/os/schemas/sarif-schema-2.1.0.json",
            "version": "2.1.0",
            "runs": .array([
                .object([
                    "tool": .object([
                        "driver": .object([
                            "name": "mediatorctl",
                            "version": .string(Mediatorctl.version),
                            "rules": .array(rules.map(Self.rule)),
                        ])
                    ]),
                    // Columns count Unicode scalars (§ 3.14.17).
                    "columnKind": "unicodeCodePoints",
                    "artifacts": .array(
                        result.files.map { .object(["location": .object(["uri": .string(Self.uri($0))])]) }),
                    "results": .array(result.diagnostics.map { Self.result($0, rules) }),
                ])
            ]),
        ])
    }

    private static func rule(_ code: Diagnostic.Code) -> JSONValue {
        .object([
            "id": .string(code.rawValue),
            "shortDescription": .object(["text": .string(code.meaning)]),
        ])
    }

    private static func result(_ diagnostic: Diagnostic, _ rules: [Diagnostic.Code]) -> JSONValue {
        let text = diagnostic.message + (diagnostic.hint.map { "; \($0)" } ?? "")
        var object: JSONObject = [
            "ruleId": .string(diagnostic.code.rawValue),
            "level": .string(diagnostic.severity.rawValue),
            "message": .object(["text": .string(text)]),
        ]
        if let index = rules.firstIndex(of: diagnostic.code) { object["ruleIndex"] = .int(Int64(index)) }
        if !diagnostic.notes.isEmpty {
            object["relatedLocations"] = .array(
                diagnostic.notes.map { note in
                    .object([
                        "message": .object(["text": .string(note.message)]),
                        "physicalLocation": .object([
                            "artifactLocation": .object(["uri": .string(uri(note.location.file))]),
                            "region": .object([
                                "startLine": .int(Int64(note.location.line)),
                                "startColumn": .int(Int64(note.location.column)),
                            ]),
                        ]),
                    ])
                })
        }
        if let location = diagnostic.location {
            object["locations"] = .array([
                .object([
                    "physicalLocation": .object([
                        "artifactLocation": .object(["uri": .string(uri(location.file))]),
                        "region": .object([
                            "startLine": .int(Int64(location.line)),
                            "startColumn": .int(Int64(location.column)),
                            "endColumn": .int(Int64(location.column + diagnostic.caretLength)),
                        ]),
                    ])
                ])
            ])
        }
        return .object(object)
    }

    /// A path as a reference (RFC 3986): every byte that is not unreserved or a slash is escaped.
    private static func uri(_ path: String) -> String {
        var text = path.hasPrefix("/") ? "file://" : ""
        for byte in path.utf8 {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
                UInt8(ascii: "~"), UInt8(ascii: "/"):
                text.unicodeScalars.append(UnicodeScalar(byte))
            default:
                let digits = String(byte, radix: 16, uppercase: true)
                text += "%" + (digits.count == 1 ? "0" : "") + digits
            }
        }
        return text
    }
}
