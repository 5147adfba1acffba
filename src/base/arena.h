/* A bump allocator for set-up data: everything is freed at once. Out of memory aborts the program (set-up data is small). */
#ifndef TT_BASE_ARENA_H
#define TT_BASE_ARENA_H

#include <stddef.h>

typedef struct tt_arena tt_arena;

/** An empty arena; tt_arena_destroy frees it with all that was taken from it. */
tt_arena *tt_arena_create(void);
void tt_arena_destroy(tt_arena **arena); /* accepts NULL */
/** Zeroed memory that lives as long as the arena, 16-byte aligned. */
void *tt_arena_alloc(tt_arena *arena, size_t bytes);
/** A copy of formatted text. */
char *tt_arena_printf(tt_arena *arena, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
