/// The place of a definition, with its name.
struct NamedPlace {
    var name: Scalar
    var source: SourceText
    /// The index of its file.
    var file: Int
    /// Its own index there.
    var index: Int
    /// A Boolean value that indicates whether it is an instance of a template.
    var isInstance = false
    /// A Boolean value that indicates whether there is another of its name.
    var isDoubled = false
}

extension Linker {
    /// The places of all definitions of a sort, in the order of files.
    func places<Thing>(
        _ things: KeyPath<Gathered, [Thing]>, areInstances: Bool = false,
        _ named: (Thing) -> (Scalar, SourceText)
    ) -> [NamedPlace] {
        var places: [NamedPlace] = []
        for (number, file) in files.enumerated() {
            for (index, thing) in file.written[keyPath: things].enumerated() {
                let (name, source) = named(thing)
                places.append(
                    NamedPlace(name: name, source: source, file: number, index: index, isInstance: areInstances))
            }
        }
        return places
    }

    /// Reports a second definition of a name. If one of the two is incomplete, it was meant to change the other.
    private func complain(of place: NamedPlace, beside earlier: NamedPlace, _ what: String) {
        func location(_ place: NamedPlace) -> SourceLocation { place.source.location(at: place.name.span.start) }
        let isSystem = what == "system"
        let isPart = diagnostics.forgiveMissing(at: location(place), isSystem: isSystem)
        let isSwapped =
            !isPart && location(place).file != location(earlier).file
            && diagnostics.forgiveMissing(at: location(earlier), isSystem: isSystem)
        let (wrong, right) = isSwapped ? (earlier, place) : (place, earlier)
        var hint = "rename one of them"
        let (file, name) = (location(right).file, location(wrong).file.split(separator: "/").last ?? "")
        if isPart || isSwapped, file != location(wrong).file, !file.contains(".d/"), name.hasSuffix(".yaml") {
            hint = "to change that one, write it into a drop-in of its file: \(file).d/\(name)"
        }
        if !isPart, !isSwapped { diagnostics.noteCopy(at: location(wrong), of: file) }
        diagnostics.report(
            .duplicateName, in: wrong.source, at: wrong.name.span,
            "there is a \(what) '\(place.name.text)' already, at \(location(right))", hint: hint)
    }

    /// Sorts definitions by name and separates duplicates. The first in the order of files counts, but a reference may mean
    /// either.
    func unique(_ places: [NamedPlace], _ what: String) -> (kept: [NamedPlace], others: [NamedPlace]) {
        var first: [String: Int] = [:]
        var doubled: Set<Int> = []
        first.reserveCapacity(places.count)
        for (index, place) in places.enumerated() {
            guard let earlier = first[place.name.text] else {
                first[place.name.text] = index
                continue
            }
            // A feedback of a system that is there twice.
            if place.name.text.contains("/") { continue }
            doubled.insert(earlier)
            complain(of: place, beside: places[earlier], what)
        }
        // As a rule they come sorted, for files are.
        let names = places.map(\.name.text)
        let indices = places.indices.filter { first[names[$0]] == $0 }
        let kept = indices.sorted { names[$0] < names[$1] }.map { index in
            var place = places[index]
            place.isDoubled = doubled.contains(index)
            return place
        }
        guard kept.count < places.count else { return (kept, []) }
        return (kept, places.indices.filter { first[names[$0]] != $0 }.map { places[$0] })
    }
}
