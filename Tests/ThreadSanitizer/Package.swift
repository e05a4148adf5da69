// swift-tools-version: 6.2
import PackageDescription

/// What works on several threads at once, with its tests, so that the thread sanitizer need not build the whole daemon. The
/// folders are links to the repository's own.
let strict: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
]

let package = Package(
    name: "mediatord",
    dependencies: [
        .package(url: "https://github.com/apple/swift-collections", from: "1.6.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        .package(url: "https://github.com/OpenCombine/OpenCombine", from: "0.14.0"),
        .package(url: "https://github.com/jpsim/Yams", from: "6.2.2"),
    ],
    targets: [
        .target(
            name: "FeedbackKit", dependencies: [.product(name: "DequeModule", package: "swift-collections")],
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
            name: "FeedbackKitTests", dependencies: ["FeedbackKit", "FeedbackKitTesting"], swiftSettings: strict),
        .testTarget(
            name: "FeedbackKitTestingTests", dependencies: ["FeedbackKit", "FeedbackKitTesting"],
            swiftSettings: strict),
        .target(name: "CRE2", linkerSettings: [.linkedLibrary("re2")]),
        .target(name: "CommonExpression", dependencies: ["CRE2"], swiftSettings: strict),
        .target(
            name: "MediatorConfiguration", dependencies: ["CommonExpression", .product(name: "Yams", package: "Yams")],
            swiftSettings: strict),
        .target(
            name: "MediatorHost",
            dependencies: [
                "FeedbackKit", "MediatorConfiguration", "CommonExpression",
                .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: strict),
        .testTarget(
            name: "MediatorConfigurationTests", dependencies: ["MediatorConfiguration", "CommonExpression"],
            swiftSettings: strict),
        .testTarget(
            name: "MediatorHostTests",
            dependencies: [
                "MediatorHost", "MediatorConfiguration", "CommonExpression", "FeedbackKit", "FeedbackKitTesting",
                .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: strict),
    ],
    cxxLanguageStandard: .cxx17
)
