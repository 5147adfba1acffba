/* "Did you mean": the known word nearest to a mistyped one. */
#ifndef TT_BASE_CLOSEST_H
#define TT_BASE_CLOSEST_H

/** Number of letters to insert, delete, replace or swap (neighbours) to turn a into b; words over 127 letters: 1000. */
int tt_edit_distance(const char *a, const char *b);

/** The nearest of n words, or NULL when none is near enough to be meant (at most a third of its letters, at least 2). */
const char *tt_closest(const char *word, const char *(*nth)(void *ctx, int i), void *ctx, int n);

#endif
