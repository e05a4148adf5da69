import StrictJSON

/// Encodes the saved state of one system, or the saved value of one bus, as JSON text of bounded size, and decodes it.
///
/// Each state and value has its type beside it, so the text keeps its meaning when the configuration changes.
/// `Documentation/Reference/SavedState.md` describes the format.
package enum PartCoder {
    /// The longest text of one part, in bytes. It is also the largest body that a store takes.
    package static let largest = 16 << 20
    /// The limit on nesting of types and values.
    package static let deepest = 24

    /// The reason why a part cannot be saved, or why a text is no saved part.
    package struct Flaw: Error, Hashable, CustomStringConvertible {
        /// The reason in words.
        package let description: String

        /// Creates a reason.
        package init(description: String) { self.description = description }

        /// Creates the reason that a member of the text is missing or wrong.
        package static func wrong(_ name: String) -> Flaw {
            Flaw(description: "its '\(name.prefix(100))' is invalid")
        }
    }

    /// Returns the text of a part.
    ///
    /// - Throws: ``Flaw`` if the part is nested deeper than ``deepest``, or the text would be longer than ``largest``.
    package static func encode(_ part: SavedPart<some SavedContent>) throws(Flaw) -> [UInt8] {
        var bytes: [UInt8] = []
        JSONValue.write(try part.members(), to: &bytes, limit: largest)
        guard bytes.count <= largest else { throw Flaw(description: "it has more than \(largest) bytes") }
        return bytes
    }

    /// Returns the part that a text holds.
    ///
    /// - Throws: ``Flaw`` if the text is longer than ``largest``, is nested too deep, or is not a part of that kind.
    package static func decode<Content: SavedContent>(
        _ bytes: [UInt8], as _: Content.Type = Content.self
    ) throws(Flaw) -> SavedPart<Content> {
        guard bytes.count <= largest else { throw Flaw(description: "it has more than \(largest) bytes") }
        let whole: JSONValue
        do throws(JSONSyntaxError) {
            whole = try JSONValue(parsing: bytes.span)
        } catch {
            throw Flaw(description: "\(error)")
        }
        guard let members = whole.objectValue else { throw Flaw(description: "it is no JSON object") }
        return try SavedPart(members: members)
    }
}
