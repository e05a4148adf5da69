import CommonExpression
import FeedbackKit
import MediatorConfiguration

/// A codec between Swift values and the states or events of a configuration.
struct RecordCodec<Whole: Sendable>: Sendable {
    /// The codec of one state or event.
    struct Entry: Sendable {
        let record: SystemKind.Record
        /// The type of its data.
        let type: StructureType
        /// The function that returns the fields of a value.
        let encode: @Sendable (Whole) throws -> [Value]
        /// The function that returns a value from its fields.
        let decode: @Sendable ([Value]) throws -> Whole

        init(
            name: String, fields: [Shape.Field], encode: @escaping @Sendable (Whole) throws -> [Value],
            decode: @escaping @Sendable ([Value]) throws -> Whole
        ) {
            record = SystemKind.Record(name: name, fields: fields.map(SystemKind.Field.init))
            type = StructureType(
                name: name, fields: fields.map { StructureType.Field(name: $0.name, type: $0.shape.type) })
            self.encode = encode
            self.decode = decode
        }
    }

    let entries: [Entry]
    /// The function that returns the index of the entry for a value, or `nil` if no entry matches. It throws if it
    /// has to encode the value and cannot.
    let index: @Sendable (Whole) throws -> Int?
    /// The function that returns the name of a value for messages.
    let name: @Sendable (Whole) -> String
    /// The noun for messages: `state` or `event`.
    let noun: String

    /// Returns the value of the configuration for a Swift value.
    func encode(_ whole: Whole) throws(KindError) -> (index: Int, data: Value) {
        let found: Int?
        do {
            found = try index(whole)
        } catch {
            throw KindError(error, in: "the \(noun)")
        }
        guard let index = found else {
            throw KindError("the \(noun) '\(name(whole))' is none of those that the kind was declared with")
        }
        let entry = entries[index]
        do {
            return (index, .structure(Structure(type: entry.type, fields: try entry.encode(whole))))
        } catch {
            throw KindError(error, in: "the \(noun) '\(entry.record.name)'")
        }
    }

    /// Returns the Swift value for the data of a state or event.
    func decode(_ index: Int, _ data: Value) throws(KindError) -> Whole {
        guard entries.indices.contains(index), case .structure(let structure) = data else {
            throw KindError("there is no such \(noun)")
        }
        do {
            return try entries[index].decode(structure.fields)
        } catch {
            throw KindError(error, in: "the \(noun) '\(entries[index].record.name)'")
        }
    }
}

extension SystemKind.Field {
    /// Creates a field from a field of a shape.
    init(_ field: Shape.Field) {
        self.init(name: field.name, type: field.shape.type, rule: field.shape.rule)
    }
}

// MARK: States and events of a System: a type each

extension RecordCodec {
    /// Creates the codec of several types, each with an entry of its own. If a type occurs twice, the first entry
    /// counts.
    private init(_ entries: [Entry], of types: [Any.Type], noun: String) {
        let indices = Dictionary(
            types.enumerated().map { (ObjectIdentifier($1), $0) }, uniquingKeysWith: { first, _ in first })
        self.init(
            entries: entries, index: { indices[ObjectIdentifier(type(of: $0 as Any))] },
            name: { "\(type(of: $0 as Any))" }, noun: noun)
    }
}

extension RecordCodec where Whole == any State {
    /// Returns the codec of some types of state.
    static func states(_ types: [any (State & Codable).Type]) throws(KindError) -> RecordCodec {
        func entry<S: State & Codable>(_ type: S.Type) throws(KindError) -> Entry {
            try Entry(type, name: shortName(S.identity, of: type), noun: "state") {
                $0 as? S
            } upcast: {
                $0
            }
        }
        var flaws = KindError.Collector()
        let entries = types.compactMap { type in flaws.attempt { () throws(KindError) in try entry(type) } }
        try flaws.check()
        return RecordCodec(entries, of: types.map { $0 as Any.Type }, noun: "state")
    }
}

extension RecordCodec where Whole == any Event {
    /// Returns the codec of some types of event.
    static func events(_ types: [any (Event & Codable).Type]) throws(KindError) -> RecordCodec {
        func entry<E: Event & Codable>(_ type: E.Type) throws(KindError) -> Entry {
            try Entry(type, name: shortName(E.identity, of: type), noun: "event") {
                $0 as? E
            } upcast: {
                $0
            }
        }
        var flaws = KindError.Collector()
        let entries = types.compactMap { type in flaws.attempt { () throws(KindError) in try entry(type) } }
        try flaws.check()
        return RecordCodec(entries, of: types.map { $0 as Any.Type }, noun: "event")
    }
}

/// Returns the name of a type in configurations: its own identity, or otherwise its name without its module.
func shortName(_ identity: String, of type: Any.Type) -> String {
    identity == defaultIdentity(of: type) ? String(describing: type) : identity
}

extension RecordCodec.Entry {
    /// Creates the codec of one type.
    init<T: Codable & Sendable>(
        _ type: T.Type, name: String, noun: String, downcast: @escaping @Sendable (Whole) -> T?,
        upcast: @escaping @Sendable (T) -> Whole
    ) throws(KindError) {
        let fields: [Shape.Field]
        do {
            guard let found = try ShapeRecorder.fields(of: type) else {
                throw KindError("it is no structure with fields")
            }
            fields = found
        } catch {
            throw KindError(error, in: "the \(noun) \(type)")
        }
        self.init(
            name: name, fields: fields,
            encode: { whole in
                guard let value = downcast(whole) else { throw KindError("it is no \(type)") }
                // A type without fields encodes nothing.
                if fields.isEmpty { return [] }
                guard case .map(let entries) = try ValueEncoder().encode(value) else {
                    throw KindError("it encodes no fields")
                }
                return try Shape.raised(fields, entries)
            },
            decode: { values in upcast(try ValueDecoder().decode(type, from: Shape.lowered(fields, values))) })
    }
}

// MARK: States and events of a typed loop: one type

extension RecordCodec where Whole: Codable {
    /// Returns the codec of one type. Each case of a `CaseIterable` enumeration is a state or event. Any other type
    /// is a single state or event with the name of the type.
    static func whole(_ type: Whole.Type, noun: String) throws(KindError) -> RecordCodec {
        guard let cases = type as? any CaseIterable.Type else {
            let entry = try Entry(type, name: String(describing: type), noun: noun) {
                $0
            } upcast: {
                $0
            }
            return RecordCodec(entries: [entry], index: { _ in 0 }, name: { _ in "\(type)" }, noun: noun)
        }
        do {
            return try enumeration(samples(cases), noun)
        } catch {
            throw KindError(error, in: "the \(noun) \(type)")
        }
    }

    private static func samples<C: CaseIterable>(_: C.Type) -> [Whole] { C.allCases.compactMap { $0 as? Whole } }

    private static func enumeration(_ samples: [Whole], _ noun: String) throws -> RecordCodec {
        var entries: [Entry] = []
        var indices: [String: Int] = [:]
        var flaws = KindError.Collector()
        for sample in samples {
            let name = try caseName(sample).name
            guard indices[name] == nil else { continue }
            indices[name] = entries.count
            // A flaw of one case does not hide the flaws of another.
            flaws.attempt { () throws(KindError) in
                do {
                    return try entry(name, of: sample)
                } catch {
                    throw KindError(error, in: "the case '\(name)'")
                }
            }.map { entries.append($0) }
        }
        try flaws.check()
        return RecordCodec(
            entries: entries, index: { [indices] value in indices[try caseName(value).name] },
            name: { (try? caseName($0).name) ?? "\($0)" }, noun: noun)
    }

    /// Returns the name of a value's case, with the fields that the value encodes. The fields are `nil` for a raw
    /// value, which is its own name.
    private static func caseName(_ value: Whole) throws -> (name: String, fields: [Value: Value]?) {
        switch try ValueEncoder().encode(value) {
        case .string(let raw): return (raw, nil)
        case .map(let entries):
            guard entries.count == 1, case (.string(let name), .map(let fields))? = entries.first else { fallthrough }
            return (name, fields)
        default:
            throw KindError(
                "it is CaseIterable, so each of its cases is one of its own, but it encodes no name of a case")
        }
    }

    private static func entry(_ name: String, of sample: Whole) throws -> Entry {
        guard try caseName(sample).fields != nil else {
            return Entry(
                name: name, fields: [], encode: { _ in [] },
                decode: { _ in try ValueDecoder().decode(Whole.self, from: .string(name)) })
        }
        let coded = try ShapeRecorder.fields(of: Whole.self, case: name)
        // A configuration needs a name for each field, and a value without a label has none.
        var fields = coded
        if fields.count == 1, fields[0].name == "_0" { fields[0].name = "value" }
        if fields.contains(where: { $0.name.hasPrefix("_") }) {
            throw KindError("give each of its values a label")
        }
        return Entry(
            name: name, fields: fields,
            encode: { whole in try Shape.raised(coded, try caseName(whole).fields ?? [:]) },
            decode: { values in
                let entry = Value.map([.string(name): Shape.lowered(coded, values)])
                return try ValueDecoder().decode(Whole.self, from: entry)
            })
    }
}
