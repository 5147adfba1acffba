/* Matchers of the published patterns, by hand. Each alternative of the pattern is one step, in the pattern's order, and the
 * comments say what its backtracking comes to. Source of the patterns: the tokenizer.json files of the models. */
#include "data/pretokenize.h"
#include "data/unicode.h"

#include <stdlib.h>
#include <string.h>

const char tt_pattern_gpt2[] = "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+";

#define CONTRACTIONS "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
#define SPACES "|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"
#define UPPER "[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]"
#define LOWER "[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]"

const char tt_pattern_llama3[] =
    CONTRACTIONS "|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*" SPACES;
const char tt_pattern_qwen2[] =
    CONTRACTIONS "|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*" SPACES;
static const char pattern_qwen35[] =
    CONTRACTIONS "|[^\\r\\n\\p{L}\\p{N}]?[\\p{L}\\p{M}]+|\\p{N}| ?[^\\s\\p{L}\\p{M}\\p{N}]+[\\r\\n]*" SPACES;
const char tt_pattern_o200k[] =
    "[^\\r\\n\\p{L}\\p{N}]?" UPPER "*" LOWER "+" CONTRACTIONS "?|[^\\r\\n\\p{L}\\p{N}]?" UPPER "+" LOWER "*" CONTRACTIONS
    "?|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*" SPACES;
static const char pattern_numbers3[] = "\\p{N}{1,3}";
static const char pattern_cjk[] = "[\u4E00-\u9FA5\u3040-\u309F\u30A0-\u30FF]+";
static const char pattern_deepseek[] =
    "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\\r\\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| ?[\\p{P}\\p{S}]+[\\r\\n]*" SPACES;

enum { CR_LF = 1 << 16, SLASH = 1 << 17, LM = TT_UC_L | TT_UC_M, SPACE = TT_UC_SPACE, L = TT_UC_L, N = TT_UC_N };

/* Classes of ASCII, so that most text never leaves this table. */
#define UP (TT_UC_LU | TT_UC_WORD)
#define LO (TT_UC_LL | TT_UC_WORD)
#define NU (TT_UC_N | TT_UC_WORD)
#define PU TT_UC_P
#define SY TT_UC_S
#define SP TT_UC_SPACE
#define NL (TT_UC_SPACE | CR_LF)
#define R4(x) x, x, x, x
#define R8(x) R4(x), R4(x)
static const uint32_t ascii[128] = {
    R8(0), 0, SP, NL, SP, SP, NL, 0, 0, R8(0), R8(0),
    SP, PU, PU, PU, SY, PU, PU, PU, PU, PU, PU, SY, PU, PU, PU, PU | SLASH, /* ␠!"#$%&'()*+,-./ */
    R8(NU), NU, NU, PU, PU, SY, SY, SY, PU,                                 /* 0-9:;<=>? */
    PU, R8(UP), R8(UP), R8(UP), UP, UP, PU, PU, PU, SY, PU | TT_UC_WORD,    /* @A-Z[\]^_ */
    SY, R8(LO), R8(LO), R8(LO), LO, LO, PU, SY, PU, SY, 0,                  /* `a-z{|}~ */
};

static inline uint32_t at_char(const unsigned char *s, size_t at, unsigned *length)
{
    if (s[at] < 0x80) {
        *length = 1;
        return ascii[s[at]];
    }
    return tt_unicode_flags(tt_unicode_read(s + at, length));
}

/* End of the run of characters that have a bit of `mask`. */
static inline size_t run_of(const unsigned char *s, size_t at, size_t end, uint32_t mask)
{
    unsigned length;
    while (at < end && (at_char(s, at, &length) & mask))
        at += length;
    return at;
}

/* End of the run of characters that have no bit of `mask`. */
static inline size_t run_without(const unsigned char *s, size_t at, size_t end, uint32_t mask)
{
    unsigned length;
    while (at < end && !(at_char(s, at, &length) & mask))
        at += length;
    return at;
}

static inline size_t at_most(const unsigned char *s, size_t at, size_t end, uint32_t mask, int most)
{
    unsigned length;
    for (int i = 0; i < most && at < end && (at_char(s, at, &length) & mask); i++)
        at += length;
    return at;
}

/* Length of 's 't 're 've 'm 'll 'd at s[at], 0 when there is none; in either case when fold, where U+017F is an s too. */
static inline size_t contraction(const unsigned char *s, size_t at, size_t end, int fold)
{
    if (at + 1 >= end || s[at] != '\'')
        return 0;
    const unsigned char low = fold ? 0x20 : 0;
    const unsigned char a = s[at + 1] | (s[at + 1] < 0x80 ? low : 0);
    if (a == 's' || a == 't' || a == 'm' || a == 'd')
        return 2;
    if (at + 2 >= end)
        return 0;
    if (fold && s[at + 1] == 0xC5 && s[at + 2] == 0xBF)
        return 3;
    const unsigned char b = s[at + 2] | (s[at + 2] < 0x80 ? low : 0);
    return (a == 'r' && b == 'e') || (a == 'v' && b == 'e') || (a == 'l' && b == 'l') ? 3 : 0;
}

/* "\s*[\r\n]+|\s+(?!\S)|\s+" at white space. \s* takes the whole run and gives back until a line end follows: so the first
 * alternative ends behind the last line end of the run. The second takes the run but for its last character when something
 * follows it. `lines` 0 leaves out the first alternative. */
static size_t spaces(const unsigned char *s, size_t at, size_t end, int lines)
{
    size_t e = at, last = at, line_end = 0;
    unsigned length;
    uint32_t f;
    while (e < end && ((f = at_char(s, e, &length)) & SPACE)) {
        last = e;
        e += length;
        if (f & CR_LF)
            line_end = e;
    }
    if (lines && line_end)
        return line_end;
    return e < end && last > at ? last : e;
}

/* The run of line ends behind a run of punctuation. */
static inline size_t line_ends(const unsigned char *s, size_t at, size_t end, int slash)
{
    while (at < end && (s[at] == '\n' || s[at] == '\r' || (slash && s[at] == '/')))
        at++;
    return at;
}

int tt_match_gpt2(const unsigned char *s, size_t at, size_t end, size_t *from, size_t *to)
{
    unsigned length;
    *from = at;
    const size_t short_form = contraction(s, at, end, 0);
    if (short_form)
        return *to = at + short_form, 1;
    const size_t head = s[at] == ' ' && at + 1 < end ? at + 1 : at;
    const uint32_t f = at_char(s, head, &length);
    if (f & SPACE)
        *to = spaces(s, at, end, 0);
    else if (f & L)
        *to = run_of(s, head + length, end, L);
    else if (f & N)
        *to = run_of(s, head + length, end, N);
    else
        *to = run_without(s, head + length, end, SPACE | L | N);
    return 1;
}

/* The family of Llama 3: `words` is what a word is made of (letters, or letters and marks), `numbers` how many go together. */
static inline int match_llama_like(const unsigned char *s, size_t at, size_t end, uint32_t words, int numbers, size_t *to)
{
    unsigned length, next;
    const size_t short_form = contraction(s, at, end, 1);
    if (short_form)
        return *to = at + short_form, 1;
    const uint32_t f = at_char(s, at, &length);
    if (f & L)
        return *to = run_of(s, at + length, end, words), 1;
    if (f & N)
        return *to = at_most(s, at + length, end, N, numbers - 1), 1;
    if (!(f & CR_LF)) { /* one leading character of any other kind, then a word */
        const size_t word = at + length;
        if (word < end && (at_char(s, word, &next) & words))
            return *to = run_of(s, word + next, end, words), 1;
        if (f & words)
            return *to = word, 1; /* a mark alone is a word where marks are */
    }
    const size_t head = s[at] == ' ' && at + 1 < end ? at + 1 : at;
    if (!(at_char(s, head, &length) & (SPACE | words | N)))
        return *to = line_ends(s, run_without(s, head + length, end, SPACE | words | N), end, 0), 1;
    return *to = spaces(s, at, end, 1), 1;
}

int tt_match_llama3(const unsigned char *s, size_t at, size_t end, size_t *from, size_t *to)
{
    *from = at;
    return match_llama_like(s, at, end, L, 3, to);
}

int tt_match_qwen2(const unsigned char *s, size_t at, size_t end, size_t *from, size_t *to)
{
    *from = at;
    return match_llama_like(s, at, end, L, 1, to);
}

static int match_qwen35(const unsigned char *s, size_t at, size_t end, size_t *from, size_t *to)
{
    *from = at;
    return match_llama_like(s, at, end, LM, 1, to);
}

enum { O200K_UPPER = TT_UC_LU | TT_UC_LT | TT_UC_LM | TT_UC_LO | TT_UC_M, O200K_LOWER = TT_UC_LL | TT_UC_LM | TT_UC_LO | TT_UC_M };

/* "UPPER*LOWER+" at s[at]: 0 when it does not match. When no LOWER follows the run of UPPER, the run gives back down to its
 * last character that is LOWER too, and the match ends behind it. *upper_end becomes the end of the run. */
static size_t upper_lower(const unsigned char *s, size_t at, size_t end, size_t *upper_end)
{
    size_t e = at, last_lower = 0;
    unsigned length;
    uint32_t f;
    while (e < end && ((f = at_char(s, e, &length)) & O200K_UPPER)) {
        e += length;
        if (f & O200K_LOWER)
            last_lower = e;
    }
    *upper_end = e;
    const size_t lower = run_of(s, e, end, O200K_LOWER);
    return lower > e ? lower : last_lower;
}

int tt_match_o200k(const unsigned char *s, size_t at, size_t end, size_t *from, size_t *to)
{
    unsigned length;
    size_t upper = 0, upper_bare = at, e = 0;
    const uint32_t f = at_char(s, at, &length);
    const int may_lead = !(f & (L | N | CR_LF)); /* a mark may lead, or begin the word itself */
    *from = at;
    if (may_lead)
        e = upper_lower(s, at + length, end, &upper);
    if (!e && (f & LM))
        e = upper_lower(s, at, end, &upper_bare);
    if (!e && may_lead && upper > at + length)
        e = upper; /* UPPER+LOWER*, and nothing LOWER follows */
    if (!e && upper_bare > at)
        e = upper_bare;
    if (e)
        return *to = e + contraction(s, e, end, 1), 1;
    if (f & N)
        return *to = at_most(s, at + length, end, N, 3 - 1), 1;
    const size_t head = s[at] == ' ' && at + 1 < end ? at + 1 : at;
    if (!(at_char(s, head, &length) & (SPACE | L | N)))
        return *to = line_ends(s, run_without(s, head + length, end, SPACE | L | N), end, 1), 1;
    return *to = spaces(s, at, end, 1), 1;
}

/* A pattern of one class: the next run of it. */
static int next_run(const unsigned char *s, size_t at, size_t end, uint32_t mask, int most, size_t *from, size_t *to)
{
    *from = run_without(s, at, end, mask);
    if (*from >= end)
        return 0;
    *to = most ? at_most(s, *from, end, mask, most) : run_of(s, *from, end, mask);
    return 1;
}

int tt_match_number(const unsigned char *s, size_t at, size_t end, size_t *from, size_t *to)
{
    return next_run(s, at, end, N, 1, from, to);
}

int tt_match_numbers(const unsigned char *s, size_t at, size_t end, size_t *from, size_t *to)
{
    return next_run(s, at, end, N, 0, from, to);
}

/* The Digits step asks the library's compiler what a number is, which knows a version of Unicode more. */
static inline int is_digit(const unsigned char *s, size_t at, unsigned *length)
{
    if (at_char(s, at, length) & N)
        return 1;
    const uint32_t c = *length == 4 ? tt_unicode_read(s + at, length) : 0;
    return (c >= 0x11DE0 && c <= 0x11DE9) || (c >= 0x16FF4 && c <= 0x16FF6);
}

static int next_digits(const unsigned char *s, size_t at, size_t end, int one, size_t *from, size_t *to)
{
    unsigned length = 1;
    while (at < end && !is_digit(s, at, &length))
        at += length;
    *from = at;
    if (at >= end)
        return 0;
    do
        at += length;
    while (!one && at < end && is_digit(s, at, &length));
    *to = at;
    return 1;
}

int tt_match_digit(const unsigned char *s, size_t at, size_t end, size_t *from, size_t *to)
{
    return next_digits(s, at, end, 1, from, to);
}

int tt_match_digits(const unsigned char *s, size_t at, size_t end, size_t *from, size_t *to)
{
    return next_digits(s, at, end, 0, from, to);
}

static int match_numbers3(const unsigned char *s, size_t at, size_t end, size_t *from, size_t *to)
{
    return next_run(s, at, end, N, 3, from, to);
}

static inline int is_cjk(uint32_t c)
{
    return (c >= 0x4E00 && c <= 0x9FA5) || (c >= 0x3040 && c <= 0x30FF);
}

static int match_cjk(const unsigned char *s, size_t at, size_t end, size_t *from, size_t *to)
{
    unsigned length;
    while (at < end && (s[at] < 0xE3 || !is_cjk(tt_unicode_read(s + at, &length))))
        at += s[at] < 0x80 ? 1 : s[at] < 0xE0 ? 2 : s[at] < 0xF0 ? 3 : 4;
    *from = at;
    while (at < end && s[at] >= 0xE3 && is_cjk(tt_unicode_read(s + at, &length)))
        at += length;
    *to = at;
    return *to > *from;
}

static inline int is_letter(unsigned char c)
{
    c |= 0x20;
    return c >= 'a' && c <= 'z';
}

/* DeepSeek's third pattern at s[at]: the end of the match, or 0. Numbers and what has no class begin none. */
static size_t deepseek_here(const unsigned char *s, size_t at, size_t end)
{
    unsigned length, next;
    const uint32_t f = at_char(s, at, &length), ps = TT_UC_P | TT_UC_S;
    if (s[at] < 0x80 && (f & ps) && at + 1 < end && is_letter(s[at + 1])) {
        size_t e = at + 2;
        while (e < end && is_letter(s[e]))
            e++;
        return e;
    }
    if (f & L)
        return run_of(s, at + length, end, LM);
    if (!(f & (CR_LF | ps))) { /* one leading character, then a word */
        const size_t word = at + length;
        if (word < end && (at_char(s, word, &next) & LM))
            return run_of(s, word + next, end, LM);
        if (f & TT_UC_M)
            return word;
    }
    const size_t head = s[at] == ' ' && at + 1 < end ? at + 1 : at;
    if (at_char(s, head, &length) & ps)
        return line_ends(s, run_of(s, head + length, end, ps), end, 0);
    return f & SPACE ? spaces(s, at, end, 1) : 0;
}

static int match_deepseek(const unsigned char *s, size_t at, size_t end, size_t *from, size_t *to)
{
    unsigned length;
    for (; at < end; at += length) {
        *to = deepseek_here(s, at, end);
        if (*to) {
            *from = at;
            return 1;
        }
        at_char(s, at, &length);
    }
    return 0;
}

/* Equal but for "\r" and "\n", which one of them may spell as the characters themselves. */
static int same_pattern(const char *a, size_t n, const char *b)
{
    for (size_t i = 0; i < n; i++) {
        if (a[i] == '\r' || a[i] == '\n') {
            if (b[0] != '\\' || b[1] != (a[i] == '\r' ? 'r' : 'n'))
                return 0;
            b += 2;
        } else if (a[i] != *b++ || !a[i]) {
            return 0;
        }
    }
    return *b == 0;
}

tt_matcher tt_pattern_matcher(const char *pattern, size_t n)
{
    static const struct known {
        const char *pattern;
        tt_matcher matcher;
    } known[] = {
        {tt_pattern_gpt2, tt_match_gpt2},       {tt_pattern_llama3, tt_match_llama3}, {tt_pattern_qwen2, tt_match_qwen2},
        {pattern_qwen35, match_qwen35},         {tt_pattern_o200k, tt_match_o200k},   {pattern_numbers3, match_numbers3},
        {pattern_cjk, match_cjk},               {pattern_deepseek, match_deepseek},   {"\\p{N}", tt_match_number},
        {"\\p{N}+", tt_match_numbers},
    };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (same_pattern(pattern, n, known[i].pattern))
            return known[i].matcher;
    return NULL;
}
