/// A Varlink interface: its name and its declared types, methods and errors, each with its documentation.
///
/// Documentation is the text of the comment lines directly above a declaration, without `#` and one following space.
/// Lines are joined by newlines. Without comments it is empty.
public struct InterfaceDefinition: Sendable, Hashable {
    /// A declaration.
    public enum Member: Sendable, Hashable {
        /// `type Name (…)`
        case type(TypeDefinition)
        /// `method Name(…) -> (…)`
        case method(MethodDefinition)
        /// `error Name (…)`
        case error(ErrorDefinition)

        /// The declared name.
        public var name: String {
            switch self {
            case .type(let definition): definition.name
            case .method(let definition): definition.name
            case .error(let definition): definition.name
            }
        }
    }

    /// A named structure or enumeration.
    public struct TypeDefinition: Sendable, Hashable {
        /// Its documentation.
        public var documentation: String
        /// Its name.
        public var name: String
        /// A ``TypeExpression/structure(_:)`` or an ``TypeExpression/enumeration(_:)``.
        public var type: TypeExpression
    }

    /// A method.
    public struct MethodDefinition: Sendable, Hashable {
        /// Its documentation.
        public var documentation: String
        /// Its name.
        public var name: String
        /// The parameters of a call.
        public var parameters: [Field]
        /// The parameters of a reply.
        public var reply: [Field]
    }

    /// An error.
    public struct ErrorDefinition: Sendable, Hashable {
        /// Its documentation.
        public var documentation: String
        /// Its name.
        public var name: String
        /// The parameters of the error.
        public var parameters: [Field]
    }

    /// A field of a structure.
    public struct Field: Sendable, Hashable {
        /// Its documentation.
        public var documentation: String
        /// Its name.
        public var name: String
        /// Its type.
        public var type: TypeExpression
    }

    /// A value of an enumeration.
    public struct EnumerationValue: Sendable, Hashable {
        /// Its documentation.
        public var documentation: String
        /// The name, which is also the string in messages.
        public var name: String
    }

    /// The type of a field.
    public indirect enum TypeExpression: Sendable, Hashable {
        /// `bool`
        case bool
        /// `int`: 64 bits with sign.
        case int
        /// `float`: a double.
        case float
        /// `string`
        case string
        /// `object`: any JSON value except null, without a declared structure.
        case object
        /// `any`: a newer word for `object`, which python-varlink 31 does not know.
        case any
        /// `(name: type, …)`
        case structure([Field])
        /// `(one, two, …)`
        case enumeration([EnumerationValue])
        /// The name of a ``TypeDefinition`` of the same interface.
        case named(String)
        /// `[]T`
        case array(TypeExpression)
        /// `[string]T`
        case map(TypeExpression)
        /// `?T`; T is never optional itself.
        case optional(TypeExpression)
    }

    /// The documentation of the interface.
    public let documentation: String
    /// The name, such as `org.example.Thing`.
    public let name: String
    /// The declarations in their original order.
    public let members: [Member]

    private let types: [String: TypeExpression]
    private let methods: [String: MethodDefinition]
    private let errors: [String: ErrorDefinition]

    /// Creates a definition. Only the parser does so, so each definition is consistent: names are well-formed and
    /// unique, and named types exist.
    init(documentation: String, name: String, members: [Member]) {
        self.documentation = documentation
        self.name = name
        self.members = members
        var types: [String: TypeExpression] = [:]
        var methods: [String: MethodDefinition] = [:]
        var errors: [String: ErrorDefinition] = [:]
        for member in members {
            switch member {
            case .type(let definition): types[definition.name] = definition.type
            case .method(let definition): methods[definition.name] = definition
            case .error(let definition): errors[definition.name] = definition
            }
        }
        self.types = types
        self.methods = methods
        self.errors = errors
    }

    /// Returns the structure or enumeration of that name, or nil.
    public func type(named name: String) -> TypeExpression? { types[name] }

    /// Returns the method of that name (without the interface's), or nil.
    public func method(named name: String) -> MethodDefinition? { methods[name] }

    /// Returns the error of that name (without the interface's), or nil.
    public func error(named name: String) -> ErrorDefinition? { errors[name] }
}
