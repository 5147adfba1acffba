/* See arena.h. */
#include "base/arena.h"

#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK_BYTES ((size_t)64 << 10)

typedef struct block {
    struct block *next;
    size_t used, size;
    _Alignas(16) char data[];
} block;

struct tt_arena {
    block *first;
};

tt_arena *tt_arena_create(void)
{
    tt_arena *arena = calloc(1, sizeof *arena);
    TT_ASSERT(arena);
    return arena;
}

void tt_arena_destroy(tt_arena **arena)
{
    if (!*arena)
        return;
    for (block *b = (*arena)->first, *next; b; b = next) {
        next = b->next;
        free(b);
    }
    free(*arena);
    *arena = NULL;
}

void *tt_arena_alloc(tt_arena *arena, size_t bytes)
{
    bytes = (bytes + 15) & ~(size_t)15;
    block *b = arena->first;
    if (!b || b->size - b->used < bytes) {
        size_t size = bytes > BLOCK_BYTES ? bytes : BLOCK_BYTES;
        b = calloc(1, sizeof *b + size);
        TT_ASSERT(b);
        b->size = size;
        b->next = arena->first;
        arena->first = b;
    }
    void *p = b->data + b->used;
    b->used += bytes;
    return p;
}

char *tt_arena_printf(tt_arena *arena, const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    int n = vsnprintf(NULL, 0, format, ap);
    va_end(ap);
    char *text = tt_arena_alloc(arena, (size_t)n + 1);
    va_start(ap, format);
    vsnprintf(text, (size_t)n + 1, format, ap);
    va_end(ap);
    return text;
}
