/// Characters that are not part of the language, and look like, or stand for, something that is: what word processors and web
/// pages make of what was typed.
enum LookAlike {
    /// A space of another kind (the general category Zs of Unicode), or one that cannot be seen at all.
    case blank(advice: String)
    /// A quotation mark, and those that close it, of which it is one: so no line is searched again and again.
    case quote(closing: Set<Unicode.Scalar>)
    /// An operator.
    case token(Token.Kind)

    private static let double: Set<Unicode.Scalar> = ["“", "”", "„", "‟", "«", "»"]
    private static let single: Set<Unicode.Scalar> = ["‘", "’", "‚", "‛", "‹", "›"]

    init?(_ scalar: Unicode.Scalar) {
        switch scalar {
        case "\u{A0}", "\u{1680}", "\u{2000}"..."\u{200A}", "\u{202F}", "\u{205F}", "\u{3000}":
            self = .blank(advice: "a space is written as the character U+0020")
        case "\u{AD}", "\u{200B}"..."\u{200F}", "\u{2060}", "\u{FEFF}":
            self = .blank(advice: "it cannot be seen, and is to be removed")
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

/// What characters are that look like others, in texts that are no expressions.
package enum Typography {
    /// What to do about a character that looks like a space and is none, or cannot be seen; nil if it is another.
    package static func advice(onBlank scalar: Unicode.Scalar) -> String? {
        if case .blank(let advice)? = LookAlike(scalar) { advice } else { nil }
    }

    /// What stands between quotation marks that are none in YAML either; nil if the text is something else.
    package static func unquoted(_ text: String) -> String? {
        let scalars = text.unicodeScalars
        guard let first = scalars.first, first.value >= 0x80, let last = scalars.last, scalars.count > 1,
            case .quote(let closing)? = LookAlike(first), closing.contains(last)
        else { return nil }
        let inside = scalars.dropFirst().dropLast()
        // Several of them are a text that quotes.
        guard !inside.contains(where: closing.contains) else { return nil }
        return String(String.UnicodeScalarView(inside))
    }
}
