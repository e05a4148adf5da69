// swift-tools-version: 6.2
import PackageDescription

/// Every target is built with the same strictness as the library.
let strict: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .treatAllWarnings(as: .error),
]
let feedbackKit = Target.Dependency.product(name: "FeedbackKit", package: "mediatord")

let package = Package(
    name: "Benchmarks",
    dependencies: [
        .package(name: "mediatord", path: "../.."),
        .package(url: "https://github.com/OpenCombine/OpenCombine", from: "0.14.0"),
        .package(url: "https://github.com/apple/swift-collections", from: "1.6.0"),
    ],
    targets: [
        // The common parts of all programs: lines, time, and the output.
        .target(name: "Measuring", swiftSettings: strict),
        .target(name: "CMemory"),
        .executableTarget(
            name: "Benchmarks", dependencies: [feedbackKit, "CMemory", "Measuring"], swiftSettings: strict),
        .executableTarget(
            name: "OpenCombinePeer",
            dependencies: ["Measuring", .product(name: "OpenCombine", package: "OpenCombine")],
            swiftSettings: strict),
        .executableTarget(name: "ActorPeer", dependencies: ["Measuring"], swiftSettings: strict),
        // Promises under load, without a peer.
        .executableTarget(name: "Load", dependencies: [feedbackKit], swiftSettings: strict),
        // Reads the figures of all rounds and prints the table.
        .executableTarget(name: "Report", swiftSettings: strict),
    ]
)

// The cost of the observer's hooks is measured against a copy of the library without them, which unobserved.sh makes.
if let copy = Context.environment["FEEDBACKKIT_UNOBSERVED"] {
    package.targets += [
        .target(
            name: "FeedbackKitUnobserved",
            dependencies: [
                .product(name: "DequeModule", package: "swift-collections"),
                .product(name: "HeapModule", package: "swift-collections"),
            ],
            // The compiler warns about code that never runs, which is intended here.
            path: "\(copy)/FeedbackKitUnobserved", swiftSettings: Array(strict.dropLast())),
        .target(name: "ObservedLoop", dependencies: [feedbackKit], swiftSettings: strict),
        .target(
            name: "UnobservedLoop", dependencies: ["FeedbackKitUnobserved"], path: "\(copy)/UnobservedLoop",
            swiftSettings: strict),
        .executableTarget(
            name: "ObserverCost", dependencies: ["Measuring", "ObservedLoop", "UnobservedLoop"], swiftSettings: strict),
    ]
}
