// swift-tools-version: 6.2
import PackageDescription

// The flags are unsafe in the sense of the package manager: only this package, which nobody depends on, may use them.
let fuzzing: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .treatAllWarnings(as: .error),
    .unsafeFlags(["-sanitize=fuzzer", "-parse-as-library"]),
]

let package = Package(
    name: "ConfigurationFuzzer",
    dependencies: [.package(name: "mediatord", path: "../../..")],
    targets: [
        .executableTarget(
            name: "ConfigurationFuzzer",
            dependencies: [.product(name: "MediatorConfiguration", package: "mediatord")],
            swiftSettings: fuzzing,
            linkerSettings: [.unsafeFlags(["-sanitize=fuzzer"])]
        )
    ]
)
