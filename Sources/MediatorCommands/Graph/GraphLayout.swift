/// Places the parts of a graph in layers from left to right, by the method of Sugiyama, Tagawa and Toda (IEEE
/// Transactions on Systems, Man, and Cybernetics 11, 1981).
///
/// Loops are cut, and parts go into layers by the longest path to them. The order within each layer moves towards the
/// mean of the neighbours' places. The places are the least squares that keep the order. Every other layer is for the
/// names of links, so that these have places of their own. A longer link has a bend in each layer.
package struct GraphLayout {
    /// A size in pixels.
    package struct Size: Equatable {
        /// From left to right.
        package var width: Double
        /// From top to bottom.
        package var height: Double

        /// A size.
        package init(width: Double, height: Double) {
            self.width = width
            self.height = height
        }
    }

    /// A point in pixels, from the upper left corner.
    package struct Point: Equatable {
        /// From the left.
        package var x: Double
        /// From the top.
        package var y: Double
    }

    /// A link as it is drawn.
    package struct Route: Equatable {
        /// From where it comes to where it leads.
        package var points: [Point]
        /// The middle of its name.
        package var label: Point
    }

    /// The limit on places of all parts, names and bends together. The user has to narrow a larger graph.
    static let mostPlaces = 20_000
    /// The number of passes over the order, from left to right and back.
    private static let sweeps = 12

    private static let layerGap = 26.0
    private static let rowGap = 14.0
    private static let bendHeight = 6.0
    private static let margin = 20.0

    /// The middle of each part.
    package private(set) var centers: [Point] = []
    /// Each link, in the order given.
    package private(set) var routes: [Route] = []
    /// All of it.
    package private(set) var size = Size(width: 0, height: 0)

    /// A thing with a place: a part, a name or a bend.
    private struct Place {
        var layer: Int
        var size: Size
        var before: [Int] = []
        var after: [Int] = []
    }

    /// Lays a graph out; nil if it is too large.
    ///
    /// - Parameters:
    ///   - parts: the size of each part.
    ///   - links: the ends of each link, and the size of its name.
    package init?(parts: [Size], links: [(from: Int, to: Int, label: Size)]) {
        guard parts.count + links.count <= Self.mostPlaces else { return nil }
        let isReversed = Self.cuts(parts.count, links.map { ($0.from, $0.to) })
        let ends = links.indices.map {
            isReversed[$0] ? (links[$0].to, links[$0].from) : (links[$0].from, links[$0].to)
        }
        let layers = Self.layers(parts.count, ends)

        var places = parts.indices.map { Place(layer: layers[$0] * 2, size: parts[$0]) }
        var chains: [[Int]] = []
        for (index, link) in links.enumerated() {
            let (from, to) = ends[index]
            var chain = [from]
            if from == to {
                // A loop of one part: its name has a place behind it.
                places.append(Place(layer: places[from].layer + 1, size: link.label, before: [from]))
                places[from].after.append(places.count - 1)
                chains.append([from, places.count - 1])
                continue
            }
            for layer in (places[from].layer + 1)..<places[to].layer {
                let size = layer == places[from].layer + 1 ? link.label : Size(width: 0, height: Self.bendHeight)
                places.append(Place(layer: layer, size: size))
                chain.append(places.count - 1)
                guard places.count <= Self.mostPlaces else { return nil }
            }
            chain.append(to)
            for (left, right) in zip(chain, chain.dropFirst()) {
                places[left].after.append(right)
                places[right].before.append(left)
            }
            chains.append(chain)
        }

        let order = Self.order(places)
        let ys = Self.heights(places, order)
        let widths = order.map { layer in layer.map { places[$0].size.width }.max() ?? 0 }
        var xs: [Double] = []
        var x = Self.margin
        for width in widths {
            xs.append(x + width / 2)
            x += width + Self.layerGap
        }
        let top = places.indices.map { ys[$0] - places[$0].size.height / 2 }.min() ?? 0
        let middles = places.indices.map {
            Point(x: xs[places[$0].layer], y: ys[$0] - top + Self.margin)
        }
        let bottom = places.indices.map { middles[$0].y + places[$0].size.height / 2 }.max() ?? 0
        size = Size(width: max(x - Self.layerGap, 0) + Self.margin, height: bottom + Self.margin)
        centers = Array(middles.prefix(parts.count))
        routes = chains.enumerated().map { index, chain in
            Self.route(chain, middles, places, widths, isReversed: isReversed[index])
        }
    }

    // MARK: Steps

    /// The links that lead back on a walk in depth, which are turned round while the graph is laid out.
    private static func cuts(_ count: Int, _ ends: [(from: Int, to: Int)]) -> [Bool] {
        var outgoing = [[Int]](repeating: [], count: count)
        var hasEntry = [Bool](repeating: false, count: count)
        for (index, end) in ends.enumerated() where end.from != end.to {
            outgoing[end.from].append(index)
            hasEntry[end.to] = true
        }
        enum Mark { case new, open, done }
        var marks = [Mark](repeating: .new, count: count)
        var isCut = [Bool](repeating: false, count: ends.count)
        var path: [(part: Int, next: Int)] = []
        // A part without incoming links is a natural beginning.
        for root in (0..<count).filter({ !hasEntry[$0] }) + (0..<count).filter({ hasEntry[$0] }) {
            guard marks[root] == .new else { continue }
            marks[root] = .open
            path.append((root, 0))
            while let (part, next) = path.last {
                guard next < outgoing[part].count else {
                    marks[part] = .done
                    path.removeLast()
                    continue
                }
                path[path.count - 1].next += 1
                let link = outgoing[part][next]
                switch marks[ends[link].to] {
                case .new:
                    marks[ends[link].to] = .open
                    path.append((ends[link].to, 0))
                case .open: isCut[link] = true
                case .done: break
                }
            }
        }
        return isCut
    }

    /// The layer of each part: the longest way to it; what only leads somewhere is moved next to that.
    private static func layers(_ count: Int, _ ends: [(Int, Int)]) -> [Int] {
        var outgoing = [[Int]](repeating: [], count: count)
        var open = [Int](repeating: 0, count: count)
        for (from, to) in ends where from != to {
            outgoing[from].append(to)
            open[to] += 1
        }
        let entries = open
        var layers = [Int](repeating: 0, count: count)
        var queue = (0..<count).filter { open[$0] == 0 }
        var next = 0
        while next < queue.count {
            let part = queue[next]
            next += 1
            for target in outgoing[part] {
                layers[target] = max(layers[target], layers[part] + 1)
                open[target] -= 1
                if open[target] == 0 { queue.append(target) }
            }
        }
        for part in queue where entries[part] == 0 {
            guard let nearest = outgoing[part].map({ layers[$0] }).min() else { continue }
            layers[part] = max(0, nearest - 1)
        }
        return layers
    }

    /// The places of each layer in their order, with few crossings.
    private static func order(_ places: [Place]) -> [[Int]] {
        let count = (places.map(\.layer).max() ?? -1) + 1
        var order = [[Int]](repeating: [], count: count)
        // Begun as a walk from each beginning meets them, so that what belongs together lies together.
        var isSeen = [Bool](repeating: false, count: places.count)
        var stack = Array(places.indices.filter { places[$0].before.isEmpty }.reversed())
        while let place = stack.popLast() {
            guard !isSeen[place] else { continue }
            isSeen[place] = true
            order[places[place].layer].append(place)
            stack += places[place].after.reversed()
        }
        var position = [Double](repeating: 0, count: places.count)
        func note(_ layer: [Int]) {
            for (index, place) in layer.enumerated() { position[place] = Double(index) }
        }
        for layer in order { note(layer) }
        var best = order
        var fewest = crossings(places, order, position)
        for sweep in 0..<Self.sweeps where fewest > 0 {
            let isForward = sweep % 2 == 0
            for index in isForward ? Array(order.indices) : order.indices.reversed() {
                let sorted = order[index].enumerated().map { offset, place in
                    let neighbours = isForward ? places[place].before : places[place].after
                    let sum = neighbours.reduce(0) { $0 + position[$1] }
                    return (
                        place: place, mean: neighbours.isEmpty ? Double(offset) : sum / Double(neighbours.count),
                        offset: offset
                    )
                }.sorted { ($0.mean, $0.offset) < ($1.mean, $1.offset) }
                order[index] = sorted.map(\.place)
                note(order[index])
            }
            let now = crossings(places, order, position)
            if now < fewest { (best, fewest) = (order, now) }
        }
        return best
    }

    /// The number of crossings between neighbouring layers: the inversions, counted with a Fenwick tree.
    private static func crossings(_ places: [Place], _ order: [[Int]], _ position: [Double]) -> Int {
        var total = 0
        for (index, layer) in order.enumerated().dropLast() {
            var tree = [Int](repeating: 0, count: order[index + 1].count + 1)
            var lines = 0
            for place in layer {
                let targets = places[place].after.map { Int(position[$0]) }.sorted()
                for target in targets {
                    // Those that end further down, counted so far.
                    var sum = 0
                    var at = target + 1
                    while at > 0 {
                        sum += tree[at]
                        at -= at & -at
                    }
                    total += lines - sum
                }
                for target in targets {
                    lines += 1
                    var at = target + 1
                    while at < tree.count {
                        tree[at] += 1
                        at += at & -at
                    }
                }
            }
        }
        return total
    }

    /// The vertical middle of each place.
    private static func heights(_ places: [Place], _ order: [[Int]]) -> [Double] {
        var ys = [Double](repeating: 0, count: places.count)
        for layer in order {
            var y = 0.0
            for place in layer {
                ys[place] = y + places[place].size.height / 2
                y += places[place].size.height + rowGap
            }
        }
        for sweep in 0..<Self.sweeps * 2 {
            let isForward = sweep % 2 == 0
            for layer in isForward ? order : order.reversed() {
                let wanted = layer.map { place in
                    let sides =
                        sweep >= Self.sweeps
                        ? places[place].before + places[place].after
                        : isForward ? places[place].before : places[place].after
                    guard !sides.isEmpty else { return ys[place] }
                    return sides.reduce(0) { $0 + ys[$1] } / Double(sides.count)
                }
                for (place, y) in zip(layer, fitted(wanted, layer.map { places[$0].size.height })) { ys[place] = y }
            }
        }
        return ys
    }

    /// The places nearest to those that are wanted, in their order and apart: the least squares, by pooling adjacent
    /// violators (Ayer and others, Annals of Mathematical Statistics 26, 1955).
    private static func fitted(_ wanted: [Double], _ heights: [Double]) -> [Double] {
        var offsets: [Double] = []
        var offset = 0.0
        for (index, height) in heights.enumerated() {
            if index > 0 { offset += (heights[index - 1] + height) / 2 + rowGap }
            offsets.append(offset)
        }
        var pools: [(sum: Double, count: Int)] = []
        for (value, offset) in zip(wanted, offsets) {
            pools.append((value - offset, 1))
            while pools.count > 1 {
                let (last, before) = (pools[pools.count - 1], pools[pools.count - 2])
                guard before.sum / Double(before.count) > last.sum / Double(last.count) else { break }
                pools.removeLast()
                pools[pools.count - 1] = (before.sum + last.sum, before.count + last.count)
            }
        }
        let means = pools.flatMap { [Double](repeating: $0.sum / Double($0.count), count: $0.count) }
        return zip(means, offsets).map { $0 + $1 }
    }

    /// The way of a link from the border of one part to that of another.
    private static func route(
        _ chain: [Int], _ middles: [Point], _ places: [Place], _ widths: [Double], isReversed: Bool
    ) -> Route {
        let label = middles[chain[1]]
        let first = Point(x: middles[chain[0]].x + places[chain[0]].size.width / 2, y: middles[chain[0]].y)
        guard chain.count > 2, let last = chain.last else {
            // Of one part to itself: out above and in below the name.
            let height = places[chain[0]].size.height / 4
            let far = label.x + widths[places[chain[1]].layer] / 2
            return Route(
                points: [
                    Point(x: first.x, y: first.y - height), Point(x: far, y: label.y - height),
                    Point(x: far, y: label.y + height), Point(x: first.x, y: first.y + height),
                ], label: label)
        }
        var points = [first]
        for place in chain.dropFirst().dropLast() {
            // Straight through the layer, so that it meets nothing else there.
            let half = widths[places[place].layer] / 2
            points.append(Point(x: middles[place].x - half, y: middles[place].y))
            points.append(Point(x: middles[place].x + half, y: middles[place].y))
        }
        points.append(Point(x: middles[last].x - places[last].size.width / 2, y: middles[last].y))
        return Route(points: isReversed ? points.reversed() : points, label: label)
    }
}
