#include "cre2.h"

#include <re2/re2.h>

#include <cstring>
#include <new>
#include <string>
#include <vector>

struct cre2_pattern {
    cre2_pattern(const re2::StringPiece &text, const RE2::Options &options) : expression(text, options) {}

    const RE2 expression;
};

namespace {

void copy(const std::string &from, char *to, size_t capacity) {
    if (capacity == 0) return;
    const size_t length = from.size() < capacity - 1 ? from.size() : capacity - 1;
    std::memcpy(to, from.data(), length);
    to[length] = '\0';
}

}  // namespace

struct cre2_pattern *cre2_compile(
    const char *text, size_t length, int64_t memory, char *message, size_t capacity) {
    try {
        RE2::Options options;
        options.set_log_errors(false);
        options.set_max_mem(memory);
        auto *pattern = new cre2_pattern(re2::StringPiece(text, length), options);
        if (pattern->expression.ok()) return pattern;
        copy(pattern->expression.error(), message, capacity);
        delete pattern;
    } catch (const std::bad_alloc &) {
        copy("out of memory", message, capacity);
    }
    return nullptr;
}

bool cre2_matches(const struct cre2_pattern *pattern, const char *text, size_t length) {
    return pattern->expression.Match(re2::StringPiece(text, length), 0, length, RE2::UNANCHORED, nullptr, 0);
}

bool cre2_find(
    const struct cre2_pattern *pattern, const char *text, size_t length, size_t start, struct cre2_span *spans, int count) {
    // A text without bytes may have no address, but its match needs one.
    if (text == nullptr) text = "";
    std::vector<re2::StringPiece> parts(count);
    if (!pattern->expression.Match(re2::StringPiece(text, length), start, length, RE2::UNANCHORED, parts.data(), count)) {
        return false;
    }
    for (int index = 0; index < count; ++index) {
        const bool takesPart = parts[index].data() != nullptr;
        spans[index].begin = takesPart ? parts[index].data() - text : -1;
        spans[index].length = takesPart ? static_cast<int64_t>(parts[index].size()) : 0;
    }
    return true;
}

int cre2_groups(const struct cre2_pattern *pattern) { return pattern->expression.NumberOfCapturingGroups(); }

int cre2_size(const struct cre2_pattern *pattern) { return pattern->expression.ProgramSize(); }

void cre2_free(struct cre2_pattern *pattern) { delete pattern; }
