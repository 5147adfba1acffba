/* Writing JSON by hand: the two things that are easy to get wrong. */
#ifndef TT_BASE_JSON_H
#define TT_BASE_JSON_H

#include <stdio.h>

/** Text with its quotes. What JSON demands is escaped, and "<", ">", "&" too, so that the result may stand inside an HTML
 *  script element. Bytes that are not UTF-8 become U+FFFD. */
void tt_json_string(FILE *out, const char *text);

/** A number in the fewest digits (at most 9 significant) that tell it well; null when it is not finite. */
void tt_json_number(FILE *out, double x);

/** Length of the UTF-8 sequence at s, 1..4; 0 when it is not one (overlong forms and surrogates are not). */
int tt_utf8_length(const char *s);

#endif
