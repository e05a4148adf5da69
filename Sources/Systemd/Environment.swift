import Glibc

/// The current environment variables of this process.
enum Environment {
    /// Returns the value of a variable, or `nil` if it is not set.
    static subscript(name: String) -> String? {
        getenv(name).map { String(cString: $0) }
    }
}
