// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "own-daemon",
    dependencies: [.package(name: "mediatord", path: "../..")],
    targets: [
        .executableTarget(
            name: "own-daemon",
            dependencies: [
                .product(name: "FeedbackKit", package: "mediatord"),
                .product(name: "MediatorDaemon", package: "mediatord"),
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
