/// A look into an open store.
package enum StoreReading: Sendable, Hashable {
    /// Verifies the file as ``PartStore/load()`` does. The page has damage and the number of rows, and no parts.
    ///
    /// It reads the whole file, and commits wait for it.
    case check
    /// The parts behind a key, or from the beginning, in the order of kind and name.
    ///
    /// A page has at most ``StoreLimits/changes`` rows. It ends with the row that brings its bodies to ``StoreLimits/bytes``.
    case parts(after: PartKey?)
    /// One part, if there is a row of it.
    case part(PartKey)
}

/// The answer to a ``StoreReading``.
package struct StorePage: Sendable, Hashable {
    /// The parts without a flaw, by kind and name.
    package var parts: [StoredPart] = []
    /// The damage that was found. Rows are without their bodies.
    package var flaws: [StoreFlaw] = []
    /// The number of rows that were read.
    package var rows = 0
    /// The key of the last row that was read; `nil` if there are no further rows.
    package var next: PartKey?
    /// The size of the bodies.
    private var bytes = 0

    package init(parts: [StoredPart] = [], flaws: [StoreFlaw] = [], rows: Int = 0, next: PartKey? = nil) {
        self.parts = parts
        self.flaws = flaws
        self.rows = rows
        self.next = next
    }

    /// Creates the page for a reading from all parts, by kind and name.
    init(of parts: [StoredPart], for reading: StoreReading) {
        switch reading {
        case .check: self.init(rows: parts.count)
        case .part(let key):
            let found = parts.filter { $0.key == key }
            self.init(parts: found, rows: found.count)
        case .parts(let last):
            self.init()
            for part in parts where last.map({ ($0.kind, $0.name) < (part.key.kind, part.key.name) }) ?? true {
                guard !isFull else {
                    next = self.parts.last?.key
                    return
                }
                add(part)
                rows += 1
            }
        }
    }

    private mutating func add(_ part: StoredPart) {
        parts.append(part)
        bytes += part.body.count
    }

    /// Notes a row that was read.
    fileprivate mutating func add(_ row: (key: PartKey?, part: StoredPart?, flaw: StoreFlaw)) {
        rows += 1
        if let part = row.part { add(part) } else { flaws.append(row.flaw.withoutBody) }
    }

    /// A Boolean value that indicates whether a page takes no further row.
    var isFull: Bool {
        rows >= StoreLimits.changes || bytes >= StoreLimits.bytes
    }
}

extension StoreFile {
    /// Answers a reading.
    func read(_ reading: StoreReading) throws(StoreTrouble) -> StorePage {
        switch reading {
        case .check:
            let contents = try StoreReader.check(connection, copy: copy?.read() ?? .missing)
            return StorePage(flaws: contents.flaws, rows: Int(clamping: contents.head.rows))
        case .part(let key):
            return try page("kind = ? AND name = ?", [.number(Int64(key.kind)), .text(key.name)])
        case .parts(nil): return try page("1", [])
        case .parts(let key?):
            var page = try page("(kind, name) > (?, ?)", [.number(Int64(key.kind)), .text(key.name)])
            // A damaged name can sort before the row that has it, so that the next page would be this one.
            if page.next == key { page.next = nil }
            return page
        }
    }

    /// Reads the rows that a condition selects until the page is full.
    private func page(_ condition: String, _ values: [SQLiteStatement.Value]) throws(StoreTrouble) -> StorePage {
        do throws(SQLiteError) {
            let statement = try SQLiteStatement(
                connection, "\(StoreReader.rows) WHERE \(condition) ORDER BY kind, name")
            try statement.bind(values)
            defer { statement.reset() }
            var page = StorePage()
            var last: PartKey?
            while try statement.step() {
                guard !page.isFull else {
                    page.next = last
                    break
                }
                let row = StoreReader.row(of: statement, in: store)
                last = row.key ?? last
                page.add(row)
            }
            return page
        } catch {
            guard error.isDamage else { throw error.trouble }
            return StorePage(flaws: [.structure(error.text)])
        }
    }
}
