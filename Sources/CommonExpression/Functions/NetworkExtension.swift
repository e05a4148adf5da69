/// The functions of the network extension (github.com/google/cel-go/ext, "Network"): addresses and ranges.
///
/// Both are structures with their canonical text, so that they are compared, kept and shown like other structures.
enum NetworkExtension {
    /// All functions of the extension. `string` takes both types as well.
    static let all: [Function] = [
        Function(
            "ip", [.function(.string, result: ip), .member(cidr, result: ip)],
            unary: { value, range, _ throws(EvaluationError) in
                if case .string = value { return Self.value(try address(value, [.text], "ip", range)) }
                return Self.value(try networkRange(value, [.structure], "ip", range).address)
            }),
        test("isIP") { text in (try? NetworkAddress(text)) != nil },
        Function(
            "ip.isCanonical", [.function(.string, result: .bool)],
            unary: { value, range, _ throws(EvaluationError) in
                .bool(.string(try address(value, [.text], "ip.isCanonical", range).text) == value)
            }),
        ofAddress("family", .int) { .int($0.width == 32 ? 4 : 6) },
        ofAddress("isUnspecified", .bool) { .bool($0.isUnspecified) },
        ofAddress("isLoopback", .bool) { .bool($0.isLoopback) },
        ofAddress("isGlobalUnicast", .bool) { .bool($0.isGlobalUnicast) },
        ofAddress("isLinkLocalUnicast", .bool) { .bool($0.isLinkLocalUnicast) },
        ofAddress("isLinkLocalMulticast", .bool) { .bool($0.isLinkLocalMulticast) },
        Function(
            "cidr", [.function(.string, result: cidr)],
            unary: { value, range, _ throws(EvaluationError) in
                Self.value(try networkRange(value, [.text], "cidr", range))
            }),
        test("isCIDR") { text in (try? NetworkRange(text)) != nil },
        Function(
            "containsIP", [.member(cidr, ip, result: .bool), .member(cidr, .string, result: .bool)],
            binary: { value, other, range, _ throws(EvaluationError) in
                let whole = try networkRange(value, [.structure], "containsIP", range)
                return .bool(whole.contains(try address(other, [.text, .structure], "containsIP", range)))
            }),
        Function(
            "containsCIDR", [.member(cidr, cidr, result: .bool), .member(cidr, .string, result: .bool)],
            binary: { value, other, range, _ throws(EvaluationError) in
                let whole = try networkRange(value, [.structure], "containsCIDR", range)
                let part = try networkRange(other, [.text, .structure], "containsCIDR", range)
                return .bool(part.length >= whole.length && whole.contains(part.address))
            }),
        ofRange("masked", cidr) {
            value(NetworkRange(address: $0.address.masked(to: $0.length), length: $0.length))
        },
        ofRange("prefixLength", .int) { .int(Int64($0.length)) },
    ]

    /// The type of addresses.
    static let addressType = StructureType(name: "net.IP", fields: [.init(name: "address", type: .string)])
    /// The type of ranges.
    static let rangeType = StructureType(
        name: "net.CIDR", fields: [.init(name: "address", type: .string), .init(name: "prefixLength", type: .int)])

    static let ip = StaticType.structure(addressType)
    static let cidr = StaticType.structure(rangeType)

    /// The text of an address or a range; nil for other structures.
    static func text(of structure: Structure) -> String? {
        switch (structure.type, structure.fields.first, structure.fields.last) {
        case (addressType, .string(let address)?, _): address
        case (rangeType, .string(let address)?, .int(let length)?): "\(address)/\(length)"
        default: nil
        }
    }

    // MARK: Kinds of functions

    private static func test(_ name: String, _ holds: @escaping @Sendable (String) -> Bool) -> Function {
        Function(
            name, [.function(.string, result: .bool)],
            unary: { value, range, _ throws(EvaluationError) in
                .bool(holds(try text(value, [.text], addressType, name, range)))
            })
    }

    private static func ofAddress(
        _ name: String, _ result: StaticType, _ body: @escaping @Sendable (NetworkAddress) -> Value
    ) -> Function {
        Function(
            name, [.member(ip, result: result)],
            unary: { value, range, _ throws(EvaluationError) in
                body(try address(value, [.structure], name, range))
            })
    }

    private static func ofRange(
        _ name: String, _ result: StaticType, _ body: @escaping @Sendable (NetworkRange) -> Value
    ) -> Function {
        Function(
            name, [.member(cidr, result: result)],
            unary: { value, range, _ throws(EvaluationError) in
                body(try networkRange(value, [.structure], name, range))
            })
    }

    // MARK: Values

    private static func value(_ address: NetworkAddress) -> Value {
        .structure(Structure(type: addressType, fields: [.string(address.text)]))
    }

    private static func value(_ range: NetworkRange) -> Value {
        .structure(Structure(type: rangeType, fields: [.string(range.address.text), .int(Int64(range.length))]))
    }

    /// A form in which a function takes an address or a range.
    private enum Form {
        case text
        case structure
    }

    /// Returns the text of an operand in one of the forms.
    private static func text(
        _ value: Value, _ forms: [Form], _ type: StructureType, _ name: String, _ range: SourceRange
    ) throws(EvaluationError) -> String {
        switch value {
        case .string(let text) where forms.contains(.text): return text
        case .structure(let structure) where forms.contains(.structure) && structure.type == type:
            if let text = text(of: structure) { return text }
        default: break
        }
        throw CallArguments(name: name, values: [value], range: range).noOverload()
    }

    private static func address(
        _ value: Value, _ forms: [Form], _ name: String, _ range: SourceRange
    ) throws(EvaluationError) -> NetworkAddress {
        let text = try text(value, forms, addressType, name, range)
        do throws(NetworkAddress.Refusal) { return try NetworkAddress(text) } catch {
            throw malformed(text, error.message, range)
        }
    }

    private static func networkRange(
        _ value: Value, _ forms: [Form], _ name: String, _ range: SourceRange
    ) throws(EvaluationError) -> NetworkRange {
        let text = try text(value, forms, rangeType, name, range)
        do throws(NetworkRange.Refusal) { return try NetworkRange(text) } catch {
            throw malformed(text, error.message, range)
        }
    }

    private static func malformed(_ text: String, _ message: String, _ range: SourceRange) -> EvaluationError {
        EvaluationError(
            code: .invalidArgument, message: "\(ValueExcerpt.text(of: .string(text))) \(message)", range: range)
    }
}
