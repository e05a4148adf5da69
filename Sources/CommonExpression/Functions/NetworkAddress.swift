import Glibc

/// An address of the Internet Protocol, version 4 or 6, without a zone and not an IPv4 address within an IPv6 address.
struct NetworkAddress: Hashable {
    /// The reason why a text is no address.
    enum Refusal: Error {
        case malformed
        case zone
        case mapped

        var message: String {
            switch self {
            case .malformed: "is not an IP address"
            case .zone: "has a zone, which is not allowed"
            case .mapped: "is an IPv4 address within an IPv6 address, which is not allowed; write the IPv4 address"
            }
        }
    }

    /// The longest text of an address, in bytes: six groups and an IPv4 address.
    static let longestText = 45

    /// Four or sixteen bytes, the most significant one first.
    private(set) var bytes: [UInt8]

    init(_ text: String) throws(Refusal) {
        guard !text.utf8.contains(UInt8(ascii: "%")) else { throw .zone }
        guard text.utf8.count <= Self.longestText, !text.utf8.contains(0) else { throw .malformed }
        let family = text.utf8.contains(UInt8(ascii: ":")) ? AF_INET6 : AF_INET
        bytes = [UInt8](repeating: 0, count: family == AF_INET6 ? 16 : 4)
        guard inet_pton(family, text, &bytes) == 1 else { throw .malformed }
        guard bytes.count == 4 || !(bytes[..<10].allSatisfy { $0 == 0 } && bytes[10] == 255 && bytes[11] == 255) else {
            throw .mapped
        }
    }

    /// The number of bits.
    var width: Int { bytes.count * 8 }

    /// The canonical text: RFC 5952, without its mixed notation.
    var text: String {
        if bytes.count == 4 { return bytes.map { String($0) }.joined(separator: ".") }
        let groups = stride(from: 0, to: 16, by: 2).map { UInt16(bytes[$0]) << 8 | UInt16(bytes[$0 + 1]) }
        var longest = 0..<0
        var start = 0
        while start < groups.count {
            let end = groups[start...].firstIndex { $0 != 0 } ?? groups.count
            if end - start > max(1, longest.count) { longest = start..<end }
            start = end + 1
        }
        func text(_ groups: ArraySlice<UInt16>) -> String {
            groups.map { String($0, radix: 16) }.joined(separator: ":")
        }
        guard !longest.isEmpty else { return text(groups[...]) }
        return text(groups[..<longest.lowerBound]) + "::" + text(groups[longest.upperBound...])
    }

    /// Returns the address with all bits after the first ones set to zero.
    func masked(to length: Int) -> NetworkAddress {
        var masked = self
        for index in bytes.indices {
            let kept = min(8, max(0, length - index * 8))
            masked.bytes[index] &= UInt8(truncatingIfNeeded: 0xFF00 >> kept)
        }
        return masked
    }

    // MARK: Kinds (RFC 4291, RFC 1122, RFC 3927, RFC 5771)

    var isUnspecified: Bool { bytes.allSatisfy { $0 == 0 } }

    var isLoopback: Bool {
        bytes.count == 4 ? bytes[0] == 127 : bytes.dropLast().allSatisfy { $0 == 0 } && bytes[15] == 1
    }

    var isLinkLocalUnicast: Bool {
        bytes.count == 4 ? bytes[0] == 169 && bytes[1] == 254 : bytes[0] == 0xFE && bytes[1] & 0xC0 == 0x80
    }

    var isLinkLocalMulticast: Bool {
        bytes.count == 4 ? bytes.prefix(3) == [224, 0, 0] : bytes[0] == 0xFF && bytes[1] & 0x0F == 2
    }

    private var isMulticast: Bool { bytes.count == 4 ? bytes[0] & 0xF0 == 0xE0 : bytes[0] == 0xFF }

    /// Whether it is none of the others and not the broadcast address. Private addresses are included.
    var isGlobalUnicast: Bool {
        !isUnspecified && !isLoopback && !isLinkLocalUnicast && !isMulticast && bytes != [255, 255, 255, 255]
    }
}

/// A range of addresses: those whose first bits are the same (RFC 4632, RFC 4291).
struct NetworkRange {
    /// The reason why a text is no range.
    enum Refusal: Error {
        case malformed
        case length(Int)
        case address(NetworkAddress.Refusal)

        var message: String {
            switch self {
            case .malformed: "is not a CIDR range such as 192.168.0.0/24"
            case .length(let width): "has a prefix length that is not between 0 and \(width)"
            case .address(let refusal): "begins with something that \(refusal.message)"
            }
        }
    }

    let address: NetworkAddress
    /// The number of the first bits.
    let length: Int

    init(address: NetworkAddress, length: Int) {
        self.address = address
        self.length = length
    }

    init(_ text: String) throws(Refusal) {
        guard let slash = text.utf8.firstIndex(of: UInt8(ascii: "/")) else { throw .malformed }
        let digits = text.utf8[text.utf8.index(after: slash)...]
        guard (1...3).contains(digits.count), digits.allSatisfy({ (0x30...0x39).contains($0) }),
            digits.count == 1 || digits.first != 0x30, let length = Int(String(text[digits.startIndex...]))
        else { throw .malformed }
        do throws(NetworkAddress.Refusal) {
            address = try NetworkAddress(String(text[..<slash]))
        } catch {
            throw .address(error)
        }
        guard length <= address.width else { throw .length(address.width) }
        self.length = length
    }

    var text: String { "\(address.text)/\(length)" }

    func contains(_ other: NetworkAddress) -> Bool {
        other.width == address.width && other.masked(to: length) == address.masked(to: length)
    }
}
