package import CommonExpression
package import StrictJSON

/// The details of a saved state or value. `nil` and missing entries mean that something is unknown.
package struct SavedDetails: Sendable, Hashable {
    /// The state of the origin of a link, or the value of the bus that the link reads.
    package struct Heard: Sendable, Hashable {
        /// The fingerprint of the link.
        package var link: String
        /// The time at which the origin entered the state, or the bus received the value.
        package var since: Timestamp
        /// The number of the state at its entry. It is 0 for a value of a bus: the times of its values differ.
        package var serial: UInt64
        /// The checksum of the output, for a link that also fires when an update changes its output.
        package var output: UInt64?

        package init(link: String, since: Timestamp, serial: UInt64, output: UInt64? = nil) {
            self.link = link
            self.since = since
            self.serial = serial
            self.output = output
        }
    }

    /// A moment on the clock that starts with the boot and does not follow changes of the time of day.
    package struct BootMoment: Sendable, Hashable {
        /// The id of the boot, as in `/proc/sys/kernel/random/boot_id`. Moments of different boots cannot be compared.
        package var boot: String
        /// The time since the boot, including the time in suspend.
        package var time: TimeSpan

        package init(boot: String, time: TimeSpan) {
            self.boot = boot
            self.time = time
        }
    }

    /// The number of the incarnation that had the state. A later incarnation, also of a later process, has a higher one.
    package var epoch: UInt64?
    /// The number of the state at its entry, or of the value of a bus. It only grows. An update in place keeps it.
    package var serial: UInt64?
    /// The last state or value that each link has shown to this part, by the name of the link.
    package var heard: [String: Heard]
    /// The moment at which the part entered the state or received the value.
    package var entered: BootMoment?

    package init(
        epoch: UInt64? = nil, serial: UInt64? = nil, heard: [String: Heard] = [:], entered: BootMoment? = nil
    ) {
        self.epoch = epoch
        self.serial = serial
        self.heard = heard
        self.entered = entered
    }
}

extension SavedDetails {
    /// The members of a JSON object, without those that are unknown.
    fileprivate var members: JSONObject {
        var members: JSONObject = [:]
        if let epoch { members["epoch"] = .string("\(epoch)") }
        if let serial { members["serial"] = .string("\(serial)") }
        if !heard.isEmpty {
            members["heard"] = .object(
                heard.mapValues { heard in
                    var entry: JSONObject = [
                        "link": .string(heard.link), "since": .string("\(heard.since)"),
                        "serial": .string("\(heard.serial)"),
                    ]
                    if let output = heard.output { entry["output"] = .string("\(output)") }
                    return .object(entry)
                })
        }
        if let entered {
            members["entered"] = ["boot": .string(entered.boot), "time": .string("\(entered.time)")]
        }
        return members
    }

    /// Creates details from the members of a JSON object. Ignores members that it does not know.
    ///
    /// - Throws: ``PartCoder/Flaw`` if a member is wrong.
    fileprivate init(members: JSONObject) throws(PartCoder.Flaw) {
        self.init(
            epoch: try Self.number(members["epoch"], "epoch"), serial: try Self.number(members["serial"], "serial"))
        if let heard = members["heard"] {
            guard let links = heard.objectValue else { throw .wrong("heard") }
            for (link, entry) in links {
                guard let serial = try Self.number(entry["serial"], "heard") else { throw .wrong("heard") }
                self.heard[link] = Heard(
                    link: try ValueCoder.text(entry["link"], "heard"),
                    since: try ValueCoder.time(entry["since"], "heard"), serial: serial,
                    output: try Self.number(entry["output"], "heard"))
            }
        }
        if let entered = members["entered"] {
            guard let time = TimeSpan(text: try ValueCoder.text(entered["time"], "entered")) else {
                throw .wrong("entered")
            }
            self.entered = BootMoment(boot: try ValueCoder.text(entered["boot"], "entered"), time: time)
        }
    }

    private static func number(_ json: JSONValue?, _ name: String) throws(PartCoder.Flaw) -> UInt64? {
        guard let json else { return nil }
        guard let number = UInt64(try ValueCoder.text(json, name)) else { throw .wrong(name) }
        return number
    }
}

/// The state of a system or the value of a bus, with its details.
package struct SavedPart<Content: SavedContent>: Sendable, Hashable {
    /// The state or value.
    package var content: Content
    /// The details.
    package var details: SavedDetails

    package init(_ content: Content, _ details: SavedDetails = SavedDetails()) {
        self.content = content
        self.details = details
    }

    /// Creates a part from the members of a JSON object. Ignores members that it does not know.
    ///
    /// - Throws: ``PartCoder/Flaw`` if a member is missing or wrong, or nested too deep.
    package init(members: JSONObject) throws(PartCoder.Flaw) {
        self.init(try Content(members: members), try SavedDetails(members: members))
    }

    /// Returns the part as the members of a JSON object.
    ///
    /// - Throws: ``PartCoder/Flaw`` if the content is nested too deep, or a value does not have its type.
    package func members() throws(PartCoder.Flaw) -> JSONObject {
        try content.members().merging(details.members) { content, _ in content }
    }

    /// Returns the newer one of two saved forms of the same part, or the one that exists.
    ///
    /// - The higher (epoch, serial) is newer. An unknown serial is lower than any other.
    /// - If these are equal, the inherited one is newer. The incarnation left it at its end. It may have updated its data in place
    ///   since the last write to the store.
    /// - If an epoch is unknown, the later `since` is newer, and the stored one if these are equal: its process may have begun
    ///   with the inherited one.
    ///
    /// - Parameters:
    ///   - stored: The part as the store has it.
    ///   - inherited: The part in the text that the previous daemon left when it stopped.
    package static func newer(stored: Self?, inherited: Self?) -> Self? {
        guard let stored, let inherited else { return stored ?? inherited }
        guard let storedEpoch = stored.details.epoch, let inheritedEpoch = inherited.details.epoch else {
            return inherited.content.since > stored.content.since ? inherited : stored
        }
        guard storedEpoch == inheritedEpoch else { return inheritedEpoch > storedEpoch ? inherited : stored }
        return (inherited.details.serial ?? 0) >= (stored.details.serial ?? 0) ? inherited : stored
    }
}
