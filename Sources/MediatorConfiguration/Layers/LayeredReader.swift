/// Reads a file's documents, with what its drop-ins change.
enum LayeredReader {
    /// Reads a file. Everything wrong with it or its drop-ins is reported. Linear in their size. Drop-ins behind the one with
    /// which a system has too many states or events are not read.
    static func read(_ file: ConfigurationFile, _ diagnostics: DiagnosticsCollector) -> DocumentList {
        guard let source = text(file, diagnostics) else {
            return DocumentList(isIncomplete: true, mayDefineBuses: true, mayDefineSystems: true)
        }
        let base = DocumentReader.read(source, diagnostics)
        guard !file.dropIns.isEmpty else { return base }
        var size = source.bytes.count
        var texts = [source]
        for dropIn in file.orderedDropIns {
            size += dropIn.contents.count
            guard size <= ConfigurationLimits.layeredSize else {
                complain(
                    dropIn.path,
                    "with this drop-in '\(file.path)' has more than the "
                        + "\(ConfigurationLimits.layeredSize) bytes that are allowed", diagnostics)
                break
            }
            if let text = text(dropIn, diagnostics) { texts.append(text) }
        }
        let joined = SourceText(joining: texts)
        var merger = DropInMerger(base: base, source: joined, diagnostics: diagnostics)
        for (text, offset) in zip(texts, joined.bases).dropFirst() where !merger.isBeyondLimits {
            merger.apply(DocumentReader.read(text, diagnostics, isDropIn: true), from: offset)
        }
        if !merger.isBeyondLimits { merger.finish() }
        return merger.result
    }

    private static func text(_ file: ConfigurationFile, _ diagnostics: DiagnosticsCollector) -> SourceText? {
        guard file.contents.count <= ConfigurationLimits.fileSize else {
            complain(
                file.path,
                "this file has \(file.contents.count) bytes, more than the "
                    + "\(ConfigurationLimits.fileSize) that are allowed", diagnostics)
            return nil
        }
        return SourceText(path: file.path, contents: file.contents)
    }

    private static func complain(_ path: String, _ message: String, _ diagnostics: DiagnosticsCollector) {
        diagnostics.report(
            Diagnostic(
                code: .tooLarge, location: SourceLocation(file: path, line: 1, column: 1), message: message))
    }
}
