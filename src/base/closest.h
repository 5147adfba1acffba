/* "Did you mean": the known word nearest to a mistyped one. */
#ifndef TT_BASE_CLOSEST_H
#define TT_BASE_CLOSEST_H

#include "base/error.h"

#include <stddef.h>

/** Number of letters to insert, delete, replace or swap (neighbours) to turn a into b; words over 127 letters: 1000. */
int tt_edit_distance(const char *a, const char *b);

/** The nearest of n words, or NULL when none is near enough to be meant (at most a third of its letters, at least 2). */
const char *tt_closest(const char *word, const char *(*nth)(void *ctx, int i), void *ctx, int n);

/** Behind the text of an error about `word`: "; did you mean \"WORD\"?", when one of the n words is
 * that but for capitals, or shares more than half of its letters. Returns st. */
tt_status tt_closest_hint_word(tt_error *err, tt_status st, const char *word,
                               const char *const *words, int n);

/** For a path that does not exist: the path whose first missing part is replaced by the nearest
 * name in that folder. 1 and meant[room] when there is one that is near enough, else 0. */
int tt_closest_path(const char *path, char *meant, size_t room);

/** Behind the text of an error about `path`: "; did you mean PATH?", when it does not exist and a
 * near name does. Returns st; does nothing when st is TT_OK, path is NULL or the text asks already.
 */
tt_status tt_closest_hint(tt_error *err, tt_status st, const char *path);

#endif
