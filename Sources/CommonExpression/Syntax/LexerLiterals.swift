/// Numbers and strings.
extension Lexer {
    // MARK: Numbers

    mutating func readNumber() {
        let start = position
        if peek() == UInt8(ascii: "0"), let mark = peek(1), mark | 0x20 == UInt8(ascii: "x") {
            position += 2
            finishInteger(from: start, digitsFrom: position, radix: 16)
            return
        }
        skipDigits()
        var isDouble = false
        if peek() == UInt8(ascii: "."), peek(1).map(Self.isDigit) == true {
            isDouble = true
            position += 1
            skipDigits()
        }
        if let mark = peek(), mark | 0x20 == UInt8(ascii: "e") {
            let signed = peek(1) == UInt8(ascii: "+") || peek(1) == UInt8(ascii: "-")
            if peek(signed ? 2 : 1).map(Self.isDigit) == true {
                isDouble = true
                position += signed ? 2 : 1
                skipDigits()
            }
        }
        guard isDouble else {
            finishInteger(from: start, digitsFrom: start, radix: 10)
            return
        }
        guard !reportTail(from: start) else { return }
        let text = String(decoding: bytes[start..<position], as: UTF8.self)
        guard let number = DoubleText.number(in: text) else {
            report(
                .invalidLiteral, "'\(Excerpt.of(text))' is out of range for double",
                advice: "the largest is about 1.8e308", from: start, to: position)
            add(.invalid, from: start)
            return
        }
        add(.double, .double(number), from: start)
    }

    private mutating func skipDigits() {
        while let byte = peek(), Self.isDigit(byte) { position += 1 }
    }

    private mutating func finishInteger(from start: Int, digitsFrom: Int, radix: Int) {
        if radix == 16 {
            while let byte = peek(), Self.hexadecimal(byte) != nil { position += 1 }
        }
        let digits = bytes[digitsFrom..<position]
        var isUnsigned = false
        if let mark = peek(), mark | 0x20 == UInt8(ascii: "u") {
            isUnsigned = true
            position += 1
        }
        guard !reportTail(from: start) else { return }
        guard !digits.isEmpty else {
            report(.invalidLiteral, "'0x' must be followed by hexadecimal digits", from: start, to: position)
            add(.invalid, from: start)
            return
        }
        guard let magnitude = UInt64(String(decoding: digits, as: UTF8.self), radix: radix) else {
            let type = isUnsigned ? "uint" : "int"
            let most = isUnsigned ? "18446744073709551615u" : "9223372036854775807"
            report(
                .invalidLiteral, "the number is out of range for \(type)", advice: "the largest is \(most)",
                from: start, to: position)
            add(.invalid, from: start)
            return
        }
        add(isUnsigned ? .uint : .int, .magnitude(magnitude), from: start)
    }

    /// Reports letters that follow a number without a gap.
    private mutating func reportTail(from start: Int) -> Bool {
        guard let byte = peek(), Self.isNamePart(byte) else { return false }
        let tail = position
        while let byte = peek(), Self.isNamePart(byte) { position += 1 }
        let text = String(decoding: bytes[start..<position], as: UTF8.self)
        let unit = String(decoding: bytes[tail..<position], as: UTF8.self)
        let isDuration = ["s", "m", "h", "ms", "us", "ns"].contains(unit)
        let advice =
            isDuration
            ? "write a duration as duration(\"\(Excerpt.of(text))\")" : "put an operator or a blank between"
        report(
            .invalidLiteral, "'\(Excerpt.of(text))' is not a number", advice: advice, from: start, to: position)
        add(.invalid, from: start)
        return true
    }

    // MARK: Strings

    mutating func readString(prefix: Int, isBytes: Bool, isRaw: Bool) {
        let start = position
        position += prefix
        let quote = bytes[position]
        let isTriple = peek(1) == quote && peek(2) == quote
        let width = isTriple ? 3 : 1
        position += width
        let content = position
        while let byte = peek() {
            if byte == quote, !isTriple || (peek(1) == quote && peek(2) == quote) {
                let decoder = EscapeDecoder(bytes[content..<position], isBytes: isBytes, isRaw: isRaw)
                position += width
                finishString(decoder, isBytes: isBytes, from: start)
                return
            }
            if !isTriple, byte == 0x0A || byte == 0x0D { break }
            position += byte == UInt8(ascii: "\\") && !isRaw && position + 1 < bytes.count ? 2 : 1
        }
        position = min(position, bytes.count)
        let mark = String(repeating: Character(Unicode.Scalar(quote)), count: width)
        report(
            .syntax, "the string is not closed with \(mark)",
            advice: isTriple ? nil : "a string over several lines is written between three quotes",
            from: start, to: position, detail: .unclosed(by: mark))
        add(.invalid, from: start)
    }

    private mutating func finishString(_ decoder: EscapeDecoder, isBytes: Bool, from start: Int) {
        var decoder = decoder
        decoder.run()
        for problem in decoder.problems where problems.count < Problems.most { problems.append(problem) }
        if isBytes {
            add(.bytes, .bytes(decoder.output), from: start)
        } else {
            add(.string, .text(String(decoding: decoder.output, as: UTF8.self)), from: start)
        }
    }
}
