/// The names of units as D-Bus has them (org.freedesktop.systemd1(5)).
public enum UnitName {
    /// Under which all units' objects are.
    static let root = "/org/freedesktop/systemd1/unit/"

    /// The types that tell a result, and their interfaces.
    private static let results = [
        "automount": "Automount", "mount": "Mount", "path": "Path", "scope": "Scope", "service": "Service",
        "socket": "Socket", "swap": "Swap", "timer": "Timer",
    ]

    /// The path of a unit's object: letters and digits stay, everything else, and a digit at the beginning, becomes `_` and
    /// two hexadecimal digits.
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

    /// The name that the path of an object stands for; `nil` if it is none of a unit.
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

    /// The interface that tells a unit's result; `nil` if its type has none.
    static func resultInterface(_ name: String) -> String? {
        guard let point = name.lastIndex(of: ".") else { return nil }
        return results[String(name[name.index(after: point)...])].map { "org.freedesktop.systemd1.\($0)" }
    }
}
