// swift-tools-version: 6.2
import PackageDescription

let strict: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .treatAllWarnings(as: .error),
]

let package = Package(
    name: "own-daemon",
    dependencies: [
        .package(name: "mediatord", path: "../.."),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        .package(url: "https://github.com/apple/swift-metrics", from: "2.13.0"),
    ],
    targets: [
        .executableTarget(
            name: "own-daemon",
            dependencies: [
                .product(name: "CommonExpression", package: "mediatord"),
                .product(name: "FeedbackKit", package: "mediatord"),
                .product(name: "MediatorConfiguration", package: "mediatord"),
                .product(name: "MediatorDaemon", package: "mediatord"),
                .product(name: "MediatorHost", package: "mediatord"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "Metrics", package: "swift-metrics"),
            ],
            swiftSettings: strict),
        .testTarget(
            name: "OwnDaemonTests",
            dependencies: [
                "own-daemon",
                .product(name: "CommonExpression", package: "mediatord"),
                .product(name: "MediatorEffectTesting", package: "mediatord"),
            ],
            swiftSettings: strict),
    ]
)
