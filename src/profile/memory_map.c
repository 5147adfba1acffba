/* See memory_map.h. */
#include "profile/memory_map.h"

#include "base/fs.h"
#include "base/json.h"
#include "graph/print.h"
#include "plan/cost.h"
#include "profile/trace.h"

#include <stdlib.h>
#include <string.h>

static const char *const scope_name[TT_N_SCOPES] = {"none", "state", "step", "frame", "scratch"};

/* The lives of a part's scratch values, by value. */
typedef struct lives {
    int *first, *last; /* -1 = not touched */
    int64_t *in_use;   /* bytes at each instruction */
} lives;

static void touch(const tt_program *p, lives *l, tt_vid v, int j)
{
    v = tt_value_root(p, v);
    if (p->value[v].scope != TT_SCOPE_SCRATCH)
        return;
    if (l->first[v] < 0)
        l->first[v] = j;
    l->last[v] = j;
}

static lives find_lives(const tt_program *p, const tt_instr_list *code)
{
    lives l = {.first = malloc(sizeof(int) * (size_t)(p->n_values + 1)),
               .last = malloc(sizeof(int) * (size_t)(p->n_values + 1)),
               .in_use = calloc((size_t)code->n + 1, sizeof(int64_t))};
    TT_ASSERT(l.first && l.last && l.in_use);
    memset(l.first, 0xff, sizeof(int) * (size_t)(p->n_values + 1));
    for (int j = 0; j < code->n; j++) {
        const tt_instr *i = &code->at[j];
        for (int k = 0; k < i->n_in + i->n_out; k++)
            touch(p, &l, i->in[k], j);
        if (i->workspace >= 0)
            touch(p, &l, i->workspace, j);
    }
    for (int v = 0; v < p->n_values; v++)
        if (l.first[v] >= 0) {
            l.in_use[l.first[v]] += (int64_t)p->value[v].bytes;
            l.in_use[l.last[v] + 1] -= (int64_t)p->value[v].bytes;
        }
    for (int j = 1; j < code->n; j++)
        l.in_use[j] += l.in_use[j - 1];
    return l;
}

static void put_value(FILE *out, const tt_program *p, tt_vid v)
{
    const tt_value *x = &p->value[v];
    char type[256];
    fprintf(out, "{\"id\": %d, \"name\": ", v);
    tt_json_string(out, x->name ? x->name : "");
    fputs(", \"type\": ", out);
    tt_json_string(out, tt_value_type_text(p, v, type, sizeof type));
    fprintf(out, ", \"use\": \"%s\", \"offset\": %zu, \"bytes\": %zu", tt_use_name(tt_value_use(p, v)), x->offset, x->bytes);
}

static void put_lasting(FILE *out, const tt_program *p)
{
    const char *before = "\n";
    fputs("\"values\": [", out);
    for (int v = 0; v < p->n_values; v++) {
        const tt_value *x = &p->value[v];
        if (x->root >= 0 || x->scope == TT_SCOPE_NONE || x->scope == TT_SCOPE_SCRATCH)
            continue;
        fputs(before, out);
        put_value(out, p, v);
        fprintf(out, ", \"scope\": \"%s\"}", scope_name[x->scope]);
        before = ",\n";
    }
    fputs("],\n", out);
}

static void put_part(FILE *out, const tt_program *p, const tt_part *part)
{
    const char *before = "\n";
    char layer[32];
    lives l = find_lives(p, &part->code);
    fprintf(out, "{\"name\": \"%s\", \"scratch_bytes\": %zu, \"floor_bytes\": %zu,\n\"instructions\": [", part->name,
            part->scratch_bytes, part->scratch_floor);
    for (int j = 0; j < part->code.n; j++) {
        const tt_instr *i = &part->code.at[j];
        fprintf(out, "%s{\"op\": \"%s\", \"layer\": \"%s\", \"role\": \"%c\", \"queue\": \"%s\", \"in_use_bytes\": %lld}", j ? ",\n" : "\n",
                tt_op_info(i->op)->name, tt_trace_layer(p, i->block, layer, sizeof layer), tt_role_letter(i->role),
                tt_queue_name(i->queue), (long long)l.in_use[j]);
    }
    fputs("],\n\"values\": [", out);
    for (int v = 0; v < p->n_values; v++)
        if (l.first[v] >= 0) {
            fputs(before, out);
            put_value(out, p, v);
            fprintf(out, ", \"first\": %d, \"last\": %d}", l.first[v], l.last[v]);
            before = ",\n";
        }
    fputs("]}", out);
    free(l.first);
    free(l.last);
    free(l.in_use);
}

static void put_all(FILE *out, const tt_program *p, int64_t peak_bytes)
{
    const tt_memory_cost cost = tt_cost_memory(p);
    const char *before = "";
    fprintf(out, "{\"rank\": %d, \"reserved_bytes\": %zu, \"measured_peak_bytes\": %lld, \"frames\": %d,\n\"scopes\": {", p->mesh.rank,
            tt_program_arena_bytes(p), (long long)peak_bytes, p->n_frames);
    for (int s = TT_SCOPE_STATE; s < TT_N_SCOPES; s++)
        fprintf(out, "%s\"%s\": %zu", s > TT_SCOPE_STATE ? ", " : "", scope_name[s], p->scope_bytes[s]);
    fputs("},\n\"uses\": {", out);
    for (int u = 0; u < TT_N_USES; u++)
        fprintf(out, "%s\"%s\": %lld", u ? ", " : "", tt_use_name((tt_use)u), (long long)cost.bytes[u]);
    fputs("},\n", out);
    put_lasting(out, p);
    fputs("\"parts\": [", out);
    for (int k = 0; k < TT_N_PARTS; k++)
        if (p->part[k].code.n) {
            fputs(before, out);
            put_part(out, p, &p->part[k]);
            before = ",\n";
        }
    fputs("]}\n", out);
}

tt_status tt_memory_map_write(const tt_program *p, int64_t peak_bytes, const char *path, tt_error *err)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return tt_fail(err, TT_ERR_NOMEM, "writing %s: out of memory", path);
    put_all(out, p, peak_bytes);
    tt_status st = fclose(out) ? tt_fail(err, TT_ERR_NOMEM, "writing %s: out of memory", path)
                               : tt_fs_write(path, text, size, err);
    free(text);
    return st;
}
