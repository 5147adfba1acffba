/* The passes by what they must give: errors by their exact text, counts of communications, smaller frames under
 * recomputation, published parameter counts and FLOPs; and a verifier that misses no broken program. */
#include "graph/verify.h"
#include "plan/cost.h"
#include "plan_util.h"
#include "run/job.h"
#include "tap.h"

#include <string.h>

static const tt_recompute_opts none = {TT_AC_NONE, 1}, op = {TT_AC_SELECTIVE_OP, 1},
                               layer = {TT_AC_SELECTIVE_LAYER, 2}, full = {TT_AC_FULL, 1};

/* --- errors ---------------------------------------------------------------------------------------------------------- */

static void test_errors(void)
{
    static const struct {
        int heads, kv, tp, batch;
        int64_t seq_len;
        const char *text;
    } rows[] = {
        {6, 6, 4, 1, 8,
         "model.n_heads=6 is not divisible by parallelism.tensor_parallel_degree=4; use a degree "
         "of 1, 2, 3, 6"},
        {8, 2, 4, 1, 8,
         "model.n_kv_heads=2 is not divisible by parallelism.tensor_parallel_degree=4: every tp "
         "rank needs "
         "whole kv heads; use a degree of 1, 2"},
        {4, 4, 4, 1, 9,
         "a training microbatch of 1 x 9 = 9 tokens cannot be shared evenly by 4 tp ranks; change "
         "training.seq_len or training.local_batch_size, or set "
         "parallelism.enable_sequence_parallel = false"},
        {4, 4, 1, 1, 0,
         "training.seq_len=0, local batch 1, accumulation steps 1: each must be at least 1; change "
         "them"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const tt_model_dims d = {.dim = 48, .n_layers = 1, .n_heads = rows[i].heads, .n_kv_heads = rows[i].kv,
                                 .head_dim = 4, .ffn_dim = 24, .vocab_size = 32};
        const int degree[TT_N_AXES] = {1, 1, 1, 1, rows[i].tp};
        tt_compile_opts o = plan_options(&(plan_case){.batch = rows[i].batch});
        tt_error err = {0};
        tt_model *model = NULL;
        tt_program *p = NULL;
        tt_mesh mesh;
        o.seq_len = rows[i].seq_len;
        tt_mesh_create(degree, rows[i].tp, 0, &mesh, &err);
        ok(tt_model_create("llama3", &d, &model, &err) == TT_OK, "model %zu", i);
        ok(tt_compile(model, &mesh, &o, &p, &err) != TT_OK && !p, "row %zu is refused", i);
        is_str(err.text, rows[i].text, "row %zu says why", i);
        tt_model_destroy(&model);
    }
}

/* What only the configuration knows: nodes and the global batch. */
static void test_job_errors(void)
{
    tt_config *cfg = NULL;
    tt_error err = {0};
    tt_mesh mesh;
    tt_model *model = NULL;
    tt_compile_opts o;
    if (!ok(tt_config_create(&cfg, &err) == TT_OK, "defaults"))
        return;
    cfg->parallelism.tensor_parallel_degree = 8;
    ok(tt_job_mesh(cfg, 16, 0, 4, &mesh, &err) == TT_ERR_MESH, "tp over two nodes is refused");
    is_str(err.text, "parallelism.tensor_parallel_degree=8 does not divide the 4 ranks of a node, so tensor parallel groups "
                     "would span nodes and every layer would wait for the network; use a degree that divides 4", "and says why");
    ok(tt_job_mesh(cfg, 16, 0, 8, &mesh, &err) == TT_OK, "tp inside a node is taken");
    cfg->training.local_batch_size = 2;
    cfg->training.global_batch_size = 10;
    ok(tt_job_model(cfg, &model, &err) == TT_OK, "model %s", err.text);
    ok(tt_job_compile_opts(cfg, model, &mesh, &o, &err) == TT_ERR_CONFIG, "a global batch that does not divide is refused");
    is_str(err.text, "training.global_batch_size=10 (default) is not a multiple of local_batch_size 2 x 2 data-parallel ranks "
                     "= 4; use a multiple, or another local_batch_size", "and says why");
    tt_model_destroy(&model);
    tt_config_destroy(&cfg);
}

/* --- published numbers ----------------------------------------------------------------------------------------------- */

static void test_flavors(void)
{
    static const struct {
        const char *name;
        int64_t params, embedding, flops_2048, flops_8192;
    } rows[] = {
        {"debugmodel", 6163712, 524288, 71585280, 184831488},
        {"1B", 1235814400, 262668288, 8220192768, 10636111872},
        {"3B", 3212749824, 394002432, 21390428160, 27732215808},
        {"8B", 8030261248, 525336576, 48250773504, 57914449920},
        {"70B", 70553706496, 1050673152, 433124327424, 481442709504},
        {"405B", 405853388800, 2101346304, 2473246556160, 2625449459712},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        tt_model_dims d;
        tt_model *model = NULL;
        tt_error err = {0};
        ok(tt_family_llama3.flavor(rows[i].name, &d, &err) == TT_OK &&
               tt_model_create("llama3", &d, &model, &err) == TT_OK, "%s %s", rows[i].name, err.text);
        is_int(model->n_params, rows[i].params, "%s: parameters", rows[i].name);
        is_int(model->n_embedding_params, rows[i].embedding, "%s: embedding", rows[i].name);
        is_int(tt_cost_flops_per_token(model, 2048), rows[i].flops_2048, "%s: FLOPs a token at 2048", rows[i].name);
        is_int(tt_cost_flops_per_token(model, 8192), rows[i].flops_8192, "%s: FLOPs a token at 8192", rows[i].name);
        tt_model_destroy(&model);
    }
}

/* --- placements ------------------------------------------------------------------------------------------------------ */

/* Communications that one more layer adds to a part over tp. */
static int per_layer(const plan_case *c, tt_part_id part, int what)
{
    plan_case more = *c;
    more.layers = 4;
    tt_program *a = plan_program(c), *b = plan_program(&more);
    int n = plan_count(b, part, what, TT_Q_TP) - plan_count(a, part, what, TT_Q_TP);
    tt_program_destroy(&a);
    tt_program_destroy(&b);
    return n;
}

static int partial_gradients(const plan_case *c)
{
    tt_program *p = plan_program(c);
    int n = 0;
    for (int w = 0; w < p->n_params; w++)
        n += p->param[w].grad_partial_tp;
    tt_program_destroy(&p);
    return n;
}

static void test_placements(void)
{
    const plan_case sp = {.tp = 2, .layers = 3}, no_sp = {.tp = 2, .layers = 3, .no_sp = 1};
    is_int(per_layer(&sp, TT_PART_FORWARD, TT_OP_all_gather), 2, "sp: two gathers a layer forward");
    is_int(per_layer(&sp, TT_PART_FORWARD, TT_OP_reduce_scatter), 2, "sp: two scatters a layer forward");
    is_int(per_layer(&sp, TT_PART_FORWARD, TT_OP_all_reduce), 0, "sp: no all_reduce forward");
    is_int(per_layer(&no_sp, TT_PART_FORWARD, TT_OP_all_reduce), 2, "no sp: two all_reduces a layer forward");
    is_int(per_layer(&no_sp, TT_PART_FORWARD, TT_OP_all_gather), 0, "no sp: no gather forward");
    is_int(per_layer(&no_sp, TT_PART_FORWARD, TT_OP_reduce_scatter), 0, "no sp: no scatter forward");
    is_int(partial_gradients(&sp), 2 * 3 + 1, "sp: gradients of all norm weights are summed over tp");
    is_int(partial_gradients(&no_sp), 0, "no sp: every gradient is whole");
    is_int(partial_gradients(&(plan_case){.tp = 1, .shard = 2}), 0, "no tp: nothing to sum over it");
}

/* --- recomputation --------------------------------------------------------------------------------------------------- */

static size_t saved_bytes(tt_recompute_opts ac, int *clones)
{
    tt_program *p = plan_program(&(plan_case){.layers = 4, .recompute = ac});
    tt_memory_cost m = tt_cost_memory(p);
    *clones = 0;
    for (int b = 0; b < p->part[TT_PART_BACKWARD].code.n; b++) {
        const tt_instr *i = &p->part[TT_PART_BACKWARD].code.at[b];
        const char *name = i->n_out ? p->value[i->out[0]].name : "";
        *clones += strchr(name, '\'') != NULL;
    }
    tt_program_destroy(&p);
    return (size_t)m.bytes[TT_USE_SAVED];
}

static void test_recompute(void)
{
    int clones[4];
    const size_t all = saved_bytes(none, &clones[0]), some = saved_bytes(op, &clones[1]);
    const size_t half = saved_bytes(layer, &clones[2]), least = saved_bytes(full, &clones[3]);
    ok(least < half && half < all, "full %zu < every second layer %zu < none %zu bytes", least, half, all);
    ok(least < some && some < all, "full %zu < selective op %zu < none %zu bytes", least, some, all);
    is_int(clones[0], 0, "none: nothing is made again");
    ok(clones[3] > 0 && clones[3] % 4 == 0, "full: %d clones, the same in each of four layers", clones[3]);
    is_int(2 * clones[2], clones[3], "every second layer: half as many clones");
    ok(clones[1] > 0 && clones[1] < clones[3], "selective op: %d clones, fewer than full", clones[1]);
}

/* --- gathers --------------------------------------------------------------------------------------------------------- */

static void test_reshard(void)
{
    static const struct {
        tt_reshard reshard;
        int begin, forward, backward;
        const char *name;
    } rows[] = {{TT_RESHARD_NEVER, 5, 0, 0, "never"}, {TT_RESHARD_DEFAULT, 0, 4, 4, "default"},
                {TT_RESHARD_ALWAYS, 0, 4, 4, "always"}};
    for (int i = 0; i < 3; i++) { /* 3 layers: 5 blocks; the head's is in the backward, the embedding's in the forward */
        tt_program *p = plan_program(&(plan_case){.shard = 2, .reshard = rows[i].reshard});
        is_int(plan_count(p, TT_PART_BEGIN, TT_OP_all_gather, TT_Q_GATHER), rows[i].begin, "%s: begin", rows[i].name);
        is_int(plan_count(p, TT_PART_FORWARD, TT_OP_all_gather, TT_Q_GATHER), rows[i].forward, "%s: forward", rows[i].name);
        is_int(plan_count(p, TT_PART_BACKWARD, TT_OP_all_gather, TT_Q_GATHER), rows[i].backward, "%s: backward",
               rows[i].name);
        is_int(plan_count(p, TT_PART_BACKWARD, TT_OP_reduce_scatter, TT_Q_REDUCE), 5, "%s: one reduction a block",
               rows[i].name);
        tt_program_destroy(&p);
    }
}

/* --- the verifier ---------------------------------------------------------------------------------------------------- */

/* Is the wait (the order pass orders what it must) needed by an operand: do the two touch one value, one of them writing? */
static int writes(const tt_program *p, const tt_instr *i, tt_vid root)
{
    for (int k = 0; k < i->n_out; k++)
        if (tt_value_root(p, i->out[k]) == root)
            return 1;
    return 0;
}

static int is_hazard(const tt_program *p, const tt_instr *a, const tt_instr *b)
{
    for (int k = 0; k < b->n_in + b->n_out; k++) {
        const tt_vid root = tt_value_root(p, b->in[k]);
        for (int m = 0; m < a->n_in + a->n_out; m++)
            if (tt_value_root(p, a->in[m]) == root && (writes(p, a, root) || writes(p, b, root)))
                return 1;
    }
    return 0;
}

/* Waits that only keep compute or prefetch at a distance are no hazard; the memory pass may still rely on them. */
static void drop_waits(tt_program *p, int *dropped, int *missed)
{
    for (int part = 0; part < TT_N_PARTS; part++)
        for (int j = 0; j < p->part[part].code.n; j++) {
            tt_instr *i = &p->part[part].code.at[j];
            for (int w = 0; w < i->n_wait; w++) {
                if (!is_hazard(p, &p->part[part].code.at[i->wait[w]], i))
                    continue;
                const int last = i->wait[i->n_wait - 1], kept = i->wait[w];
                i->wait[w] = last;
                i->n_wait--;
                ++*dropped;
                if (tt_verify(p, NULL) == TT_OK) {
                    ++*missed;
                    diag("missed: part %s, %s %d without its wait for %s %d", p->part[part].name,
                         tt_op_info(i->op)->name, j, tt_op_info(p->part[part].code.at[kept].op)->name, kept);
                }
                i->n_wait++;
                i->wait[i->n_wait - 1] = last;
                i->wait[w] = kept;
            }
        }
}

/* Every scratch value that an instruction writes is laid onto one that the same instruction reads. */
static void overlap(tt_program *p, int *moved, int *missed)
{
    for (int j = 0; j < p->part[TT_PART_BACKWARD].code.n; j++) {
        const tt_instr *i = &p->part[TT_PART_BACKWARD].code.at[j];
        for (int a = 0; a < i->n_in && i->n_out; a++) {
            tt_vid x = tt_value_root(p, i->in[a]), y = tt_value_root(p, i->out[0]);
            if (x == y || p->value[x].scope != TT_SCOPE_SCRATCH || p->value[y].scope != TT_SCOPE_SCRATCH)
                continue;
            const size_t at = p->value[y].offset;
            p->value[y].offset = p->value[x].offset;
            ++*moved;
            *missed += tt_verify(p, NULL) == TT_OK;
            p->value[y].offset = at;
        }
    }
}

static void test_verifier(void)
{
    const plan_case cases[] = {{.layers = 2},
                               {.layers = 2, .shard = 2, .tp = 2, .rank = 1},
                               {.layers = 2, .shard = 2, .tp = 2, .no_sp = 1, .recompute = full},
                               {.layers = 2, .replicate = 2, .shard = 2, .compute = TT_BF16, .recompute = op},
                               {.layers = 3, .shard = 4, .reshard = TT_RESHARD_NEVER, .recompute = layer}};
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        tt_program *p = plan_program(&cases[c]);
        tt_error err = {0};
        int dropped = 0, missed = 0, moved = 0, missed_moves = 0;
        ok(tt_verify(p, &err) == TT_OK, "case %zu is sound %s", c, err.text);
        drop_waits(p, &dropped, &missed);
        ok(dropped > 0 && missed == 0, "case %zu: %d waits dropped one by one, %d missed", c, dropped, missed);
        overlap(p, &moved, &missed_moves);
        ok(moved > 0 && missed_moves == 0, "case %zu: %d outputs laid onto inputs, %d missed", c, moved, missed_moves);
        tt_instr *i = &p->part[TT_PART_FORWARD].code.at[3];
        const tt_vid in = i->in[0];
        i->in[0] = p->n_values;
        ok(tt_verify(p, &err) == TT_ERR_INTERNAL, "case %zu: an operand that does not exist", c);
        i->in[0] = in;
        ok(tt_verify(p, &err) == TT_OK, "case %zu is sound again %s", c, err.text);
        tt_program_destroy(&p);
    }
}

/* Each operand of each instruction of a placed list exchanged with another value: most exchanges cannot fit, and those that
 * the op's demands forbid are refused; an exchange of like values changes no shape and is counted apart. */
static void test_operands(void)
{
    tt_error err = {0};
    tt_program *p = plan_program(&(plan_case){.shard = 2, .tp = 2, .batch = 3});
    tt_instr_list *code = &p->part[TT_PART_BACKWARD].code;
    int tried = 0, refused = 0, alike = 0;
    ok(tt_verify_list(p, code, "compile", &err) == TT_OK, "the backward's operands fit: %s", err.text);
    for (int j = 0; j < code->n; j++)
        for (int k = 0; k + 1 < code->at[j].n_in; k++) {
            tt_vid *in = code->at[j].in, a = in[k], b = in[k + 1];
            const tt_value *x = &p->value[a], *y = &p->value[b];
            if (tt_op_is_comm(code->at[j].op) || code->at[j].op == TT_OP_head_loss)
                continue;
            tried++;
            in[k] = b;
            in[k + 1] = a;
            if (x->dtype == y->dtype && x->ndim == y->ndim && !memcmp(x->local, y->local, sizeof x->local))
                alike++;
            else if (tt_verify_list(p, code, "exchange", &err) != TT_OK)
                refused++;
            else
                diag("instruction %d (%s): operands %d and %d", j, tt_op_info(code->at[j].op)->name, k, k + 1);
            in[k] = a;
            in[k + 1] = b;
        }
    ok(tried > 100 && refused + alike == tried && refused > alike,
       "%d exchanged operands: %d refused, %d alike", tried, refused, alike);
    tt_program_destroy(&p);
}

int main(void)
{
    test_errors();
    test_job_errors();
    test_flavors();
    test_placements();
    test_recompute();
    test_reshard();
    test_verifier();
    test_operands();
    return done_testing();
}
