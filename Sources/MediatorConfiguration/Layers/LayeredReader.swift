/// Reads a file's documents, with what its drop-ins change.
enum LayeredReader {
    /// Reads a file. Everything wrong with it or its drop-ins is reported. Linear in their size.
    static func read(_ file: ConfigurationFile, _ findings: Findings) -> DocumentList {
        guard let source = text(file, findings) else {
            return DocumentList(isIncomplete: true, mayDefineBuses: true, mayDefineSystems: true)
        }
        let base = DocumentReader.read(source, findings)
        guard !file.dropIns.isEmpty else { return base }
        var size = source.bytes.count
        var texts = [source]
        for dropIn in file.orderedDropIns {
            size += dropIn.contents.count
            guard size <= ConfigurationLimits.layeredSize else {
                complain(
                    dropIn.path,
                    "with this drop-in '\(file.path)' has more than the "
                        + "\(ConfigurationLimits.layeredSize) bytes that are allowed", findings)
                break
            }
            if let text = text(dropIn, findings) { texts.append(text) }
        }
        let joined = SourceText(joining: texts)
        var merger = DropInMerger(base: base, source: joined, findings: findings)
        for (text, offset) in zip(texts, joined.bases).dropFirst() {
            merger.apply(DocumentReader.read(text, findings, isDropIn: true), from: offset)
        }
        merger.finish()
        return merger.result
    }

    private static func text(_ file: ConfigurationFile, _ findings: Findings) -> SourceText? {
        guard file.contents.count <= ConfigurationLimits.fileSize else {
            complain(
                file.path,
                "this file has \(file.contents.count) bytes, more than the "
                    + "\(ConfigurationLimits.fileSize) that are allowed", findings)
            return nil
        }
        return SourceText(path: file.path, contents: file.contents)
    }

    private static func complain(_ path: String, _ message: String, _ findings: Findings) {
        findings.report(
            Diagnostic(
                code: .tooLarge, location: SourceLocation(file: path, line: 1, column: 1), message: message))
    }
}
