public import CommonExpression

extension EffectSchema.Parameter {
    /// A requirement of a value beyond its type.
    ///
    /// The compiler checks fixed values. The host checks computed ones before the side effect gets them.
    public enum Constraint: Sendable, Hashable {
        /// A text: a path from the root, without NUL.
        case absolutePath
        /// A text: a path from the root that fits into a UNIX socket's address.
        case socketPath
        /// A text: permissions in octal digits, as `chmod` takes them: `0600`.
        case permissions
        /// A text: one component of a path, of at most so many bytes.
        case component(limit: Int)
        /// A text: the name of a unit of systemd, with its type.
        case unitName
        /// A map from names of fields of the journal.
        case journalFields
        /// A map: fields of an entry in the journal, which anyone may set.
        case logFields
        /// A list of texts: a program and its arguments, without NUL.
        case command
        /// A map of texts: environment variables by name (environ(7)), without NUL.
        case environment
        /// A text: the name or address of a host, as one gives it to a command.
        case host
        /// A text: a ``WebAddress``.
        case url
        /// A text: ``StatusRanges``.
        case statuses
        /// A text: ``ExitStatuses``.
        case exits
        /// A text: the name or number of a user or group.
        case account
        /// A text of at most so many bytes.
        case text(limit: Int)
        /// A map: the fields of a header of HTTP, but for those that belong to the connection.
        case headers
        /// A whole number within a range.
        case whole(ClosedRange<Int64>)
        /// A number within a range.
        case number(ClosedRange<Double>)
        /// A length of time within a range.
        case time(ClosedRange<Duration>)

        /// The largest size of a UNIX socket's address in bytes, without the terminating NUL (`unix(7)`).
        public static let socketPathLimit = 107

        /// The reason why a value breaks the constraint, to follow its name: `must be …`; `nil` if it does not.
        public func problem(with value: Value) -> String? {
            switch (self, value) {
            case (.absolutePath, .string(let text)): Self.pathProblem(text)
            case (.socketPath, .string(let text)):
                Self.pathProblem(text)
                    ?? (text.utf8.count > Self.socketPathLimit
                        ? "must be at most \(Self.socketPathLimit) bytes long: a socket's address has no more room"
                        : nil)
            case (.permissions, .string(let text)):
                Self.mode(text) == nil ? "must be permissions in octal digits, from \"0\" to \"0777\"" : nil
            case (.component(let limit), .string(let text)):
                text.isEmpty || text.utf8.count > limit || text == "." || text == ".."
                    || text.utf8.contains { $0 == 0 || $0 == UInt8(ascii: "/") }
                    ? "must be a name of 1 to \(limit) bytes without '/'" : nil
            case (.unitName, .string(let text)):
                Self.isUnitName(text) ? nil : "must be the name of a unit with its type, such as \"nginx.service\""
            case (.journalFields, .map(let entries)):
                entries.keys.lazy.compactMap { key -> String? in
                    guard case .string(let name) = key, !Self.isJournalField(name) else { return nil }
                    return "cannot have '\(name.prefix(64))': a field of the journal has a name like _SYSTEMD_UNIT"
                }.min()
            case (.logFields, .map(let entries)): LogFields.problem(with: entries)
            case (.command, .list(let words)): Self.commandProblem(words)
            case (.environment, .map(let variables)): Self.environmentProblem(variables)
            case (.host, .string(let text)):
                Self.isHost(text)
                    ? nil : "must be the name or address of a host: without a port, brackets, or anything before it"
            case (.url, .string(let text)): Self.urlProblem(text)
            case (.statuses, .string(let text)):
                StatusRanges(text) == nil
                    ? "must be statuses from 100 to 599 and ranges of them, such as \"200-299,404\"" : nil
            case (.exits, .string(let text)):
                ExitStatuses(text) == nil
                    ? "must be exit codes from 0 to 255, ranges of them and signals, such as \"0,75-78,SIGTERM\"" : nil
            case (.account, .string(let text)):
                Self.isAccount(text) ? nil : "must be the name or the number of an account"
            case (.text(let limit), .string(let text)):
                text.utf8.count > limit ? outside : nil
            case (.headers, .map(let entries)): HeaderFields.problem(with: entries)
            case (.whole(let range), .int(let number)):
                range.contains(number) ? nil : outside
            case (.whole(let range), .uint(let number)):
                Int64(exactly: number).map(range.contains) == true
                    ? nil : outside
            case (_, .optional(let wrapped)): wrapped.flatMap(problem)
            case (.number(let range), .double(let number)):
                range.contains(number) ? nil : outside
            case (.time(let range), .duration(let span)): range.contains(span.swiftDuration) ? nil : outside
            default: nil
            }
        }

        /// The limits of a value in words, such as `from 1 to 12`; nil: the constraint is not about limits.
        var bounds: String? {
            switch self {
            case .whole(let range):
                Self.bounds(
                    range.lowerBound == .min ? nil : "\(range.lowerBound)",
                    range.upperBound == .max ? nil : "\(range.upperBound)")
            case .number(let range):
                Self.bounds(
                    range.lowerBound.isFinite ? "\(range.lowerBound)" : nil,
                    range.upperBound.isFinite ? "\(range.upperBound)" : nil)
            case .time(let range):
                Self.bounds(TimeSpan(range.lowerBound)?.brief, TimeSpan(range.upperBound)?.brief)
            case .text(let limit): "at most \(limit) bytes long"
            default: nil
            }
        }

        private static func bounds(_ least: String?, _ most: String?) -> String? {
            switch (least, most) {
            case (let least?, let most?): "from \(least) to \(most)"
            case (let least?, nil): "at least \(least)"
            case (nil, let most?): "at most \(most)"
            case (nil, nil): nil
            }
        }

        private var outside: String? { bounds.map { "must be \($0)" } }

        /// The permissions that octal digits stand for; `nil` for anything else, and beyond `0777`.
        public static func mode(_ text: String) -> UInt32? {
            guard (1...4).contains(text.utf8.count),
                text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "7")).contains($0) })
            else { return nil }
            return UInt32(text, radix: 8).flatMap { $0 <= 0o777 ? $0 : nil }
        }

        /// The types of units (systemd.unit(5)).
        static let unitTypes = [
            "automount", "device", "mount", "path", "scope", "service", "slice", "socket", "swap", "target", "timer",
        ]

        /// Returns whether a text can be a unit's name: that of a template alone is none.
        static func isUnitName(_ text: String) -> Bool {
            guard text.utf8.count <= 255, let point = text.lastIndex(of: "."), point != text.startIndex,
                unitTypes.contains(String(text[text.index(after: point)...]))
            else { return false }
            let name = text[..<point]
            return name.utf8.allSatisfy { byte in
                (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
                    || ":-_.\\@".utf8.contains(byte)
            } && name.last != "@" && name.first != "@"
        }

        /// Returns whether a text can be a field's name (systemd.journal-fields(7)).
        static func isJournalField(_ text: String) -> Bool {
            (1...64).contains(text.utf8.count) && text.utf8.first.map { !(0x30...0x39).contains($0) } == true
                && text.utf8.allSatisfy { byte in
                    (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte) || byte == UInt8(ascii: "_")
                }
        }

        /// Returns whether it can be asked of values of a type.
        func isFor(_ type: ValueType) -> Bool {
            switch (self, type) {
            case (_, .optional(let wrapped)): isFor(wrapped)
            case (.whole, .int), (.whole, .uint), (.number, .double), (.time, .duration): true
            case (.command, .list(.string)): true
            case (.environment, .map(key: .string, value: .string)), (.logFields, .map(key: .string, value: .string)),
                (.headers, .map(key: .string, value: .string)), (.journalFields, .map(key: .string, value: _)):
                true
            case (.absolutePath, .string), (.socketPath, .string), (.permissions, .string), (.component, .string),
                (.unitName, .string), (.host, .string), (.url, .string), (.statuses, .string), (.exits, .string),
                (.account, .string), (.text, .string):
                true
            default: false
            }
        }

        /// A Boolean value that indicates whether it is about how much, not about how something is written.
        var isRange: Bool {
            switch self {
            case .whole, .number, .time, .text: true
            case .absolutePath, .socketPath, .permissions, .component, .host, .url, .statuses, .headers, .command,
                .environment, .unitName, .journalFields, .logFields, .exits, .account:
                false
            }
        }

        /// The most that a host may be called, in bytes: a name of the DNS (RFC 1035), or an address with its interface.
        public static let hostLimit = 253

        /// Returns whether a text may be the name of a host or an address. A name follows RFC 1123, and may have
        /// underscores. An address of IPv6 has colons, and may end with an interface (RFC 4007).
        static func isHost(_ text: String) -> Bool {
            (1...hostLimit).contains(text.utf8.count)
                && text.utf8.first != UInt8(ascii: "-")
                && text.utf8.allSatisfy { byte in
                    switch byte {
                    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."),
                        UInt8(ascii: "_"), UInt8(ascii: ":"), UInt8(ascii: "%"):
                        true
                    default: false
                    }
                }
                && (text.utf8.count { $0 == UInt8(ascii: ":") } != 1)
        }

        /// Returns whether a text may be the name of a user or group, by what no such database can hold, or its number;
        /// the last number stands for none (setreuid(2)).
        static func isAccount(_ text: String) -> Bool {
            guard let first = text.utf8.first, text.utf8.count <= 255 else { return false }
            if text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) {
                return UInt32(text).map { $0 != .max } ?? false
            }
            return !"+-.".utf8.contains(first)
                && text.utf8.allSatisfy { $0 > 0x20 && $0 != 0x7F && !":/,".utf8.contains($0) }
        }

        private static func urlProblem(_ text: String) -> String? {
            do throws(WebAddress.Problem) {
                _ = try WebAddress(text)
                return nil
            } catch {
                return error.message
            }
        }

        private static func pathProblem(_ text: String) -> String? {
            guard text.utf8.first == UInt8(ascii: "/") else {
                return "must be a path from the root: it begins with '/'"
            }
            return text.utf8.contains(0) ? "cannot contain NUL" : nil
        }

        private static func commandProblem(_ words: [Value]) -> String? {
            if case .string("")? = words.first { return "must begin with the name of a program, which is not empty" }
            return words.contains(where: holdsNUL) ? "cannot contain NUL" : nil
        }

        private static func environmentProblem(_ variables: [Value: Value]) -> String? {
            let names = variables.keys.compactMap { key in if case .string(let name) = key { name } else { nil } }
            if let name = names.sorted().first(where: { $0.isEmpty || $0.utf8.contains(UInt8(ascii: "=")) }) {
                return "has the name '\(name)', and a variable's name is not empty and has no '=' in it"
            }
            return variables.contains { holdsNUL($0.key) || holdsNUL($0.value) } ? "cannot contain NUL" : nil
        }

        private static func holdsNUL(_ value: Value) -> Bool {
            if case .string(let text) = value { text.utf8.contains(0) } else { false }
        }
    }
}
