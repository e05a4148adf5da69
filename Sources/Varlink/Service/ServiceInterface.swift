import StrictJSON

/// The interface that every service has: `org.varlink.service`.
enum ServiceInterface {
    static let name = "org.varlink.service"

    static let text = """
        # What every Varlink service can tell about itself.
        interface org.varlink.service

        # Who made the service, and which interfaces it has.
        method GetInfo() -> (
          vendor: string,
          product: string,
          version: string,
          url: string,
          interfaces: []string
        )

        # The definition of one of these interfaces, as text.
        method GetInterfaceDescription(interface: string) -> (description: string)

        # The service has no such interface.
        error InterfaceNotFound (interface: string)

        # The interface has no such method.
        error MethodNotFound (method: string)

        # The interface has the method, but this service does not offer it.
        error MethodNotImplemented (method: string)

        # A parameter is missing, not declared, or not of the declared type.
        error InvalidParameter (parameter: string)

        # The caller may not do this.
        error PermissionDenied ()

        # The method answers more than once: call it with 'more'.
        error ExpectedMore ()

        """

    /// Returns the interface with its functions, for a service with the given other interfaces.
    static func implementation(
        configuration: ServiceConfiguration,
        interfaces: [InterfaceDefinition]
    ) throws -> InterfaceImplementation {
        let own = try InterfaceDefinition(parsing: text)
        let all = [own] + interfaces
        let descriptions = Dictionary(all.map { ($0.name, $0.description) }, uniquingKeysWith: { first, _ in first })
        let info: JSONObject = [
            "vendor": .string(configuration.vendor),
            "product": .string(configuration.product),
            "version": .string(configuration.version),
            "url": .string(configuration.url),
            "interfaces": .array(all.map { .string($0.name) }),
        ]
        var implementation = InterfaceImplementation(own)
        try implementation.register("GetInfo") { _ in info }
        try implementation.register("GetInterfaceDescription") { call in
            let name = call.parameters["interface"]?.stringValue ?? ""
            guard let description = descriptions[name] else {
                throw ServiceError.interfaceNotFound(interface: name)
            }
            return ["description": .string(description)]
        }
        return implementation
    }
}
