import Measuring

/// What dispatching to a store costs. A line here has a row in the `Report`'s table and its name in `run.sh`.
enum StoreLines {
    static let lines: [Line] = []
}
