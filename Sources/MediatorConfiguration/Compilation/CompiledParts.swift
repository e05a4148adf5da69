import CommonExpression

/// The cache of a compilation: the parts that the next one uses again if nothing has changed.
///
/// The cache never changes the result of a compilation, only its duration.
public struct CompiledParts: Sendable {
    /// The things that all parts were compiled with.
    struct Setting: Sendable {
        var effects: [EffectSchema]
        var kinds: [SystemKind]
        var values: ExternalValues
    }

    /// A compiled template and its file.
    struct Template: Sendable {
        var file: CompiledFile
        var template: SystemTemplate
    }

    /// A compiled instance, and the parts on which it depends.
    struct Instance: Sendable {
        var file: CompiledFile
        var template: SystemScope
        var analysed: AnalysedSystem
    }

    /// A compiled link, and the parts on which it depends. The indices of its ends are those of its own compilation.
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

    /// The number of types that may have numbers before the cache is dropped.
    private static let someTypes = 1_000

    /// Nil: nothing has been compiled.
    private var setting: Setting?
    /// Numbers for types, by which parts know each other's.
    let types: TypeNumbers
    /// The number of types beyond which most types no longer exist.
    private let mostTypes: Int
    /// The files by path.
    var files: [String: CompiledFile] = [:]
    /// Templates, instances and links by name, without those that have diagnostics or use values from elsewhere.
    var templates: [String: Template] = [:]
    var instances: [String: Instance] = [:]
    var links: [String: Link] = [:]

    /// The times at which the diagnostics hold; nil: always.
    private var span: TimeSensitivity?

    /// Creates an empty cache.
    public init() {
        setting = nil
        types = TypeNumbers()
        mostTypes = 0
    }

    /// Creates an empty cache that follows another one.
    init(_ setting: Setting, after known: CompiledParts) {
        self.setting = setting
        types = known.types
        span = known.span
        mostTypes = known.setting == nil ? max(Self.someTypes, 2 * types.count) : known.mostTypes
    }

    /// Notes that the diagnostics depend on the time.
    mutating func holds(in other: TimeSensitivity?) {
        guard let other else { return }
        span = span.map { $0.intersection(other) } ?? other
    }

    /// The parts that may be used again with a setting.
    ///
    /// - Parameter now: The time; nil if it is unknown.
    func usable(in setting: Setting, now: Timestamp?) -> CompiledParts {
        if let span, !span.holds(at: now) { return CompiledParts() }
        guard let own = self.setting, own.effects == setting.effects, own.kinds == setting.kinds,
            types.count <= mostTypes
        else { return CompiledParts() }
        if own.values.remembersLike(setting.values) || !files.values.contains(where: \.dependencies.looksElsewhere) {
            return self
        }
        var parts = self
        parts.files = files.filter { !$0.value.dependencies.looksElsewhere }
        return parts
    }

    /// The compiled file, if the file is the same.
    func compiled(_ file: ConfigurationFile) -> CompiledFile? {
        guard let known = files[file.path], known.file == file else { return nil }
        return known
    }

    /// The numbers of parts that two caches share.
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

    /// The numbers of parts that were compiled once for both.
    package func shared(with other: CompiledParts) -> Count {
        Count(
            files: files.count { $0.value === other.files[$0.key] },
            instances: instances.count { $0.value.analysed.scope === other.instances[$0.key]?.analysed.scope },
            links: links.count { $0.value === other.links[$0.key] })
    }
}
