// swift-tools-version: 6.2
import PackageDescription

/// The parts that work on several threads at once, with their tests, so that the thread sanitizer need not build the programs. The
/// folders are links to the repository's own.
let strict: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
]

let nio = [
    Target.Dependency.product(name: "NIOCore", package: "swift-nio"),
    Target.Dependency.product(name: "NIOPosix", package: "swift-nio"),
]

let package = Package(
    name: "mediatord",
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
        .target(
            name: "FeedbackKit",
            dependencies: [
                .product(name: "DequeModule", package: "swift-collections"),
                .product(name: "HeapModule", package: "swift-collections"),
            ],
            swiftSettings: strict),
        .target(name: "FeedbackKitTesting", dependencies: ["FeedbackKit"], swiftSettings: strict),
        .target(
            name: "FeedbackKitOpenCombine",
            dependencies: [
                "FeedbackKit", .product(name: "DequeModule", package: "swift-collections"),
                .product(name: "OpenCombine", package: "OpenCombine"),
            ],
            swiftSettings: strict),
        .testTarget(
            name: "FeedbackKitOpenCombineTests",
            dependencies: [
                "FeedbackKit", "FeedbackKitTesting", "FeedbackKitOpenCombine",
                .product(name: "OpenCombine", package: "OpenCombine"),
                .product(name: "OpenCombineDispatch", package: "OpenCombine"),
            ],
            swiftSettings: strict),
        .testTarget(
            name: "FeedbackKitTests", dependencies: ["TestSupport", "FeedbackKit", "FeedbackKitTesting"],
            swiftSettings: strict),
        .testTarget(
            name: "FeedbackKitTestingTests", dependencies: ["TestSupport", "FeedbackKit", "FeedbackKitTesting"],
            swiftSettings: strict),
        .systemLibrary(name: "CYaml", pkgConfig: "yaml-0.1"),
        .target(name: "CRE2", linkerSettings: [.linkedLibrary("re2")]),
        .target(name: "StrictJSON", swiftSettings: strict),
        .target(name: "TestSupport", swiftSettings: strict),
        .target(name: "CommonExpression", dependencies: ["CRE2", "StrictJSON"], swiftSettings: strict),
        .target(
            name: "MediatorConfiguration", dependencies: ["CommonExpression", "StrictJSON", "CYaml"],
            swiftSettings: strict),
        .target(
            name: "MediatorHost",
            dependencies: [
                "FeedbackKit", "MediatorConfiguration", "CommonExpression",
                .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: strict),
        .testTarget(
            name: "MediatorConfigurationTests",
            dependencies: ["TestSupport", "MediatorConfiguration", "CommonExpression"],
            swiftSettings: strict),
        .testTarget(
            name: "MediatorHostTests",
            dependencies: [
                "TestSupport",
                "MediatorHost", "MediatorConfiguration", "CommonExpression", "FeedbackKit", "FeedbackKitTesting",
                .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: strict),
        .target(name: "CCurl", linkerSettings: [.linkedLibrary("curl")]),
        .target(name: "CSQLite", linkerSettings: [.linkedLibrary("sqlite3")]),
        .target(name: "Durability", dependencies: ["CSQLite"], swiftSettings: strict),
        .testTarget(
            name: "DurabilityTests", dependencies: ["TestSupport", "CSQLite", "Durability"], swiftSettings: strict),
        .target(name: "CLinux"),
        .target(name: "CTasks"),
        .systemLibrary(name: "CSystemd", pkgConfig: "libsystemd"),
        .target(name: "SocketFile", swiftSettings: strict),
        .target(name: "Varlink", dependencies: ["SocketFile", "StrictJSON"] + nio, swiftSettings: strict),
        .target(
            name: "MediatorControl", dependencies: ["CommonExpression", "SocketFile", "StrictJSON", "Varlink"],
            resources: [.embedInCode("Library/io.mediatord.Control.varlink")], swiftSettings: strict),
        .target(
            name: "Systemd",
            dependencies: [
                "CSystemd", .product(name: "Logging", package: "swift-log"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ],
            swiftSettings: strict),
        .target(
            name: "SideEffects",
            dependencies: [
                "CCurl", "CLinux", "MediatorHost", "MediatorConfiguration", "CommonExpression", "SocketFile",
                "StrictJSON",
                "Systemd",
                .product(name: "Logging", package: "swift-log"),
                .product(name: "Subprocess", package: "swift-subprocess"),
                .product(name: "SystemPackage", package: "swift-system"),
            ] + nio,
            swiftSettings: strict),
        .target(
            name: "MediatorDaemon",
            dependencies: [
                "CLinux", "CTasks", "CommonExpression", "Durability", "FeedbackKit", "MediatorConfiguration",
                "MediatorControl", "MediatorHost",
                "SideEffects", "StrictJSON", "Systemd", "Varlink",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "Metrics", package: "swift-metrics"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ] + nio,
            swiftSettings: strict),
        .testTarget(
            name: "MediatorDaemonTests",
            dependencies: [
                "TestSupport",
                "Durability", "MediatorDaemon", "MediatorControl", "MediatorHost", "MediatorConfiguration",
                "CommonExpression", "FeedbackKit", "FeedbackKitTesting", "StrictJSON", "Systemd", "Varlink",
                .product(name: "Logging", package: "swift-log"),
                .product(name: "Metrics", package: "swift-metrics"),
            ],
            swiftSettings: strict),
    ],
    cxxLanguageStandard: .cxx17
)
