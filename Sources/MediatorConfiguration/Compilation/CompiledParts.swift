import CommonExpression

/// What a compilation made of each part of a configuration, for the next one to use again where nothing has changed.
///
/// What comes out of a compilation does not depend on it, only how long it takes: about as long as reading the files,
/// and compiling those that have changed and what is linked to them.
public struct CompiledParts: Sendable {
    /// What all parts were compiled with.
    struct Setting: Sendable {
        var effects: [EffectSchema]
        var kinds: [SystemKind]
        var values: ExternalValues
    }

    /// A template and what it was compiled of.
    struct Template: Sendable {
        var file: CompiledFile
        var template: SystemTemplate
    }

    /// An instance, and what it was compiled of.
    struct Instance: Sendable {
        var file: CompiledFile
        var template: SystemScope
        var analysed: AnalysedSystem
    }

    /// A link, and what it was compiled of. The indices of what it joins are those of that time.
    final class Link: Sendable {
        let file: CompiledFile
        let ends: WiringCompiler.Ends
        let analysed: AnalysedLink

        /// A link.
        init(file: CompiledFile, ends: WiringCompiler.Ends, analysed: AnalysedLink) {
            self.file = file
            self.ends = ends
            self.analysed = analysed
        }
    }

    /// So many types at least may have numbers before everything is compiled anew.
    private static let someTypes = 1_000

    /// Nil: nothing has been compiled.
    private var setting: Setting?
    /// Numbers for types, by which parts know each other's.
    let types: TypeNumbers
    /// Beyond so many, most are of types that there are no more.
    private let mostTypes: Int
    /// The files by path.
    var files: [String: CompiledFile] = [:]
    /// Templates, instances and links by name: those in which there was nothing to be found, and no value from
    /// elsewhere.
    var templates: [String: Template] = [:]
    var instances: [String: Instance] = [:]
    var links: [String: Link] = [:]
    /// The whole, if there was no error in it and no value from elsewhere in what lies between the files.
    var whole: CompiledWhole?

    /// Between which times, and in which time zone, what was found is so; nil: always.
    private var span: TimeSensitivity?

    /// Nothing: everything is compiled.
    public init() {
        setting = nil
        types = TypeNumbers()
        mostTypes = 0
    }

    /// What was compiled with a setting, of which nothing has been added yet, after what was known before it.
    init(_ setting: Setting, after known: CompiledParts) {
        self.setting = setting
        types = known.types
        span = known.span
        mostTypes = known.setting == nil ? max(Self.someTypes, 2 * types.count) : known.mostTypes
    }

    /// What was compiled before, of which a few parts are going to be others, with another setting.
    init(_ setting: Setting, continuing known: CompiledParts) {
        self = known
        self.setting = setting
    }

    /// Notes that what was found may be different at another time.
    mutating func holds(in other: TimeSensitivity?) {
        guard let other else { return }
        span = span.map { $0.intersection(other) } ?? other
    }

    /// What may be used again in a setting.
    ///
    /// - Parameter now: What time it is; nil: nobody knows.
    func usable(in setting: Setting, now: Timestamp?) -> CompiledParts {
        if let span, !span.holds(at: now) { return CompiledParts() }
        guard let own = self.setting, own.effects == setting.effects, own.kinds == setting.kinds,
            types.count <= mostTypes
        else { return CompiledParts() }
        if own.values.remembersLike(setting.values) || !files.values.contains(where: \.looksElsewhere) { return self }
        var parts = self
        parts.files = files.filter { !$0.value.looksElsewhere }
        return parts
    }

    /// What a file gives, if it is the same file.
    func compiled(_ file: ConfigurationFile) -> CompiledFile? {
        guard let known = files[file.path], known.file == file else { return nil }
        return known
    }

    /// Whether only what had changed since the last whole was compiled and checked.
    package var isContinued: Bool { whole?.isContinued ?? false }

    /// How many parts two have in common.
    package struct Count: Sendable, Hashable {
        package var files: Int
        package var instances: Int
        package var links: Int

        /// A count.
        package init(files: Int, instances: Int, links: Int) {
            self.files = files
            self.instances = instances
            self.links = links
        }
    }

    /// How many parts were compiled once for both.
    package func shared(with other: CompiledParts) -> Count {
        Count(
            files: files.count { $0.value === other.files[$0.key] },
            instances: instances.count { $0.value.analysed.scope === other.instances[$0.key]?.analysed.scope },
            links: links.count { $0.value === other.links[$0.key] })
    }
}
