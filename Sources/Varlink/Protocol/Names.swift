/// The grammar of names (Varlink interface definition).
package enum Names {
    /// The longest name accepted anywhere.
    package static let maximumLength = 255

    /// `[A-Za-z]([-]*[A-Za-z0-9])*(\.[A-Za-z0-9]([-]*[A-Za-z0-9])*)+`
    package static func isInterfaceName(_ name: some StringProtocol) -> Bool {
        let units = name.utf8
        guard units.count <= maximumLength, let first = units.first, isLetter(first) else { return false }
        var hasDot = false
        var previous = UInt8(ascii: ".")
        for unit in units {
            switch unit {
            case UInt8(ascii: "."):
                guard isLetterOrDigit(previous) else { return false }
                hasDot = true
            case UInt8(ascii: "-"):
                guard previous != UInt8(ascii: ".") else { return false }
            default:
                guard isLetterOrDigit(unit) else { return false }
            }
            previous = unit
        }
        return hasDot && isLetterOrDigit(previous)
    }

    /// `[A-Z][A-Za-z0-9]*`: a type, a method or an error.
    package static func isMemberName(_ name: some StringProtocol) -> Bool {
        let units = name.utf8
        guard units.count <= maximumLength, let first = units.first else { return false }
        return isLetter(first) && first <= UInt8(ascii: "Z") && units.allSatisfy(isLetterOrDigit)
    }

    /// `[A-Za-z](_?[A-Za-z0-9])*`: a field or a value of an enumeration.
    package static func isFieldName(_ name: some StringProtocol) -> Bool {
        let units = name.utf8
        guard units.count <= maximumLength, let first = units.first, isLetter(first) else { return false }
        var previous: UInt8 = 0
        for unit in units {
            guard isLetterOrDigit(unit) || (unit == UInt8(ascii: "_") && previous != unit) else { return false }
            previous = unit
        }
        return previous != UInt8(ascii: "_")
    }

    /// Splits a qualified name at its last dot into interface and member; nil if one of them is malformed.
    package static func split(_ qualifiedName: String) -> (interface: String, member: String)? {
        guard let dot = qualifiedName.lastIndex(of: ".") else { return nil }
        let interface = qualifiedName[..<dot]
        let member = qualifiedName[qualifiedName.index(after: dot)...]
        guard isInterfaceName(interface), isMemberName(member) else { return nil }
        return (String(interface), String(member))
    }

    package static func isLetter(_ unit: UInt8) -> Bool {
        (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(unit) || (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(unit)
    }

    package static func isLetterOrDigit(_ unit: UInt8) -> Bool {
        isLetter(unit) || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(unit)
    }
}
