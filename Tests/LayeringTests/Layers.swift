/// The architecture as a table: which module may import which. Beside these, a module may import the standard library,
/// and nothing more.
///
/// A change of a row is a change of the architecture. Give the reason in the same commit.
enum Layers {
    /// The standard library's own modules, for all.
    static let everywhere: Set = ["Swift", "Synchronization"]

    static let table: [String: Set<String>] = [
        // Layer 0: know nothing of ours.
        // It starts threads. Those of Apple only where the platform has them: bindings, observation and signposts.
        "FeedbackKit": collections + ["SwiftUI", "Combine", "os", "Darwin"] + cLibrary,
        "CRE2": [],
        "CCurl": [],
        "CSQLite": [],
        "CLinux": [],
        "CTasks": [],
        "StrictJSON": [],
        // It reads the time zone database, and matches with RE2.
        "CommonExpression": ["CRE2", "StrictJSON"] + cLibrary,
        "SocketFile": cLibrary,
        // In its directory nobody else can put a socket.
        "Varlink": ["SocketFile", "StrictJSON"] + nio + cLibrary + foundation,
        "CSystemd": [],
        "CYaml": [],

        // Layer 1: one step above one of those.
        // It reports failures to whichever of the two frameworks runs the test.
        "FeedbackKitTesting": ["FeedbackKit", "Testing", "XCTest"] + foundation,
        "FeedbackKitServiceLifecycle": ["FeedbackKit", "ServiceLifecycle"],
        "FeedbackKitOpenCombine": ["FeedbackKit", "OpenCombine"] + collections,
        "Systemd": ["CSystemd", "Logging", "ServiceLifecycle"] + cLibrary + foundation,
        // It locks a file, and its thread waits for a descriptor.
        "Durability": ["CSQLite"] + cLibrary,
        // It lists and reads a directory. Files are read and compiled on several threads.
        "MediatorConfiguration": ["CommonExpression", "StrictJSON", "CYaml"] + cLibrary + foundation,

        // Layer 2: the parts of the daemon, which do not know each other's transport.
        "MediatorHost": ["FeedbackKit", "MediatorConfiguration", "CommonExpression", "Logging", "Metrics"] + foundation,
        // The configuration's types are those in which the host speaks to a side effect.
        "SideEffects": ["CCurl", "CLinux", "MediatorHost", "MediatorConfiguration", "CommonExpression", "Systemd"]
            + ["SocketFile", "StrictJSON", "Logging", "Subprocess", "SystemPackage"] + nio + cLibrary
            + foundation,
        // It counts what a process holds.
        "MediatorEffectTesting": ["MediatorHost", "MediatorConfiguration", "CommonExpression", "Logging"]
            + cLibrary + foundation,
        // The path of its socket depends on the user. Values travel over it as the expressions' values.
        "MediatorControl": ["CommonExpression", "SocketFile", "StrictJSON", "Varlink"] + cLibrary + foundation,

        // Layer 3: where the parts are joined.
        "MediatorDaemon": [
            "Durability", "CLinux", "CTasks", "FeedbackKit", "CommonExpression", "StrictJSON", "Varlink", "Systemd",
            "MediatorConfiguration",
        ]
            + ["MediatorHost", "SideEffects", "MediatorControl"]
            + ["_Concurrency", "Dispatch", "ServiceLifecycle", "Logging", "Metrics", "ArgumentParser"]
            + cLibrary
            + nio + ["NIOHTTP1"] + foundation,
        // A client's errors and JSON values are the protocol's; configurations are checked where no daemon runs, by the
        // very code that the daemon starts with.
        "MediatorCommands": [
            "CommonExpression", "MediatorControl", "StrictJSON", "Varlink", "MediatorConfiguration", "ArgumentParser",
        ]
            + cLibrary + foundation,

        // Layer 4: the programs, which only begin.
        "mediatord": ["MediatorDaemon"],
        "mediatorctl": ["MediatorCommands", "Dispatch", "Glibc"],

        // For the tests.
        "TestSupport": ["Dispatch", "Testing"] + cLibrary,
        "effect-check": ["CommonExpression", "MediatorConfiguration", "MediatorEffectTesting", "MediatorHost"]
            + ["SideEffects"] + cLibrary,
        "store-writer": ["Durability"] + cLibrary,
        "unruly-daemon": [
            "CommonExpression", "FeedbackKit", "Glibc", "MediatorConfiguration", "MediatorDaemon", "MediatorHost",
        ],
        "varlink-certification": ["StrictJSON", "Varlink"] + cLibrary,
        "cel-eval": ["CommonExpression", "Foundation"],
    ]

    private static let collections: Set = ["Collections", "DequeModule", "HeapModule", "OrderedCollections"]
    private static let nio: Set = ["NIOCore", "NIOPosix"]
    private static let cLibrary: Set = ["Glibc", "Musl"]
    /// The modules that are fit for a static link; the whole of Foundation is not.
    private static let foundation: Set = ["FoundationEssentials"]
}

extension Set {
    /// The union, as the table writes it.
    fileprivate static func + (left: Set, right: Set) -> Set {
        left.union(right)
    }
}
