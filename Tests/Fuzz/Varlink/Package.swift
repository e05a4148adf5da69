// swift-tools-version: 6.2
import PackageDescription

let strict: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .treatAllWarnings(as: .error),
]
// The flags are unsafe in the sense of the package manager: only this package, which nobody depends on, may use them.
let fuzzing = strict + [.unsafeFlags(["-sanitize=fuzzer", "-parse-as-library"])]
let nio = Target.Dependency.product(name: "NIOCore", package: "swift-nio")
let nioPosix = Target.Dependency.product(name: "NIOPosix", package: "swift-nio")

/// Fuzzers of the code that reads a peer's bytes. The folders of the libraries are links to the repository's own. So
/// package declarations can be used.
let package = Package(
    name: "VarlinkFuzzers",
    dependencies: [.package(url: "https://github.com/apple/swift-nio", from: "2.101.2")],
    targets: [
        .target(name: "SocketFile", swiftSettings: strict),
        .target(name: "StrictJSON", swiftSettings: strict),
        .target(name: "Varlink", dependencies: ["SocketFile", "StrictJSON", nio, nioPosix], swiftSettings: strict),
    ]
        + ["FrameFuzzer", "JSONFuzzer", "DefinitionFuzzer"].map { name in
            .executableTarget(
                name: name, dependencies: ["StrictJSON", "Varlink", nio], swiftSettings: fuzzing,
                linkerSettings: [.unsafeFlags(["-sanitize=fuzzer"])])
        }
)
