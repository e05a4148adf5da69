public import StrictJSON
public import Varlink

/// `io.systemd.service`, by which systemd's own services are managed, so that what speaks to those speaks to this daemon.
public enum ManagedServiceInterface {
    /// Its name.
    public static let name = "io.systemd.service"

    /// Its definition, with the methods of systemd 257.
    public static let definition = """
        # The calls that all services of systemd answer.
        interface io.systemd.service

        # Answers as soon as the service can.
        method Ping() -> ()

        # Applies the configuration on disk, as io.mediatord.Control.Reload does, and answers when that is
        # done. A configuration that is rejected changes nothing. The answer then is the error
        # io.mediatord.Control.NotAccepted with the reason.
        method Reload() -> ()

        # Sets the log level until the service ends: 0 to 7 as in syslog(3). 3 logs errors, 4 also
        # warnings, 5 notices, 6 information, 7 details for the search for mistakes.
        method SetLogLevel(level: int) -> ()

        """

    /// The parameters of `SetLogLevel`.
    public struct SetLogLevelParameters: Codable, Sendable, Hashable {
        /// The level of syslog(3).
        public var level: Int

        /// A level.
        public init(level: Int) { self.level = level }
    }

    /// The interface with its functions.
    ///
    /// - Parameters:
    ///   - reload: applies the configuration on disk; throws if it is rejected.
    ///   - setLogLevel: sets the log level, from 0 to 7; throws if it cannot.
    public static func implementation(
        reload: @escaping @Sendable (VarlinkPeer) async throws -> Void,
        setLogLevel: @escaping @Sendable (Int, VarlinkPeer) async throws -> Void
    ) throws -> InterfaceImplementation {
        var interface = InterfaceImplementation(try InterfaceDefinition(parsing: definition))
        try interface.register("Ping") { _ in [:] }
        try interface.register("Reload") { call in
            try await reload(call.peer)
            return [:]
        }
        try interface.register("SetLogLevel") { (parameters: SetLogLevelParameters, call) in
            guard (0...7).contains(parameters.level) else {
                throw ServiceError.invalidParameter(parameter: "level")
            }
            try await setLogLevel(parameters.level, call.peer)
            return Nothing()
        }
        return interface
    }
}

/// `io.systemd.Metrics`, the interface through which systemd and its services report metrics.
public enum MetricsInterface {
    /// Its name.
    public static let name = "io.systemd.Metrics"

    /// Its definition, as of systemd 258, with `object` for a value of any type.
    public static let definition = """
        # The metrics of the service.
        interface io.systemd.Metrics

        # The kind of the metrics of a family.
        type MetricFamilyType (
          # They only grow.
          counter,
          # They go up and down.
          gauge,
          # They are text.
          string
        )

        # All metrics, a reply each; to be called with 'more'. object is the subject of the metric.
        # fields are further labels, which tell it from others of its family.
        method List() -> (name: string, value: object, object: ?string, fields: ?object)

        # All families of metrics, a reply each; to be called with 'more'.
        method Describe() -> (name: string, description: string, type: MetricFamilyType)

        # There are no metrics.
        error NoSuchMetric ()

        """

    /// The kind of the metrics of a family.
    public enum FamilyType: String, Codable, Sendable, CaseIterable {
        /// They only grow.
        case counter
        /// They go up and down.
        case gauge
        /// They are text.
        case string
    }

    /// A metric, as `List` reports it.
    public struct Metric: Codable, Sendable, Hashable {
        /// The family.
        public var name: String
        /// The value: a number or text.
        public var value: JSONValue
        /// The subject of the metric.
        public var object: String?
        /// The further labels, which tell it from others of its family.
        public var fields: JSONObject?

        /// Creates a metric.
        public init(name: String, value: JSONValue, object: String? = nil, fields: JSONObject? = nil) {
            self.name = name
            self.value = value
            self.object = object
            self.fields = fields
        }
    }

    /// A family of metrics, as `Describe` reports it.
    public struct Family: Codable, Sendable, Hashable {
        /// Its name.
        public var name: String
        /// The description, in a sentence.
        public var description: String
        /// The kind of its metrics.
        public var type: FamilyType

        /// Creates a family.
        public init(name: String, description: String, type: FamilyType) {
            self.name = name
            self.description = description
            self.type = type
        }
    }

    /// The interface with its functions.
    ///
    /// - Parameter metrics: all families and all metrics, as of now.
    public static func implementation(
        metrics: @escaping @Sendable () async throws -> (families: [Family], metrics: [Metric])
    ) throws -> InterfaceImplementation {
        var interface = InterfaceImplementation(try InterfaceDefinition(parsing: definition))
        try interface.register("List", requiresMore: true, takesLong: true) { (_: Nothing, call) in
            try await stream(try await metrics().metrics, call)
        }
        try interface.register("Describe", requiresMore: true, takesLong: true) { (_: Nothing, call) in
            try await stream(try await metrics().families, call)
        }
        return interface
    }

    /// Sends all but the last, which is the last reply.
    private static func stream<Reply: Encodable & Sendable>(_ replies: [Reply], _ call: MethodCall) async throws
        -> Reply
    {
        guard let last = replies.last else { throw ErrorReply("\(name).NoSuchMetric") }
        for reply in replies.dropLast() { try await call.send(reply) }
        return last
    }
}
