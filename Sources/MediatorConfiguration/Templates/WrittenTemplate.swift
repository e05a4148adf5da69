/// A template's parameter as written.
struct WrittenParameter: Sendable {
    var name: Scalar
    /// Its type; nil after reporting that it is missing.
    var type: Node?
    var fallback: Node?
    /// A Boolean value that indicates whether an invalid key may be meant as its default.
    var mayHideFallback = false
}

/// An instance of a template as written.
struct WrittenInstance: Sendable {
    var source: SourceText
    /// The whole name: `uplink@eth0`.
    var name: Scalar
    /// The arguments; nil if they have the wrong shape.
    var arguments: [Node.Entry]?

    /// The template's name: `uplink@`.
    var template: String { InstanceName(name.text).map { $0.template } ?? "" }
    /// The instance's name: `eth0`.
    var instance: String { InstanceName(name.text).map { $0.instance } ?? "" }
}

/// A name with an `@`: `uplink@eth0` is the instance `eth0` of the template `uplink@`.
struct InstanceName: Sendable {
    /// The mark for all instances.
    static let every = "*"
    /// The part up to the `@`, which it includes.
    let template: String
    /// The part behind it.
    let instance: String

    /// The parts of a name; nil if there is no `@` in it.
    init?(_ name: String) {
        guard let mark = name.utf8.firstIndex(of: UInt8(ascii: "@")) else { return nil }
        template = String(name[...mark])
        instance = String(name[name.utf8.index(after: mark)...])
    }

    /// A Boolean value that indicates whether every instance is meant.
    var isEvery: Bool { instance == Self.every }

    /// A Boolean value that indicates whether the parts can be names: as others, and an instance like a file's part,
    /// `[A-Za-z0-9:._-]+`.
    var isValid: Bool {
        let isInstance = instance.utf8.allSatisfy {
            Names.isLetterOrDigit($0)
                || [UInt8(ascii: ":"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "-")].contains($0)
        }
        return Names.isPublicName(String(template.dropLast())) && !instance.isEmpty && isInstance
            && template.utf8.count + instance.utf8.count <= ConfigurationLimits.nameLength
    }
}

/// Reads templates' parameters and instances: shape only.
struct TemplateDecoder {
    /// The keys of a parameter that is written as a mapping.
    static let parameterKeys = ["type", "default", "description"]
    private let decoder: Decoder

    /// A decoder for a file.
    init(_ decoder: Decoder) { self.decoder = decoder }

    /// The parameters of a template.
    func parameters(_ node: Node) -> [WrittenParameter] {
        if node.isNull { return [] }
        guard let entries = decoder.fieldEntries(node, "the parameters") else { return [] }
        return entries.map { entry in
            decoder.checkIdentifier(entry.key, "a parameter")
            guard case .mapping = entry.value.content else {
                return WrittenParameter(name: entry.key, type: entry.value, fallback: nil)
            }
            let what = "the parameter '\(entry.key.text)'"
            var keyed = decoder.keyed(entry.value, what, known: Self.parameterKeys)
            keyed?.span = entry.key.span
            return WrittenParameter(
                name: entry.key, type: keyed.flatMap { decoder.required("type", of: $0, what) },
                fallback: keyed?["default"],
                mayHideFallback: keyed?.entries.contains { !Self.parameterKeys.contains($0.key.text) } ?? true)
        }
    }

    /// One instance.
    func instance(_ entry: Node.Entry) -> WrittenInstance {
        if InstanceName(entry.key.text)?.isValid != true {
            decoder.report(
                .invalidName, at: entry.key.span,
                "'\(entry.key.text.prefix(ConfigurationLimits.nameLength))' cannot name an instance",
                hint: "write the template's name and the instance's, such as uplink@eth0")
        }
        let arguments =
            entry.value.isNull && decoder.colonHint(entry) == nil
            ? [] : decoder.entries(entry.value, "the parameters of '\(entry.key.text)'")
        return WrittenInstance(source: decoder.source, name: entry.key, arguments: arguments)
    }
}
