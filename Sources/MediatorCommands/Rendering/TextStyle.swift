import CommonExpression
import MediatorControl

/// The look of text for people: colours, width, times.
package struct TextStyle: Sendable {
    enum Color: String {
        case red = "31"
        case green = "32"
        case yellow = "33"
        case blue = "34"
        case magenta = "35"
        case cyan = "36"
        case dim = "2"
        case bold = "1"
    }

    /// Whether colours are used.
    var usesColor = false
    /// The number of columns; nil for no limit.
    var columns: Int?
    /// The time now, in seconds since 1970.
    var now: Int64 = 0
    /// A time as the clocks on the wall show it.
    var localTime: @Sendable (Int64) -> CalendarTime = CalendarTime.utc

    /// A style without colours and limits, with times in UTC.
    package init() {}

    init(_ environment: CommandEnvironment) {
        usesColor = environment.wantsColor
        columns = environment.columns
        now = environment.now()
        localTime = environment.localTime
    }

    /// The same without colours.
    var plain: TextStyle {
        var style = self
        style.usesColor = false
        return style
    }

    /// The text in a colour, if there are any.
    func colored(_ text: String, _ color: Color) -> String {
        usesColor && !text.isEmpty ? "\u{1B}[\(color.rawValue)m\(text)\u{1B}[0m" : text
    }

    /// A line that may bear colours, cut to the width of the terminal; in a pipe it is whole.
    ///
    /// - Parameter end: the text behind it, which is not cut unless too little room would be left before it.
    func fitted(_ line: String, end: String = "") -> String {
        guard let columns else { return line + end }
        let room = columns - TextWidth.columns(ofColored: end)
        guard room >= Self.leastOfLine else { return TextWidth.cut(colored: line + end, to: columns) }
        return TextWidth.cut(colored: line, to: room) + end
    }

    /// The least room of a line before the text behind it.
    private static let leastOfLine = 20

    /// The colour of a health.
    static func color(_ health: Health) -> Color {
        switch health {
        case .healthy: .green
        case .starting, .degraded: .yellow
        case .failed: .red
        case .stopped: .dim
        }
    }

    /// A time on the clock: only the time of day when it is today, with the date when it is not.
    func clock(_ seconds: Int64) -> String {
        let time = localTime(seconds)
        let today = localTime(now)
        let clock = "\(Timestamp.padded(time.hour)):\(Timestamp.padded(time.minute))"
        if (time.year, time.month, time.day) == (today.year, today.month, today.day) {
            return "\(clock):\(Timestamp.padded(time.second))"
        }
        if time.year == today.year { return "\(Self.months[(time.month - 1) % 12]) \(time.day) \(clock)" }
        return "\(time.year)-\(Timestamp.padded(time.month))-\(Timestamp.padded(time.day)) \(clock)"
    }

    private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

    /// A span in its largest unit: `12 s`, `3 min`, `2 h`, `5 d`.
    static func span(_ seconds: Int64) -> String {
        switch seconds {
        case ..<60: "\(seconds) s"
        case ..<3600: "\(seconds / 60) min"
        case ..<172_800: "\(seconds / 3600) h"
        default: "\(seconds / 86_400) d"
        }
    }

    /// A span that is still to come, rounded to the nearest number of its unit. `1 h` for 1 h 59 min would be half of the
    /// time to plan by.
    static func coming(seconds: Int64) -> String {
        switch seconds {
        case ..<60: span(seconds)
        case ..<3570: span(seconds + 30)
        case ..<171_000: span(max(3600, seconds + 1800))
        default: span(max(172_800, seconds + 43_200))
        }
    }

    /// `14:02:11 (3 min ago)` of a time as it travels; the text itself when it is no time.
    func moment(_ text: String) -> String {
        guard let seconds = Timestamp.seconds(text) else { return PlainText.cleaned(text) }
        return "\(clock(seconds)) (\(ago(seconds)))"
    }

    /// A moment in the future. It is cut to seconds, as ``now`` is, so that the distance is right to a second.
    func coming(_ text: String) -> String {
        guard let time = CommonExpression.Timestamp(rfc3339: text) else { return PlainText.cleaned(text) }
        return "\(clock(time.seconds)) (\(time.seconds > now ? ago(time.seconds) : "now"))"
    }

    /// `3 min ago`, `just now`, `in 2 h`.
    func ago(_ seconds: Int64) -> String {
        let age = now - seconds
        if age < 0 { return "in \(Self.coming(seconds: -age))" }
        return age == 0 ? "just now" : "\(Self.span(age)) ago"
    }
}
