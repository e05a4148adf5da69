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

let package = Package(
    name: "mediatord",
    products: [
        .library(name: "FeedbackKit", targets: ["FeedbackKit"]),
        .library(name: "FeedbackKitTesting", targets: ["FeedbackKitTesting"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        .package(url: "https://github.com/apple/swift-collections", from: "1.6.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
        .package(url: "https://github.com/apple/swift-system", from: "1.8.1"),
        .package(url: "https://github.com/jpsim/Yams", from: "6.2.2"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
        .package(url: "https://github.com/swiftlang/swift-subprocess", from: "1.0.2"),
    ],
    targets: [
        // Layer 0
        .target(
            name: "FeedbackKit",
            dependencies: [.product(name: "DequeModule", package: "swift-collections")],
            swiftSettings: strict
        ),
        .testTarget(
            name: "FeedbackKitTests", dependencies: ["FeedbackKit", "FeedbackKitTesting"], swiftSettings: strict),

        .target(name: "CommonExpression", swiftSettings: strict),

        // Layer 1
        .target(name: "FeedbackKitTesting", dependencies: ["FeedbackKit"], swiftSettings: strict),
        .target(
            name: "MediatorConfiguration", dependencies: ["CommonExpression", .product(name: "Yams", package: "Yams")],
            swiftSettings: strict),

        // Layer 2
        .target(
            name: "MediatorHost",
            dependencies: [
                "FeedbackKit", "MediatorConfiguration", "CommonExpression", .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: strict
        ),
        .target(
            name: "SideEffects",
            dependencies: [
                "MediatorHost", "MediatorConfiguration", "CommonExpression",
                .product(name: "Logging", package: "swift-log"),
                .product(name: "Subprocess", package: "swift-subprocess"),
                .product(name: "SystemPackage", package: "swift-system"),
            ],
            swiftSettings: strict
        ),
        .testTarget(
            name: "MediatorHostTests",
            dependencies: [
                "MediatorHost", "MediatorConfiguration", "CommonExpression", "FeedbackKit", "FeedbackKitTesting",
                .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: strict
        ),
        .testTarget(
            name: "SideEffectsTests",
            dependencies: [
                "SideEffects", "MediatorHost", "CommonExpression", "FeedbackKitTesting",
                .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: strict
        ),
        .target(
            name: "Varlink",
            dependencies: [
                .product(name: "NIOCore", package: "swift-nio"), .product(name: "NIOPosix", package: "swift-nio"),
            ],
            swiftSettings: strict
        ),
        .systemLibrary(name: "CSystemd", pkgConfig: "libsystemd", providers: [.apt(["libsystemd-dev"])]),
        .target(
            name: "Systemd",
            dependencies: [
                "CSystemd", .product(name: "Logging", package: "swift-log"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ],
            swiftSettings: strict
        ),
        .target(name: "MediatorControl", dependencies: ["Varlink"], swiftSettings: strict),
        .target(
            name: "MediatorDaemon",
            dependencies: [
                "SideEffects", "MediatorHost", "MediatorConfiguration", "CommonExpression", "MediatorControl", "Varlink",
                "Systemd", "FeedbackKit",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
                .product(name: "UnixSignals", package: "swift-service-lifecycle"),
            ],
            swiftSettings: strict
        ),
        .executableTarget(name: "mediatord", dependencies: ["MediatorDaemon"], swiftSettings: strict),
    ]
)
