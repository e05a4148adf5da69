import Glibc

/// The environment variables of this process, as they are now.
enum Environment {
    /// The value of a variable, or `nil` when it is not set.
    static subscript(name: String) -> String? {
        getenv(name).map { String(cString: $0) }
    }
}
