package import CommonExpression
package import MediatorConfiguration
package import MediatorHost
import StrictJSON

/// The state of a host as a text, which one daemon leaves to the next: a JSON object, with a version, of bounded size.
///
/// Each state and value has its type beside it, so the text keeps its meaning when the configuration changes.
/// `Documentation/Reference/SavedState.md` describes the format.
package enum StateSnapshot {
    /// The marker of the format.
    package static let format = "io.mediatord.state"
    /// The version that is written, and the only one that is read.
    package static let version: Int64 = 1
    /// The longest text, in bytes.
    package static let largest = 32 << 20
    /// The limit on nesting of types and values.
    package static let deepest = PartCoder.deepest

    /// The reason why a text is no saved state.
    package typealias Flaw = PartCoder.Flaw

    /// A state as a text, and the names of the systems and buses that are not in it, since they are nested too deep.
    ///
    /// - Parameter time: when it is so.
    /// - Throws: ``Flaw`` where the text would be longer than ``largest``.
    package static func encode(
        _ state: HostState, at time: Timestamp
    ) throws(Flaw) -> (bytes: [UInt8], left: [String]) {
        var left: [String] = []
        let systems = entries(state.systems, state.systemDetails, &left)
        let buses = entries(state.buses, state.busDetails, &left)
        let whole: JSONValue = [
            "format": .string(format), "version": .int(version), "time": .string("\(time)"),
            "systems": .object(systems), "buses": .object(buses),
        ]
        let bytes = whole.serialized()
        guard bytes.count <= largest else {
            throw Flaw(description: "it would have \(bytes.count) bytes, and \(largest) are the most")
        }
        return (bytes, left.sorted())
    }

    /// The state that a text holds.
    ///
    /// - Throws: ``Flaw`` where the text is not wholly as ``encode(_:at:)`` makes it.
    package static func decode(_ bytes: [UInt8]) throws(Flaw) -> HostState {
        guard bytes.count <= largest else { throw Flaw(description: "it has more than \(largest) bytes") }
        let whole: JSONValue
        do throws(JSONSyntaxError) {
            whole = try JSONValue(parsing: bytes.span)
        } catch {
            throw Flaw(description: "\(error)")
        }
        guard whole["format"]?.stringValue == format else { throw Flaw(description: "it is no state of mediatord") }
        guard whole["version"]?.intValue == version else {
            let found = whole["version"].map { String("\($0)".prefix(40)) } ?? "none"
            throw Flaw(description: "its version is \(found), and this daemon knows \(version)")
        }
        var state = HostState()
        (state.systems, state.systemDetails) = try parts(whole["systems"], "systems")
        (state.buses, state.busDetails) = try parts(whole["buses"], "buses")
        return state
    }

    /// Returns the parts as JSON, and adds the names of those that are nested too deep to a list.
    private static func entries(
        _ contents: [String: some SavedContent], _ details: [String: SavedDetails], _ left: inout [String]
    ) -> JSONObject {
        var entries: JSONObject = [:]
        for (name, content) in contents {
            do throws(Flaw) {
                entries[name] = .object(try SavedPart(content, details[name] ?? SavedDetails()).members())
            } catch {
                left.append(name)
            }
        }
        return entries
    }

    private static func parts<Content: SavedContent>(
        _ json: JSONValue?, _ kind: String
    ) throws(Flaw) -> ([String: Content], [String: SavedDetails]) {
        guard let entries = json?.objectValue else { throw .wrong(kind) }
        var contents: [String: Content] = [:]
        var details: [String: SavedDetails] = [:]
        for (name, entry) in entries {
            guard let members = entry.objectValue else { throw .wrong(name) }
            do throws(Flaw) {
                let part = try SavedPart<Content>(members: members)
                contents[name] = part.content
                if part.details != SavedDetails() { details[name] = part.details }
            } catch {
                throw Flaw(description: "\(Flaw.wrong(name)): \(error)")
            }
        }
        return (contents, details)
    }
}
