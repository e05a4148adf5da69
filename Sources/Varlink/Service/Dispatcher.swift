import StrictJSON

/// Finds and runs the handler of a call, and turns its result into a reply. It uses no socket.
struct Dispatcher: Sendable {
    private struct Entry: Sendable {
        let method: InterfaceImplementation.Method
        let definition: InterfaceDefinition
    }

    /// The outcome of a call.
    enum Outcome: Sendable {
        /// The last reply.
        case reply(ReplyMessage)
        /// The last reply, and the server of the other protocol that follows it.
        case upgrade(ReplyMessage, serve: @Sendable (UpgradedConnection) async throws -> Void)
        /// A fault of the service for which its interface has no error.
        case fault
    }

    private let entries: [String: Entry]
    private let interfaceNames: Set<String>
    private let configuration: ServiceConfiguration

    /// - Throws: ``VarlinkError`` (`invalidDefinition`) if two interfaces have the same name.
    init(interfaces: [InterfaceImplementation], configuration: ServiceConfiguration) throws {
        let service = try ServiceInterface.implementation(
            configuration: configuration,
            interfaces: interfaces.map(\.definition)
        )
        var entries: [String: Entry] = [:]
        var names: Set<String> = []
        for interface in [service] + interfaces {
            let name = interface.definition.name
            guard names.insert(name).inserted else {
                throw VarlinkError(.invalidDefinition, "the interface '\(name)' is registered twice")
            }
            for (method, implementation) in interface.methods {
                entries["\(name).\(method)"] = Entry(method: implementation, definition: interface.definition)
            }
        }
        self.entries = entries
        interfaceNames = names
        self.configuration = configuration
    }

    /// Returns whether calls of a method run on a thread that serves no connection.
    func takesLong(_ method: String) -> Bool { entries[method]?.method.takesLong ?? false }

    /// Runs a call to its end. Replies before the last go to `sink`, and are checked if the configuration requires it.
    func run(
        _ message: CallMessage,
        peer: VarlinkPeer,
        sink: @escaping @Sendable (ReplyMessage) async throws -> Void
    ) async -> Outcome {
        guard let entry = entries[message.method] else { return .reply(ReplyMessage(error: notFound(message.method))) }
        do {
            return try await run(message, entry, peer: peer, sink: sink)
        } catch let error as any ErrorReplyConvertible {
            return .reply(ReplyMessage(error: error.errorReply))
        } catch {
            if Task.isCancelled { return .fault }
            configuration.observe(.failed(method: message.method, error))
            guard entry.definition.error(named: "InternalError") != nil else { return .fault }
            let reply = ErrorReply(
                "\(entry.definition.name).InternalError",
                parameters: ["message": "the service failed to answer; its log says why"]
            )
            return .reply(ReplyMessage(error: reply))
        }
    }

    private func run(
        _ message: CallMessage,
        _ entry: Entry,
        peer: VarlinkPeer,
        sink: @escaping @Sendable (ReplyMessage) async throws -> Void
    ) async throws -> Outcome {
        let method = entry.method
        guard configuration.authorize(.call(method: message.method), peer) else { throw ServiceError.permissionDenied }
        let isUpgrade = message.mode == .upgrade
        guard isUpgrade ? method.upgrade != nil : method.handler != nil else {
            throw ServiceError.methodNotImplemented(method: message.method)
        }
        guard !method.requiresMore || isUpgrade || message.mode == .more else { throw ServiceError.expectedMore }
        do throws(DefinitionMismatch) {
            try entry.definition.check(message.parameters, against: method.definition.parameters)
        } catch {
            throw ServiceError.invalidParameter(parameter: error.path)
        }
        let checksReplies = configuration.checksReplies
        let call = MethodCall(
            method: message.method,
            parameters: message.parameters,
            mode: message.mode,
            peer: peer
        ) { parameters in
            if checksReplies { try entry.definition.check(parameters, against: method.definition.reply) }
            try await sink(ReplyMessage(parameters: parameters, continues: true))
        }
        if isUpgrade, let handler = method.upgrade {
            let upgrade = try await handler(call)
            if checksReplies { try entry.definition.check(upgrade.reply, against: method.definition.reply) }
            return .upgrade(ReplyMessage(parameters: upgrade.reply), serve: upgrade.serve)
        }
        guard let handler = method.handler else { throw ServiceError.methodNotImplemented(method: message.method) }
        let reply = try await handler(call)
        if checksReplies { try entry.definition.check(reply, against: method.definition.reply) }
        return .reply(ReplyMessage(parameters: reply))
    }

    /// Returns the error that replaces a reply that is too long; nil if the interface does not declare such an error.
    func refusal(of reply: ReplyMessage, to method: String) -> ErrorReply? {
        guard let definition = entries[method]?.definition, definition.error(named: "ReplyTooLarge") != nil else {
            return nil
        }
        return ErrorReply(
            "\(definition.name).ReplyTooLarge",
            parameters: [
                "limit": .int(Int64(configuration.maximumReplyLength)),
                "part": .string(JSONValue.largestPart(of: reply.parameters)),
            ])
    }

    private func notFound(_ method: String) -> ErrorReply {
        guard let dot = method.lastIndex(of: ".") else {
            return ServiceError.interfaceNotFound(interface: method).errorReply
        }
        let interface = String(method[..<dot])
        return interfaceNames.contains(interface)
            ? ServiceError.methodNotFound(method: method).errorReply
            : ServiceError.interfaceNotFound(interface: interface).errorReply
    }
}
