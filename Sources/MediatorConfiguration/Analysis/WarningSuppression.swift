/// The suppression of follow-up warnings: an error elsewhere may be the cause of a warning.
///
/// Warnings are suppressed about files with an error, and about the names in such files. All warnings about names are
/// suppressed if a name itself may be wrong, or if the contents of a file are unknown.
struct WarningSuppression {
    /// The files with errors, in themselves or in their drop-ins.
    private var paths: Set<String> = []
    /// The words that stand there.
    private var words: Set<String> = []
    private var doubled: Set<String> = []
    private var isEverywhere = false
    /// A Boolean value that indicates whether there is no error, so that no warning is suppressed.
    let isNone: Bool

    /// None at all.
    init() { isNone = true }

    /// - Parameters:
    ///   - whole: The compiled parts.
    ///   - files: All files.
    ///   - diagnostics: Their diagnostics.
    ///   - doubled: Systems and templates whose name occurs twice, so that a reference may mean the other.
    ///   - mayHideNames: Whether there may be unknown systems or buses.
    init(
        _ whole: AnalysedConfiguration, of files: [CompiledFile], _ diagnostics: DiagnosticsCollector,
        doubled: [String],
        mayHideNames: Bool
    ) {
        isNone = !diagnostics.hasErrors
        guard !isNone else { return }
        isEverywhere = mayHideNames
        // With two instances of one name, any instance of the template may be another than it seems.
        self.doubled = Set(doubled + doubled.compactMap { InstanceName($0)?.template })
        var owners: [String: CompiledFile] = [:]
        var named: [String: [CompiledFile]] = [:]
        for file in files {
            owners[file.file.path] = file
            for dropIn in file.file.dropIns { owners[dropIn.path] = file }
            named[String(file.file.name), default: []].append(file)
        }
        for error in diagnostics.shownErrors {
            guard let path = error.location?.file else {
                isEverywhere = true
                continue
            }
            // A drop-in that could not be read is in no file's list.
            let own = owners[path].map { [$0] } ?? Self.owner(ofDropIn: path).flatMap { named[$0] } ?? []
            // An error in a template or an instance may concern any instance.
            let isPlain = own.allSatisfy { $0.written.systems.isEmpty && $0.written.instances.isEmpty }
            if owners[path] == nil || !isPlain || !Self.showsNames(error.code) { isEverywhere = true }
            for file in own.map(\.file) where paths.insert(file.path).inserted {
                for text in [file] + file.dropIns {
                    paths.insert(text.path)
                    words.formUnion(Self.words(of: text.contents))
                }
            }
        }
        addLinks(of: files, without: whole.links)
        // An error that is not told may be anywhere.
        if paths.isEmpty { isEverywhere = true }
    }

    /// The name of the file that a drop-in is for.
    private static func owner(ofDropIn path: String) -> String? {
        guard let directory = path.split(separator: "/").dropLast().last, directory.hasSuffix(".d") else { return nil }
        return String(directory.dropLast(2))
    }

    /// Returns whether what a file with such an error names stands there all the same. Of others a name may be wrong,
    /// or not be there at all, such as that of the bus of a link that leads nowhere.
    private static func showsNames(_ code: Diagnostic.Code) -> Bool {
        switch code {
        case .unknownKey, .unknownChoice, .unknownState, .unknownEvent, .unknownType, .unknownField, .unknownVariable,
            .unknownFunction, .unknownOutcome, .missingField, .wrongType, .outOfRange, .unsuitableText, .notConstant,
            .unavailableValue, .invalidExpression, .invalidCalendarTime, .initialState, .loop, .feedbackLoop:
            true
        default: false
        }
    }

    /// Adds what links name that have come to nothing, such as that from a system which could not be read.
    private mutating func addLinks(of files: [CompiledFile], without compiled: [AnalysedLink]) {
        func place(_ link: WrittenLink) -> String { "\(link.source.path):\(link.name.span.start)" }
        let compiled = Set(compiled.map { place($0.written) })
        for link in files.lazy.flatMap(\.written.links) where !compiled.contains(place(link)) {
            var names = [link.system]
            switch link.form {
            case .systemToBus(let bus, _, _), .busToSystem(let bus, _, _): names.append(bus)
            case .systemToSystem(let target, _, _): names.append(target)
            case .unclear: break
            }
            for name in names { words.formUnion(Self.words(of: Array(name.text.utf8)).prefix(1)) }
        }
    }

    /// Returns whether warnings about a file are suppressed.
    func isAbout(_ source: SourceText) -> Bool { paths.contains(source.path) }

    /// Returns whether a system, or a template, may be another than it looks.
    func isAbout(_ system: WrittenSystem) -> Bool {
        isAbout(system.source) || doubled.contains(system.name.text)
    }

    /// Returns whether an unknown part may concern a name. For an instance, parts of its template's name count, too.
    func mayConcern(_ name: String) -> Bool {
        if isEverywhere { return true }
        return !isNone && Self.words(of: Array(name.utf8)).first.map(words.contains) ?? true
    }

    /// The words of a text that may be names of systems or buses, in order; `@` ends one.
    private static func words(of text: [UInt8]) -> [String] {
        text.split { !Names.isPublic($0) }.map { String(decoding: $0, as: UTF8.self) }
    }
}
