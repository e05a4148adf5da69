import MediatorControl
import StrictJSON
import Testing
import Varlink

/// The typed messages, held against the definition they stand for.
struct DefinitionTests {
    static let definition = Result { try InterfaceDefinition(parsing: ControlInterface.definition) }

    @Test func `the definition parses, prints as it is written and documents everything`() throws {
        let definition = try Self.definition.get()
        #expect(definition.name == ControlInterface.name)
        #expect(!definition.documentation.isEmpty)
        for member in definition.members {
            let documentation =
                switch member {
                case .type(let type): type.documentation
                case .method(let method): method.documentation
                case .error(let error): error.documentation
                }
            #expect(!documentation.isEmpty, "\(member.name)")
        }
        #expect(definition.description == ControlInterface.definition)
    }

    @Test(arguments: methods.indices)
    func `parameters and reply of each method are what the definition declares`(index: Int) throws {
        let (name, parameters, reply) = Self.methods[index]
        let method = try #require(try Self.definition.get().method(named: name))
        for (value, fields) in [(parameters, method.parameters), (reply, method.reply)] {
            let members = try #require(try JSONValue(encoding: value).objectValue)
            try Self.definition.get().check(members, against: fields)
            // A filled sample has every field, so each declared field is known to the type.
            try expectSameFields(.object(members), .structure(fields), name)
            #expect(try Self.decodedAndEncoded(value, members) == .object(members))
        }
    }

    @Test func `there is a typed message for every method`() throws {
        let declared = try Self.definition.get().members.compactMap {
            if case .method(let method) = $0 { method.name } else { nil }
        }
        #expect(Self.methods.map { $0.0 } == declared)
    }

    /// Walks through a filled value and its type together. A field that is optional in one must be optional in the
    /// other: the value must be decodable without that field, and without no other one.
    private func expectSameFields(
        _ value: JSONValue,
        _ type: InterfaceDefinition.TypeExpression,
        _ path: String
    ) throws {
        switch (type, value) {
        case (.structure(let fields), .object(let members)):
            #expect(members.keys.sorted() == fields.map(\.name).sorted(), "\(path)")
            for field in fields {
                try expectSameFields(members[field.name] ?? nil, field.type, "\(path).\(field.name)")
            }
        case (.array(let element), .array(let elements)):
            for value in elements { try expectSameFields(value, element, path) }
        case (.map(let element), .object(let members)):
            for value in members.values { try expectSameFields(value, element, path) }
        case (.optional(let wrapped), _): try expectSameFields(value, wrapped, path)
        case (.named(let name), _):
            try expectSameFields(value, try #require(try Self.definition.get().type(named: name)), path)
        default: break
        }
    }

    /// One filled value for each declared structure.
    static let structures: [(String, any Codable & Sendable)] = [
        ("Field", Field(name: "a", type: "int", expected: "at least 1")), ("StateType", system.states[0]),
        ("EventType", system.events[0]),
        ("State", state), ("Counters", summary.counters), ("SystemSummary", summary),
        ("Transition", system.transitions[0]), ("FeedbackSummary", system.feedbacks[0]),
        ("FeedbackOutcome", system.feedbacks[0].outcomes[0]), ("SystemDescription", system),
        ("BusSummary", busSummary), ("BusDescription", bus), ("LinkSummary", linkSummary), ("LinkDescription", link),
        ("CauseHop", hop), ("CandidateTransition", candidate), ("Sender", sender), ("TraceGuard", traceGuard),
        ("TraceOutcome", outcome), ("TraceStep", traceStep),
    ]

    @Test(arguments: structures.indices)
    func `a field may be left out of a type exactly when the definition says so`(index: Int) throws {
        let (name, value) = Self.structures[index]
        guard case .structure(let fields) = try Self.definition.get().type(named: name) else {
            Issue.record("\(name) is no structure")
            return
        }
        try expectSameOptionality(value, fields)
    }

    @Test(arguments: methods.indices)
    func `a field may be left out of a message exactly when the definition says so`(index: Int) throws {
        let (name, parameters, reply) = Self.methods[index]
        let method = try #require(try Self.definition.get().method(named: name))
        try expectSameOptionality(parameters, method.parameters)
        try expectSameOptionality(reply, method.reply)
    }

    /// Members decoded into the type of a value and encoded again.
    private static func decodedAndEncoded<Value: Codable>(_ value: Value, _ members: JSONObject) throws -> JSONValue {
        try JSONValue(encoding: JSONValue.object(members).decode(Value.self))
    }

    private func expectSameOptionality(_ value: any Codable, _ fields: [InterfaceDefinition.Field]) throws {
        let members = try #require(try JSONValue(encoding: value).objectValue)
        for field in fields {
            var without = members
            without[field.name] = nil
            let isOptional = if case .optional = field.type { true } else { false }
            let decodes = (try? Self.decodedAndEncoded(value, without)) != nil
            #expect(decodes == isOptional, "\(field.name)")
        }
    }

    static let enumerations: [String: [String]] = [
        "Health": Health.allCases.map(\.rawValue), "BusKind": BusKind.allCases.map(\.rawValue),
        "LinkForm": LinkForm.allCases.map(\.rawValue), "LinkOrigin": LinkOrigin.allCases.map(\.rawValue),
        "ChangeKind": ChangeKind.allCases.map(\.rawValue), "PartKind": PartKind.allCases.map(\.rawValue),
        "PlanAction": PlanAction.allCases.map(\.rawValue),
        "ValueAfterChange": ValueAfterChange.allCases.map(\.rawValue),
        "CauseKind": CauseKind.allCases.map(\.rawValue), "Obstacle": Obstacle.allCases.map(\.rawValue),
        "ChangeOfPart": ChangeOfPart.allCases.map(\.rawValue),
        "SenderKind": SenderKind.allCases.map(\.rawValue),
        "TraceKind": TraceKind.allCases.map(\.rawValue), "WatchTopic": WatchTopic.allCases.map(\.rawValue),
        "Right": Right.allCases.map(\.rawValue),
        "LogLevel": LogLevel.allCases.map(\.rawValue), "StoreMode": StoreMode.allCases.map(\.rawValue),
    ]

    @Test func `the enumerations are the declared ones, with the declared values`() throws {
        var declared: [String: [String]] = [:]
        for case .type(let type) in try Self.definition.get().members {
            if case .enumeration(let values) = type.type { declared[type.name] = values.map(\.name) }
        }
        #expect(Self.enumerations == declared)
    }

    /// Walks over every place of every message, nested ones included. A value that the definition allows can be read,
    /// and is written in the same form. Others are rejected.
    @Test(arguments: methods.indices)
    func `a message takes whatever the definition allows, and nothing else`(index: Int) throws {
        let (name, parameters, reply) = Self.methods[index]
        let definition = try Self.definition.get()
        let method = try #require(definition.method(named: name))
        var count = 0
        for (value, fields) in [(parameters, method.parameters), (reply, method.reply)] {
            let members = try JSONValue(encoding: value)
            for variant in try Variants(of: members, as: .structure(fields), in: definition).all {
                // A value that is no object is no message.
                guard let object = variant.value.objectValue else { continue }
                count += 1
                #expect((try? definition.check(object, against: fields)) != nil || !variant.isGood, "\(variant)")
                let read = try? Self.decodedAndEncoded(value, object)
                if variant.isGood {
                    #expect(read == variant.value, "\(name): \(variant)")
                } else {
                    #expect(read == nil, "\(name): \(variant)")
                }
            }
            // Null is as good as nothing where the field is optional.
            for field in fields {
                guard case .optional = field.type, var object = members.objectValue else { continue }
                object[field.name] = .null
                let read = try? Self.decodedAndEncoded(value, object)
                object[field.name] = nil
                #expect(read == .object(object), "\(name): \(field.name)")
            }
        }
        #expect(count > 0 || (method.parameters.isEmpty && method.reply.isEmpty))
    }

    /// No declared type is left out of what the messages above are made of.
    @Test func `every declared type is part of a message`() throws {
        let definition = try Self.definition.get()
        var reached: Set<String> = []
        func follow(_ type: InterfaceDefinition.TypeExpression) {
            switch type {
            case .named(let name):
                guard reached.insert(name).inserted, let type = definition.type(named: name) else { return }
                follow(type)
            case .structure(let fields): for field in fields { follow(field.type) }
            case .array(let element), .map(let element), .optional(let element): follow(element)
            default: break
            }
        }
        var declared: Set<String> = []
        for member in definition.members {
            switch member {
            case .type(let type): declared.insert(type.name)
            case .method(let method): follow(.structure(method.parameters + method.reply))
            case .error(let error): follow(.structure(error.parameters))
            }
        }
        #expect(reached == declared)
    }

    @Test func `every method needs a right, and there is none for another`() {
        #expect(ControlInterface.rights.keys.sorted() == Self.methods.map { $0.0 }.sorted())
        #expect(ControlInterface.right(for: "io.mediatord.Control.Emit") == .inject)
        #expect(ControlInterface.right(for: "io.mediatord.Control.Emi") == nil)
        #expect(ControlInterface.right(for: "org.varlink.service.GetInfo") == nil)
    }

    @Test(arguments: Right.allCases)
    func `that a right is missing travels as the error of every service`(right: Right) {
        let reply = MissingRight(right, target: "disk").errorReply
        #expect(reply == ServiceError.permissionDenied.errorReply)
    }

    static let errors: [ControlError] = [
        .noSuchSystem(name: "dsik", nearest: "disk"), .noSuchBus(name: "x", nearest: nil),
        .noSuchLink(name: "x", nearest: "y"), .linkExists(name: "x"), .linkDetached(name: "x"),
        .linkOfInstances(name: "x@a", link: "x"),
        .cannotPersist(path: "/etc/x", reason: "it is full", winner: "/etc/y", isDenied: true),
        .noSuchEvent(system: "disk", event: "x", nearest: "Measured"),
        .invalidValue(path: "data.percent", expected: "int", message: "data.percent must be int, not text"),
        .notAccepted(name: "disk", obstacle: .full, reason: "its mailbox is full"),
        .watchEnded(name: "disk", reason: "removed"),
        .stopping, .replyTooLarge(limit: 1, part: "text"), .internalError(message: "text"),
    ]

    @Test(arguments: errors)
    func `each error is as declared and survives the journey`(error: ControlError) throws {
        let reply = error.errorReply
        let name = String(reply.name.dropFirst(ControlInterface.name.count + 1))
        let declared = try #require(try Self.definition.get().error(named: name))
        try Self.definition.get().check(reply.parameters, against: declared.parameters)
        #expect(ControlError(reply) == error)
        #expect(!error.description.isEmpty)
    }

    @Test func `there is a typed error for every declared one`() throws {
        let declared = try Self.definition.get().members.compactMap {
            if case .error(let error) = $0 { error.name } else { nil }
        }
        #expect(Self.errors.map { $0.errorReply.name } == declared.map(ControlInterface.qualified))
    }
}
