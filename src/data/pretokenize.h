/* Where a text is cut into pieces before byte-pair encoding: a chain of stages, each cutting what the one before left.
 *
 * The patterns of the published tokenizers have matchers written by hand; any other regular expression goes through PCRE2
 * with its classes replaced by our tables (pretokenize_regex.c). */
#ifndef TT_DATA_PRETOKENIZE_H
#define TT_DATA_PRETOKENIZE_H

#include "base/error.h"

#include <stddef.h>

typedef struct tt_regex tt_regex;

/** What a stage does with its matches and with the text between them. */
typedef enum tt_split {
    TT_SPLIT_ISOLATED, /* every match is a piece, and what lies between too */
    TT_SPLIT_REMOVED,  /* matches go, the text between stays */
    TT_SPLIT_KEPT,     /* matches stay, the text between goes ("Removed" with "invert") */
    TT_SPLIT_WITH_PREVIOUS, /* a match joins the text before it */
    TT_SPLIT_WITH_NEXT,     /* a match joins the text after it */
    TT_SPLIT_CONTIGUOUS     /* matches that touch are one piece */
} tt_split;

/** Find the next match at or after s[at], at < end: its place goes to [*from, *to), *from < *to. Returns 0 when there is none,
 *  negative when the matcher gave up. s[0] is the begin of the text and s[end] its end, as look-ahead sees it. */
typedef int (*tt_matcher)(const unsigned char *s, size_t at, size_t end, size_t *from, size_t *to);

typedef struct tt_stage {
    tt_matcher matcher; /* or NULL: regex */
    tt_regex *regex;    /* owned by whoever made the chain */
    tt_split split;
    int prefix_space; /* before matching, a text that does not begin with a space gets one */
} tt_stage;

/** The matcher of a known pattern, NULL for any other. Carriage return and line feed may stand in the pattern as themselves. */
tt_matcher tt_pattern_matcher(const char *pattern, size_t n);
/** Matchers: GPT-2's pattern, single numbers and runs of them, the same for the Digits step (whose numbers are Unicode 17's), Llama 3's, Qwen 2's and o200k's pattern. */
int tt_match_gpt2(const unsigned char *s, size_t at, size_t end, size_t *from, size_t *to);
int tt_match_number(const unsigned char *s, size_t at, size_t end, size_t *from, size_t *to);
int tt_match_numbers(const unsigned char *s, size_t at, size_t end, size_t *from, size_t *to);
int tt_match_digit(const unsigned char *s, size_t at, size_t end, size_t *from, size_t *to);
int tt_match_digits(const unsigned char *s, size_t at, size_t end, size_t *from, size_t *to);
int tt_match_llama3(const unsigned char *s, size_t at, size_t end, size_t *from, size_t *to);
int tt_match_qwen2(const unsigned char *s, size_t at, size_t end, size_t *from, size_t *to);
int tt_match_o200k(const unsigned char *s, size_t at, size_t end, size_t *from, size_t *to);

/** The patterns themselves, as published. */
extern const char tt_pattern_gpt2[], tt_pattern_llama3[], tt_pattern_qwen2[], tt_pattern_o200k[];

/** Compile a regular expression as the tokenizers library reads it. Errors: TT_ERR_DATA (PCRE2's words and the place). */
tt_status tt_regex_create(const char *pattern, size_t n, tt_regex **regex, tt_error *err);
/** A regex that matches the text itself, letter for letter. */
tt_status tt_regex_create_text(const char *text, size_t n, tt_regex **regex, tt_error *err);
void tt_regex_destroy(tt_regex **regex); /* accepts NULL */
/** As tt_matcher, but a match may be empty. May be called from several threads. */
int tt_regex_match(const tt_regex *regex, const unsigned char *s, size_t at, size_t end, size_t *from, size_t *to);

typedef tt_status (*tt_piece_sink)(void *ctx, const unsigned char *piece, size_t n, tt_error *err);

/** Cut s[n] (valid UTF-8) by all stages in turn and give each piece, in order and never empty, to sink.
 *  Errors: TT_ERR_NOMEM, TT_ERR_DATA (a regular expression gave up), the sink's. Pure. */
tt_status tt_pretokenize(const tt_stage *stages, int n_stages, const unsigned char *s, size_t n, tt_piece_sink sink, void *ctx,
                         tt_error *err);

#endif
