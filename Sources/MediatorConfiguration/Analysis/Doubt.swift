/// What may be other than it looks for as long as there are errors: a warning about it may be untrue, or tell a mistake twice.
///
/// What is written in a file with an error is in doubt, and so is whatever such a file names, since nobody knows what was
/// meant there; where a name itself is wrong, or nobody knows what a file holds, everything is.
struct Doubt {
    /// The files with errors in them, or in what changes them.
    private var paths: Set<String> = []
    /// The words that stand there.
    private var words: Set<String> = []
    private var doubled: Set<String> = []
    private var isEverywhere = false
    /// Whether there is none: no error.
    let isNone: Bool

    /// None at all.
    init() { isNone = true }

    /// - Parameters:
    ///   - whole: what has come of the files.
    ///   - files: all files.
    ///   - findings: what was found in them.
    ///   - doubled: systems and templates of which there are two, so that nobody knows which is meant.
    ///   - mayHideNames: whether there may be systems or buses that are not known.
    init(
        _ whole: AnalysedConfiguration, of files: [CompiledFile], _ findings: Findings, doubled: [String],
        mayHideNames: Bool
    ) {
        isNone = !findings.hasErrors
        guard !isNone else { return }
        isEverywhere = mayHideNames
        // Of two instances, the other may be of another kind than it looks, as any of its template.
        self.doubled = Set(doubled + doubled.compactMap { InstanceName($0)?.template })
        var owners: [String: CompiledFile] = [:]
        var named: [String: [CompiledFile]] = [:]
        for file in files {
            owners[file.file.path] = file
            for dropIn in file.file.dropIns { owners[dropIn.path] = file }
            named[String(file.file.name), default: []].append(file)
        }
        for error in findings.errorsTold {
            guard let path = error.location?.file else {
                isEverywhere = true
                continue
            }
            // A drop-in that could not be read is in nobody's list.
            let own = owners[path].map { [$0] } ?? Self.owner(ofDropIn: path).flatMap { named[$0] } ?? []
            // What goes wrong in a template or an instance may be about any instance.
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

    /// Whether what a file with such an error names stands there all the same. Of others a name may be wrong, or not be there
    /// at all, such as that of the bus of a link that leads nowhere.
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

    /// Whether what is written in a file is in doubt.
    func isAbout(_ source: SourceText) -> Bool { paths.contains(source.path) }

    /// Whether a system, or a template, may be another than it looks.
    func isAbout(_ system: WrittenSystem) -> Bool {
        isAbout(system.source) || doubled.contains(system.name.text)
    }

    /// Whether something that is not known may have to do with what has a name; of an instance, with any of its template.
    func mayConcern(_ name: String) -> Bool {
        if isEverywhere { return true }
        return !isNone && Self.words(of: Array(name.utf8)).first.map(words.contains) ?? true
    }

    /// What may be a name of a system or bus, in the order of the text; `@` ends one.
    private static func words(of text: [UInt8]) -> [String] {
        text.split { !Names.isPublic($0) }.map { String(decoding: $0, as: UTF8.self) }
    }
}
