// swift-tools-version: 6.2
import PackageDescription

/// Every target is built with the same strictness: Swift 6 mode, and warnings are errors.
let strict: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .treatAllWarnings(as: .error),
]

/// Debian's releases have RE2 under different names; programs for other machines may have its archive within them, which
/// .ci/build-release decides.
let re2 = Context.environment["MEDIATORD_RE2_ARCHIVE"] == "1" ? ":libre2.a" : "re2"

/// A product of another package. A program that turns the trait off does not fetch the package.
func product(_ name: String, _ package: String, trait: String = "Daemon") -> Target.Dependency {
    .product(name: name, package: package, condition: .when(traits: [trait]))
}

let argumentParser = product("ArgumentParser", "swift-argument-parser")
let deque = Target.Dependency.product(name: "DequeModule", package: "swift-collections")
let heap = Target.Dependency.product(name: "HeapModule", package: "swift-collections")
let nioHTTP = product("NIOHTTP1", "swift-nio")
let logging = product("Logging", "swift-log")
let metrics = product("Metrics", "swift-metrics")
let nio = [product("NIOCore", "swift-nio"), product("NIOPosix", "swift-nio")]
let openCombine = product("OpenCombine", "OpenCombine", trait: "OpenCombine")
let openCombineDispatch = product("OpenCombineDispatch", "OpenCombine", trait: "OpenCombine")
let openCombineFoundation = product("OpenCombineFoundation", "OpenCombine", trait: "OpenCombine")
let serviceLifecycle = product("ServiceLifecycle", "swift-service-lifecycle", trait: "ServiceLifecycle")
let serviceLifecycleTestKit = product("ServiceLifecycleTestKit", "swift-service-lifecycle", trait: "ServiceLifecycle")
let subprocess = product("Subprocess", "swift-subprocess")
let systemPackage = product("SystemPackage", "swift-system")

let package = Package(
    name: "mediatord",
    products: [
        .library(name: "FeedbackKit", targets: ["FeedbackKit"]),
        .library(name: "FeedbackKitOpenCombine", targets: ["FeedbackKitOpenCombine"]),
        .library(name: "FeedbackKitServiceLifecycle", targets: ["FeedbackKitServiceLifecycle"]),
        .library(name: "FeedbackKitTesting", targets: ["FeedbackKitTesting"]),
        .library(name: "StrictJSON", targets: ["StrictJSON"]),
        .library(name: "CommonExpression", targets: ["CommonExpression"]),
        .library(name: "Varlink", targets: ["Varlink"]),
        .library(name: "MediatorConfiguration", targets: ["MediatorConfiguration"]),
        .library(name: "MediatorControl", targets: ["MediatorControl"]),
        .library(name: "MediatorHost", targets: ["MediatorHost"]),
        .library(name: "MediatorEffectTesting", targets: ["MediatorEffectTesting"]),
        .library(name: "MediatorDaemon", targets: ["MediatorDaemon"]),
        .executable(name: "mediatord", targets: ["mediatord"]),
        .executable(name: "mediatorctl", targets: ["mediatorctl"]),
    ],
    traits: [
        .default(enabledTraits: ["Daemon", "OpenCombine"]),
        .trait(
            name: "Daemon", description: "The daemon, its client, and the libraries that these are made of",
            enabledTraits: ["ServiceLifecycle"]),
        .trait(name: "OpenCombine", description: "FeedbackKitOpenCombine"),
        .trait(name: "ServiceLifecycle", description: "FeedbackKitServiceLifecycle"),
    ],
    // Exact versions, so that a tag is built of the same code again; .ci/dependencies has those of what these use in turn.
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", exact: "1.8.2"),
        .package(url: "https://github.com/apple/swift-collections", exact: "1.6.0"),
        .package(url: "https://github.com/apple/swift-log", exact: "1.16.2"),
        .package(url: "https://github.com/apple/swift-metrics", exact: "2.13.0"),
        .package(url: "https://github.com/apple/swift-nio", exact: "2.101.2"),
        .package(url: "https://github.com/apple/swift-system", exact: "1.8.1"),
        .package(url: "https://github.com/OpenCombine/OpenCombine", exact: "0.14.0"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", exact: "2.13.0"),
        .package(url: "https://github.com/swiftlang/swift-subprocess", exact: "1.0.2"),
    ],
    targets: [
        // Layer 0: know nothing of ours.
        .target(name: "FeedbackKit", dependencies: [deque, heap], swiftSettings: strict),
        // RE2 behind a C header, for regular expressions in time linear in the input.
        .target(name: "CRE2", linkerSettings: [.linkedLibrary(re2)]),
        .target(name: "StrictJSON", swiftSettings: strict),
        .target(name: "CommonExpression", dependencies: ["CRE2", "StrictJSON"], swiftSettings: strict),
        // libcurl with functions that Swift can call.
        .target(name: "CCurl", linkerSettings: [.linkedLibrary("curl")]),
        // SQLite with functions that Swift can call.
        .target(name: "CSQLite", linkerSettings: [.linkedLibrary("sqlite3")]),
        // Calls of Linux that Swift's module of the C library does not have.
        .target(name: "CLinux"),
        // The hooks of Swift's runtime for the threads of tasks.
        .target(name: "CTasks"),
        // The files of UNIX sockets, and whether others could replace them.
        .target(name: "SocketFile", swiftSettings: strict),
        .target(name: "Varlink", dependencies: ["SocketFile", "StrictJSON"] + nio, swiftSettings: strict),
        .systemLibrary(name: "CYaml", pkgConfig: "yaml-0.1", providers: [.apt(["libyaml-dev"])]),
        .systemLibrary(name: "CSystemd", pkgConfig: "libsystemd", providers: [.apt(["libsystemd-dev"])]),

        // Layer 1: one step above one of those.
        .target(name: "FeedbackKitTesting", dependencies: ["FeedbackKit"], swiftSettings: strict),
        .target(
            name: "FeedbackKitOpenCombine", dependencies: ["FeedbackKit", openCombine, deque], swiftSettings: strict),
        .target(
            name: "FeedbackKitServiceLifecycle", dependencies: ["FeedbackKit", serviceLifecycle], swiftSettings: strict),
        .target(
            name: "Systemd", dependencies: ["CSystemd", logging, serviceLifecycle], swiftSettings: strict),
        .target(name: "Durability", dependencies: ["CSQLite"], swiftSettings: strict),
        .target(
            name: "MediatorConfiguration", dependencies: ["CommonExpression", "StrictJSON", "CYaml"],
            swiftSettings: strict),

        // Layer 2: the parts of the daemon, which do not know each other's transport.
        .target(
            name: "MediatorHost",
            dependencies: ["FeedbackKit", "MediatorConfiguration", "CommonExpression", logging],
            swiftSettings: strict
        ),
        .target(
            name: "SideEffects",
            dependencies: [
                "CCurl", "CLinux", "MediatorHost", "MediatorConfiguration", "CommonExpression", "SocketFile",
                "StrictJSON",
                "Systemd",
                logging,
                subprocess, systemPackage,
            ] + nio,
            swiftSettings: strict
        ),
        // Checks of side effects, which any implementation can run.
        .target(
            name: "MediatorEffectTesting",
            dependencies: ["MediatorHost", "MediatorConfiguration", "CommonExpression", logging],
            swiftSettings: strict),
        .target(
            name: "MediatorControl", dependencies: ["CommonExpression", "SocketFile", "StrictJSON", "Varlink"],
            resources: [.embedInCode("io.mediatord.Control.varlink")], swiftSettings: strict),

        // Layer 3: where the parts are joined.
        .target(
            name: "MediatorDaemon",
            dependencies: [
                "CLinux", "CTasks", "CommonExpression", "Durability", "FeedbackKit", "MediatorConfiguration",
                "MediatorControl", "MediatorHost",
                "SideEffects", "StrictJSON", "Systemd", "Varlink", argumentParser, logging, metrics, serviceLifecycle,
            ] + nio + [nioHTTP],
            swiftSettings: strict
        ),
        .target(
            name: "MediatorCommands",
            dependencies: [
                "CommonExpression", "MediatorConfiguration", "MediatorControl", "StrictJSON", "Varlink", argumentParser,
            ],
            swiftSettings: strict),

        // Layer 4: the programs, which only begin.
        .executableTarget(name: "mediatord", dependencies: ["MediatorDaemon"], swiftSettings: strict),
        .executableTarget(name: "mediatorctl", dependencies: ["MediatorCommands"], swiftSettings: strict),

        // Evaluates lines of JSON, for comparison with other implementations.
        .executableTarget(
            name: "cel-eval", dependencies: ["CommonExpression"], path: "Tests/Differential/cel-eval",
            swiftSettings: strict),

        // Checks one side effect of every daemon, with arguments and peers that a test gives it.
        .executableTarget(
            name: "effect-check",
            dependencies: [
                "CommonExpression", "MediatorConfiguration", "MediatorEffectTesting", "MediatorHost", "SideEffects",
            ],
            path: "Tests/Integration/effect-check", swiftSettings: strict),
        // Changes a store and reports each outcome, for tests that end it or make its system calls fail.
        .executableTarget(
            name: "store-writer", dependencies: ["Durability"], path: "Tests/Integration/store-writer",
            swiftSettings: strict),
        // A daemon whose systems do what none should, for tests of how it is watched.
        .executableTarget(
            name: "unruly-daemon",
            dependencies: [
                "CommonExpression", "FeedbackKit", "MediatorConfiguration", "MediatorDaemon", "MediatorHost",
            ],
            path: "Tests/Integration/unruly-daemon", swiftSettings: strict),
        // A service and a client of the interface against which implementations of Varlink are held.
        .executableTarget(
            name: "varlink-certification", dependencies: ["StrictJSON", "Varlink"],
            path: "Tests/Integration/varlink-certification", swiftSettings: strict),

        // What several test targets need.
        .target(name: "TestSupport", path: "Tests/TestSupport", swiftSettings: strict),
        .testTarget(
            name: "FeedbackKitTests", dependencies: ["TestSupport", "FeedbackKit", "FeedbackKitTesting"],
            swiftSettings: strict),
        .testTarget(
            name: "FeedbackKitTestingTests", dependencies: ["TestSupport", "FeedbackKit", "FeedbackKitTesting"],
            swiftSettings: strict),
        .testTarget(
            name: "FeedbackKitDocumentationTests", dependencies: ["FeedbackKit", "FeedbackKitTesting"],
            swiftSettings: strict),
        .testTarget(
            name: "FeedbackKitOpenCombineTests",
            dependencies: [
                "FeedbackKit", "FeedbackKitTesting", "FeedbackKitOpenCombine", openCombine, openCombineDispatch,
            ],
            swiftSettings: strict),
        .testTarget(
            name: "FeedbackKitServiceLifecycleTests",
            dependencies: [
                "FeedbackKit", "FeedbackKitServiceLifecycle", logging, serviceLifecycle, serviceLifecycleTestKit,
            ],
            swiftSettings: strict),
        .testTarget(
            name: "DocumentExamplesTests",
            dependencies: [
                "TestSupport",
                "FeedbackKit", "FeedbackKitTesting", "FeedbackKitOpenCombine", openCombine, openCombineDispatch,
                openCombineFoundation,
            ],
            swiftSettings: strict),
        .testTarget(name: "StrictJSONTests", dependencies: ["StrictJSON"], swiftSettings: strict),
        .testTarget(
            name: "CommonExpressionTests", dependencies: ["CommonExpression", "StrictJSON"], swiftSettings: strict),
        .testTarget(
            name: "VarlinkTests", dependencies: ["TestSupport", "StrictJSON", "Varlink"] + nio, swiftSettings: strict),
        .testTarget(
            name: "SystemdTests",
            dependencies: ["TestSupport", "Systemd", logging, serviceLifecycle, serviceLifecycleTestKit],
            swiftSettings: strict),
        .testTarget(
            name: "DurabilityTests", dependencies: ["TestSupport", "CSQLite", "Durability"], swiftSettings: strict),
        .testTarget(
            name: "MediatorConfigurationTests",
            dependencies: ["TestSupport", "MediatorConfiguration", "CommonExpression"],
            swiftSettings: strict),
        .testTarget(
            name: "MediatorHostTests",
            dependencies: [
                "TestSupport",
                "MediatorHost", "MediatorConfiguration", "CommonExpression", "FeedbackKit", "FeedbackKitTesting",
                logging,
            ],
            swiftSettings: strict
        ),
        .testTarget(
            name: "SideEffectsTests",
            dependencies: [
                "TestSupport",
                "SideEffects", "MediatorHost", "MediatorConfiguration", "CommonExpression", "FeedbackKitTesting",
                "Systemd", logging,
            ] + nio,
            swiftSettings: strict
        ),
        .testTarget(
            name: "MediatorEffectTestingTests",
            dependencies: [
                "TestSupport",
                "CommonExpression", "FeedbackKitTesting", "MediatorConfiguration", "MediatorEffectTesting",
                "MediatorHost",
            ],
            swiftSettings: strict),
        .testTarget(
            name: "MediatorDaemonTests",
            dependencies: [
                "TestSupport",
                "Durability", "MediatorDaemon", "MediatorControl", "MediatorHost", "MediatorConfiguration",
                "CommonExpression", "FeedbackKit",
                "FeedbackKitTesting", "StrictJSON", "Varlink", logging, metrics,
            ],
            swiftSettings: strict
        ),
        .testTarget(
            name: "MediatorControlTests",
            dependencies: ["TestSupport", "CommonExpression", "MediatorControl", "StrictJSON", "Varlink"],
            swiftSettings: strict),
        .testTarget(
            name: "MediatorCommandsTests",
            dependencies: [
                "TestSupport",
                "FeedbackKitTesting", "MediatorCommands", "MediatorConfiguration", "MediatorControl", "StrictJSON",
                "Varlink",
            ],
            swiftSettings: strict),
        .testTarget(name: "LayeringTests", swiftSettings: strict),
        .testTarget(
            name: "StoredInputTests",
            dependencies: ["CommonExpression", "MediatorConfiguration", "StrictJSON", "Varlink"] + nio,
            swiftSettings: strict),
    ],
    cxxLanguageStandard: .cxx17
)
