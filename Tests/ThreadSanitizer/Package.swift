// swift-tools-version: 6.2
import PackageDescription

/// The library alone, with its tests, so that the thread sanitizer need not build the whole daemon. The folders are links
/// to the repository's own.
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
        .package(url: "https://github.com/OpenCombine/OpenCombine", from: "0.14.0"),
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
    ]
)
