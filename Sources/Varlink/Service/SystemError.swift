import Glibc

/// Errors of the operating system as text and as ``VarlinkError``.
package enum SystemError {
    /// Returns the text of an error number.
    package static func text(_ number: Int32) -> String {
        var buffer = [CChar](repeating: 0, count: 256)
        guard strerror_r(number, &buffer, buffer.count) == 0 else { return "error \(number)" }
        return String(decoding: buffer.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }

    /// Returns the error for a failed system call on a path.
    static func error(_ number: Int32, _ doing: String, _ path: String) -> VarlinkError {
        VarlinkError(code(of: number), "cannot \(doing) '\(path)': \(text(number))", errorNumber: number)
    }

    /// Returns the code for an error number.
    package static func code(of number: Int32) -> VarlinkError.Code {
        number == EACCES || number == EPERM ? .accessDenied : .system
    }
}
