// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "own-daemon",
    dependencies: [
        .package(name: "mediatord", path: "../.."),
        .package(url: "https://github.com/apple/swift-metrics", from: "2.13.0"),
    ],
    targets: [
        .executableTarget(
            name: "own-daemon",
            dependencies: [
                .product(name: "FeedbackKit", package: "mediatord"),
                .product(name: "MediatorDaemon", package: "mediatord"),
                .product(name: "Metrics", package: "swift-metrics"),
            ],
            swiftSettings: [
                .swiftLanguageMode(.v6),
                .enableUpcomingFeature("ExistentialAny"),
                .enableUpcomingFeature("InternalImportsByDefault"),
                .enableUpcomingFeature("MemberImportVisibility"),
                .treatAllWarnings(as: .error),
            ])
    ]
)
