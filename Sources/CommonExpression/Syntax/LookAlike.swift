/// A character outside the language that resembles one of its characters. Word processors and web pages insert such
/// characters.
enum LookAlike {
    /// An unusual space (general category Zs of Unicode), or an invisible character.
    case blank(advice: String)
    /// A quotation mark, with all marks that close it. The opening mark is one of them, so that no line is searched
    /// repeatedly.
    case quote(closing: Set<Unicode.Scalar>)
    /// An operator.
    case token(Token.Kind)

    private static let double: Set<Unicode.Scalar> = ["“", "”", "„", "‟", "«", "»"]
    private static let single: Set<Unicode.Scalar> = ["‘", "’", "‚", "‛", "‹", "›"]

    init?(_ scalar: Unicode.Scalar) {
        switch scalar {
        case "\u{A0}", "\u{1680}", "\u{2000}"..."\u{200A}", "\u{202F}", "\u{205F}", "\u{3000}":
            self = .blank(advice: "write a space as the character U+0020")
        case "\u{AD}", "\u{200B}"..."\u{200F}", "\u{2060}", "\u{FEFF}":
            self = .blank(advice: "it is invisible; remove it")
        case let mark where Self.double.contains(mark): self = .quote(closing: Self.double)
        case let mark where Self.single.contains(mark): self = .quote(closing: Self.single)
        case "≥", "⩾": self = .token(.greaterOrEqual)
        case "≤", "⩽": self = .token(.lessOrEqual)
        case "≠": self = .token(.notEqual)
        case "−", "–", "—", "\u{2011}": self = .token(.minus)
        case "×", "·": self = .token(.star)
        case "÷", "∕": self = .token(.slash)
        case "∧": self = .token(.and)
        case "∨": self = .token(.or)
        case "¬": self = .token(.not)
        default: return nil
        }
    }
}

/// Advice about look-alike characters in texts that are not expressions.
package enum Typography {
    /// Returns the advice for a character that resembles a space or is invisible; nil for any other character.
    package static func advice(onBlank scalar: Unicode.Scalar) -> String? {
        if case .blank(let advice)? = LookAlike(scalar) { advice } else { nil }
    }

    /// Returns the text between quotation marks that YAML does not know either; nil if the text has no such marks.
    package static func unquoted(_ text: String) -> String? {
        let scalars = text.unicodeScalars
        guard let first = scalars.first, first.value >= 0x80, let last = scalars.last, scalars.count > 1,
            case .quote(let closing)? = LookAlike(first), closing.contains(last)
        else { return nil }
        let inside = scalars.dropFirst().dropLast()
        // Several closing marks mean that the text contains quotations.
        guard !inside.contains(where: closing.contains) else { return nil }
        return String(String.UnicodeScalarView(inside))
    }
}
