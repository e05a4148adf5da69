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
        self.doubled = Set(doubled)
        var owners: [String: ConfigurationFile] = [:]
        for file in files.lazy.map(\.file) {
            owners[file.path] = file
            for dropIn in file.dropIns { owners[dropIn.path] = file }
        }
        for error in findings.errorsTold {
            let isOfName = error.code == .unknownSystem || error.code == .unknownBus
            guard let path = error.location?.file, let file = owners[path], !isOfName else {
                isEverywhere = true
                continue
            }
            guard paths.insert(file.path).inserted else { continue }
            for text in [file] + file.dropIns {
                paths.insert(text.path)
                words.formUnion(Self.words(of: text.contents))
            }
        }
        addLinks(of: files, without: whole.links)
        // An error that is not told may be anywhere.
        if paths.isEmpty { isEverywhere = true }
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
