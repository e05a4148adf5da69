/// Conversion between names of units and D-Bus object paths (org.freedesktop.systemd1(5)).
public enum UnitName {
    /// The prefix of all unit objects.
    static let root = "/org/freedesktop/systemd1/unit/"

    /// The types that report a result, and their interfaces.
    private static let results = [
        "automount": "Automount", "mount": "Mount", "path": "Path", "scope": "Scope", "service": "Service",
        "socket": "Socket", "swap": "Swap", "timer": "Timer",
    ]

    /// Returns the path of a unit's object. Letters and digits are unchanged. Every other character, and a leading
    /// digit, becomes `_` and two hexadecimal digits.
    public static func objectPath(_ name: String) -> String {
        guard !name.isEmpty else { return root + "_" }
        var path = root
        for (index, byte) in name.utf8.enumerated() {
            let isLetter = (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
            if isLetter || (index > 0 && (0x30...0x39).contains(byte)) {
                path.unicodeScalars.append(Unicode.Scalar(byte))
            } else {
                let digits = String(byte, radix: 16)
                path += "_" + (digits.utf8.count < 2 ? "0" : "") + digits
            }
        }
        return path
    }

    /// Returns the unit name for the path of an object; `nil` if the object is not a unit.
    public static func name(ofObject path: String) -> String? {
        guard path.hasPrefix(root) else { return nil }
        let label = path.dropFirst(root.count).utf8
        if label.elementsEqual("_".utf8) { return "" }
        var bytes: [UInt8] = []
        var rest = label[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "_") else {
                bytes.append(byte)
                continue
            }
            let digits = rest.prefix(2)
            guard digits.count == 2, let code = UInt8(String(decoding: digits, as: UTF8.self), radix: 16) else {
                return nil
            }
            bytes.append(code)
            rest = rest.dropFirst(2)
        }
        return String(validating: bytes, as: UTF8.self)
    }

    /// Returns the interface that reports a unit's result; `nil` if its type has none.
    static func resultInterface(_ name: String) -> String? {
        guard let point = name.lastIndex(of: ".") else { return nil }
        return results[String(name[name.index(after: point)...])].map { "org.freedesktop.systemd1.\($0)" }
    }
}
