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
        .package(url: "https://github.com/apple/swift-collections", from: "1.6.0")
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

        // Layer 1
        .target(name: "FeedbackKitTesting", dependencies: ["FeedbackKit"], swiftSettings: strict),
    ]
)
