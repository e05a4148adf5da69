/// The limits of a configuration. Beyond any of these there is an error, never a slow or failing daemon.
public enum ConfigurationLimits {
    /// Bytes of one file: 1 MiB.
    public static let fileSize = 1 << 20
    /// Files of one configuration.
    public static let files = 10_000
    /// Bytes of a file with all its drop-ins: 16 MiB.
    public static let layeredSize = 1 << 24
    /// The deepest nesting of lists and mappings.
    public static let nesting = 64
    /// Nodes (keys and values) of one file. An alias counts as all nodes that it repeats.
    public static let nodes = 200_000
    /// Errors and warnings reported for one file; one more says that there are others.
    public static let diagnostics = 1_000
    /// Broken documents of one file after which the rest of it is not looked at.
    public static let brokenDocuments = 20
    /// Characters of a system's, bus's, link's, feedback's, state's, event's or field's name.
    public static let nameLength = 128
    /// States of one system.
    public static let states = 1_000
    /// The deepest nesting of states: that of `Running.Copying` is 2.
    public static let stateNesting = 8
    /// Events of one system.
    public static let events = 1_000
    /// Fields of one state, event or bus value.
    public static let fields = 256
    /// Rules of one system once wildcards are expanded, and pairs of state and event.
    public static let expandedRules = 200_000
    /// Programs of one system or link, those for each of several states counted one by one, and eight fields kept or
    /// set as one.
    public static let statePrograms = 200_000
    /// Pairs of state and event of all instances of templates together, with one more for each state: 4,000,000, for which a
    /// check takes some seconds and less than 1 GiB.
    public static let instancePairs = 4_000_000
    /// Programs of all instances of templates together: 1,000,000, which take less than about 1 GiB.
    ///
    /// An expression that names `parameters` or `instance` is a program, and each 64 bytes of its text are one more. Of keys,
    /// values, and entries for each state, 8 count as one program. The links and buses of an instance belong to it.
    public static let instancePrograms = 1_000_000
    /// The deepest nesting of types: that of `list(list(int))` is 3.
    public static let typeNesting = 8
    /// Levels of types and values of a stored state, its fields on the second one.
    package static let storedNesting = 24
    /// Events or values that may wait in a mailbox or on a bus.
    public static let bufferLimit = 1_000_000
    /// Bytes that the data of the events may hold that wait in one mailbox; events with no more than 1 KiB are not counted.
    public static let mailboxBytes = 64 << 20
    /// Calendar times of one feedback.
    public static let calendarTimes = 64
    /// The shortest period of `every`, in nanoseconds: 1 ms.
    public static let shortestPeriod: Int64 = 1_000_000
    /// The longest `maxWait` of a feedback: 24 hours.
    public static let longestMaxWait = Duration.seconds(24 * 3_600)
    /// Characters of a summary line's data.
    static let summaryLength = 200
}
