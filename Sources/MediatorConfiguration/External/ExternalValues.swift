import Synchronization

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// The source of values from outside the configuration: environment variables (`!env`), and credentials that the
/// service manager passes (`!credential`; systemd.exec(5), "Credentials").
public struct ExternalValues: Sendable {
    /// Returns the value of an environment variable; nil if it is not set.
    public var environment: @Sendable (String) -> String?
    /// The directory in which a file for each credential lies; nil: none were passed.
    public var credentialsDirectory: String?
    /// A Boolean value that indicates whether missing values are only recorded (``CompilationResult/unavailable``), to
    /// check a configuration on another machine. A sample takes the place of the value, so the graph must not be
    /// started.
    public var mayBeMissing: Bool
    /// The values found until now; nil: values are looked up each time.
    private var memory: Memory?

    /// A source of values.
    public init(
        environment: @escaping @Sendable (String) -> String?, credentialsDirectory: String? = nil,
        mayBeMissing: Bool = false
    ) {
        self.environment = environment
        self.credentialsDirectory = credentialsDirectory
        self.mayBeMissing = mayBeMissing
    }

    /// No values at all.
    public static let none = ExternalValues(environment: { _ in nil })

    /// A copy that looks up each value only once. So a second compilation with it gets the same values, even if they
    /// have changed.
    public func remembering() -> ExternalValues {
        var copy = self
        copy.memory = Memory()
        return copy
    }

    /// A copy with the same remembered values, and with its own memory for later ones. So a trial leaves no trace.
    public func branch() -> ExternalValues {
        var copy = self
        copy.memory = memory.map { Memory(copying: $0) }
        return copy
    }

    /// Returns whether the other gives the same for whatever this one was asked, since it goes back to the same memory.
    func remembersLike(_ other: ExternalValues) -> Bool {
        guard let memory, let others = other.memory else { return false }
        return memory.origin === others.origin && mayBeMissing == other.mayBeMissing
    }

    /// Those of this process: its environment, and the credentials in `$CREDENTIALS_DIRECTORY`.
    public static func process() -> ExternalValues {
        let variable: @Sendable (String) -> String? = { name in getenv(name).map { String(cString: $0) } }
        return ExternalValues(environment: variable, credentialsDirectory: variable("CREDENTIALS_DIRECTORY"))
    }
}

/// A value that was not there where a configuration was checked.
public struct UnavailableValue: Sendable, Hashable {
    /// The source of the value.
    public enum Kind: String, Sendable, Hashable, CaseIterable {
        /// An environment variable, written `!env`.
        case environment = "env"
        /// A credential, written `!credential`.
        case credential
    }
    /// The source of the value.
    public var kind: Kind
    /// The variable's or credential's name.
    public var name: String
    /// The place of the reference.
    public var source: SourceLocation
}

extension ExternalValues {
    /// The reason why a value is missing.
    struct Failure: Error {
        var message: String
        var hint: String
        /// A Boolean value that indicates whether there simply is none, rather than one that cannot be used.
        var isMissing = true
    }

    /// The values found until now.
    fileprivate final class Memory: Sendable {
        struct Key: Hashable {
            var kind: UnavailableValue.Kind
            var name: String
        }
        /// Tells memories apart that do not go back to one.
        final class Origin: Sendable {}
        let origin: Origin
        let found: Mutex<[Key: Result<String, Failure>]>

        /// A memory of nothing yet.
        init() {
            origin = Origin()
            found = Mutex([:])
        }

        /// A memory of the same.
        init(copying other: Memory) {
            origin = other.origin
            let present = other.found.withLock { $0 }
            found = Mutex(present)
        }
    }

    /// A value by its name, which is a valid one.
    func value(_ kind: UnavailableValue.Kind, _ name: String) throws(Failure) -> String {
        guard let memory else { return try lookUp(kind, name) }
        let key = Memory.Key(kind: kind, name: name)
        if let found = memory.found.withLock({ $0[key] }) { return try found.get() }
        let result = Result { () throws(Failure) in try lookUp(kind, name) }
        // If two threads look up a value at the same time, both get the first result.
        return try memory.found.withLock { found in
            if let earlier = found[key] { return earlier }
            found[key] = result
            return result
        }.get()
    }

    private func lookUp(_ kind: UnavailableValue.Kind, _ name: String) throws(Failure) -> String {
        switch kind {
        case .environment:
            if let value = environment(name) { return value }
            throw Failure(
                message: "there is no environment variable '\(name)'",
                hint: "write !env { name: \(name), default: … }, or set it by Environment= of the unit")
        case .credential: return try credential(name)
        }
    }

    /// A credential: the text of its file, without the line break at its end.
    private func credential(_ name: String) throws(Failure) -> String {
        let hint = "add LoadCredential=\(name):/path/to/file to the unit"
        let missing = Failure(message: "there is no credential '\(name)'", hint: hint)
        guard let directory = credentialsDirectory else { throw missing }
        let path = directory.hasSuffix("/") ? directory + name : "\(directory)/\(name)"
        guard access(path, F_OK) == 0 else { throw missing }
        let entry: ConfigurationDirectory.Entry
        do throws(Diagnostic) {
            entry = try ConfigurationDirectory.entry(path)
        } catch {
            throw Failure(
                message: "the credential '\(name)' cannot be read: \(error.message)", hint: hint, isMissing: false)
        }
        guard case .file(var bytes) = entry else {
            if case .mask = entry { return "" }
            throw Failure(message: "the credential '\(name)' is a directory", hint: hint, isMissing: false)
        }
        if bytes.last == 0x0A { bytes.removeLast() }
        if bytes.last == 0x0D { bytes.removeLast() }
        guard !bytes.contains(0), let text = String(validating: bytes, as: UTF8.self) else {
            throw Failure(
                message: "the credential '\(name)' is not text", hint: "only UTF-8 without NUL can be used here",
                isMissing: false)
        }
        return text
    }
}
