/* titan-plan: show the program that a rank of a job would run, without the job. */
#include "base/args.h"
#include "base/clock.h"
#include "base/config.h"
#include "base/log.h"
#include "device/device.h"
#include "graph/print.h"
#include "graph/verify.h"
#include "plan/report.h"
#include "run/job.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

enum { OPT_WORLD, OPT_RANK, OPT_PER_NODE, OPT_PRINT, OPT_LIMIT, OPT_UNFOLDED, OPT_OFFSETS, OPT_VERIFY, N_OPTIONS };

static const tt_option known[N_OPTIONS] = {
    [OPT_WORLD] = {"world", "N", "ranks of the job (default 1)", NULL},
    [OPT_RANK] = {"rank", "R", "the rank to look at, from 0 (default 0)", NULL},
    [OPT_PER_NODE] = {"ranks-per-node", "K", "ranks on one node; tensor parallel groups must stay inside (default: not checked)",
                      NULL},
    [OPT_PRINT] = {"print", "WHAT", "summary (default), program, saved, memory, comm or all", NULL},
    [OPT_LIMIT] = {"limit", "GIB", "memory of one rank: exit 70, and say what to change, when the plan needs more", NULL},
    [OPT_UNFOLDED] = {"unfolded", NULL, "program and saved: show every layer, also those that are alike", NULL},
    [OPT_OFFSETS] = {"offsets", NULL, "program: also where each value lies; implies --unfolded", NULL},
    [OPT_VERIFY] = {"verify", NULL, "check the program's waits and shared space as the tests do (slow for large models)", NULL},
};

enum { SUMMARY = 1, PROGRAM = 2, SAVED = 4, MEMORY = 8, COMM = 16 };

typedef struct request {
    int64_t world, rank, per_node;
    int what;
    int64_t limit; /* bytes, 0 = none */
    int unfolded, offsets, verify;
} request;

static tt_status read_what(const tt_option *o, int *what, tt_error *err)
{
    static const struct {
        const char *name;
        int what;
    } names[] = {{"summary", SUMMARY}, {"program", PROGRAM}, {"saved", SAVED}, {"memory", MEMORY}, {"comm", COMM},
                 {"all", SUMMARY | PROGRAM | MEMORY | COMM}};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(o->value, names[i].name) == 0) {
            *what = names[i].what;
            return TT_OK;
        }
    return tt_fail(err, TT_ERR_USAGE, "--print=%s: nothing of that name is printed; use summary, program, saved, memory, "
                   "comm or all", o->value);
}

static tt_status read_request(const tt_option *o, request *r, tt_error *err)
{
    tt_status st = TT_OK;
    double gib = 0;
    *r = (request){.world = 1, .what = SUMMARY};
    if (o[OPT_WORLD].value)
        TT_TRY(tt_args_int(&o[OPT_WORLD], 1, 1 << 24, &r->world, err));
    if (o[OPT_RANK].value)
        TT_TRY(tt_args_int(&o[OPT_RANK], 0, r->world - 1, &r->rank, err));
    if (o[OPT_PER_NODE].value)
        TT_TRY(tt_args_int(&o[OPT_PER_NODE], 1, 1 << 16, &r->per_node, err));
    if (o[OPT_PRINT].value)
        TT_TRY(read_what(&o[OPT_PRINT], &r->what, err));
    if (o[OPT_LIMIT].value)
        TT_TRY(tt_args_float(&o[OPT_LIMIT], 1e-6, 1e9, &gib, err));
    r->limit = (int64_t)(gib * (1 << 30));
    r->unfolded = o[OPT_UNFOLDED].value != NULL;
    r->offsets = o[OPT_OFFSETS].value != NULL;
    r->verify = o[OPT_VERIFY].value != NULL;
out:
    return st;
}

static const char usage[] =
    "usage: titan-plan CONFIG [--world=N] [--rank=R] [--print=WHAT] [--section.key=value ...]\n"
    "       titan-plan --help | --version | --print-config CONFIG\n\n"
    "CONFIG is a file, or the name of an installed config such as llama3_405b.\n\n";

/* Options come before the keys in --help; the rest is answered as everywhere. */
static int answered(const tt_config *cfg, const tt_option *options)
{
    if (cfg->request == TT_HELP) {
        fputs(usage, stdout);
        puts("Options:");
        tt_args_help(options, N_OPTIONS, stdout);
    }
    return tt_config_answer(cfg, "titan-plan", "\nKeys:\n", stdout);
}

static void say(void *ctx, const char *text)
{
    (void)ctx;
    tt_log_root(WARN, "%s; planned without it", text);
}

/* --- the summary ----------------------------------------------------------------------------------------------------- */

static void print_mesh(const tt_mesh *m)
{
    printf("mesh        %-14s %8s %6s\n", "axis", "degree", "here");
    for (int a = 0; a < TT_N_AXES; a++)
        printf("            %-14s %8d %6d\n", tt_axis_name(a), m->degree[a], m->coord[a]);
}

static void print_summary(const tt_program *p, const tt_model *model, double seconds)
{
    const int64_t dp = tt_mesh_group_size(&p->mesh, TT_MASK_BATCH);
    const int64_t sequences = dp * p->train.batch * p->n_microbatches, tokens = sequences * p->train.seq_len;
    const tt_memory_cost m = tt_cost_memory(p);
    const tt_cost c = tt_cost_step(p);
    int instructions = 0;
    for (int part = 0; part < TT_N_PARTS; part++)
        instructions += p->part[part].code.n;
    printf("rank        %d of %d\n", p->mesh.rank, p->mesh.size);
    print_mesh(&p->mesh);
    printf("model       %s, %" PRId64 " parameters in %d layers\n", model->family->name, model->n_params,
           model->dims.n_layers);
    printf("batch       %d x %d sequences of %" PRId64 " tokens a rank; %" PRId64 " sequences, %" PRId64
           " tokens a step\n",
           p->n_microbatches, p->train.batch, p->train.seq_len, sequences, tokens);
    printf("memory      %.2f GiB a rank: state %.2f, step %.2f, frames %.2f, scratch %.2f (packing %.3f)\n",
           (double)m.total / (1 << 30), (double)p->scope_bytes[TT_SCOPE_STATE] / (1 << 30),
           (double)p->scope_bytes[TT_SCOPE_STEP] / (1 << 30),
           (double)p->scope_bytes[TT_SCOPE_FRAME] * p->n_frames / (1 << 30),
           (double)p->scope_bytes[TT_SCOPE_SCRATCH] / (1 << 30), m.packing);
    printf("sent        %" PRId64 " bytes a rank and step in %" PRId64 " communications\n", c.payload_bytes, c.messages);
    printf("work        %" PRId64 " FLOPs a token by the formula; %.4g FLOPs a rank and step with what is recomputed\n",
           tt_cost_flops_per_token(model, p->train.seq_len), c.flops);
    printf("fused      ");
    for (int f = 0; f < TT_N_FUSIONS; f++)
        if (p->fusions_off & 1u << f)
            printf("%s %s off", f ? "," : "", tt_fusion_name(f));
        else
            printf("%s %s %d", f ? "," : "", tt_fusion_name(f), tt_fusion_count(p, f));
    printf("\n");
    printf("program     %d instructions, hash %016" PRIx64 ", built in %.3f s\n", instructions, tt_program_hash(p),
           seconds);
}

static tt_status print_all(const tt_program *p, const tt_model *model, const request *r, double seconds, tt_error *err)
{
    int fits = 1, printed = 0;
    if (r->what & SUMMARY && ++printed)
        print_summary(p, model, seconds);
    if (r->what & MEMORY || r->limit) {
        fputs(printed++ ? "\n" : "", stdout);
        fits = tt_program_print_memory(p, stdout, r->limit);
    }
    if (r->what & COMM) {
        fputs(printed++ ? "\n" : "", stdout);
        tt_program_print_comm(p, stdout);
    }
    if (r->what & SAVED)
        tt_program_print_saved(p, stdout, r->unfolded);
    if (r->what & PROGRAM) {
        fputs(printed++ ? "\n" : "", stdout);
        tt_program_print(p, stdout, &(tt_print_opts){.unfolded = r->unfolded, .offsets = r->offsets});
    }
    if (fflush(stdout) || ferror(stdout))
        return tt_fail(
            err, TT_ERR_IO,
            "cannot write the plan to the standard output: %s; free space or choose another place",
            strerror(errno));
    if (!fits)
        return tt_fail(err, TT_ERR_NOMEM, "the plan needs %.2f GiB on rank %d but --limit allows %.2f; the report says what to "
                       "change", (double)tt_program_arena_bytes(p) / (1 << 30), p->mesh.rank,
                       (double)r->limit / (1 << 30));
    return TT_OK;
}

int main(int argc, char **argv)
{
    tt_status st;
    tt_error err = {0};
    tt_option options[N_OPTIONS];
    tt_config *cfg = NULL;
    tt_model *model = NULL;
    tt_program *program = NULL;
    tt_mesh mesh;
    tt_compile_opts opts;
    request r;

    memcpy(options, known, sizeof options);
    TT_TRY(tt_args_take(&argc, argv, options, N_OPTIONS, &err));
    TT_TRY(tt_config_from_args(argc, argv, &cfg, &err));
    if (answered(cfg, options))
        goto out;
    TT_TRY(read_request(options, &r, &err));
    tt_config_each_renamed(cfg, say, NULL);
    tt_config_each_unbuilt(cfg, say, NULL);
    TT_TRY(tt_job_model(cfg, &model, &err));
    TT_TRY(tt_job_mesh(cfg, (int)r.world, (int)r.rank, (int)r.per_node, &mesh, &err));
    TT_TRY(tt_job_compile_opts(cfg, model, &mesh, &opts, &err));
    opts.device = tt_device_cpu_profile(tt_job_threads(cfg, r.per_node ? (int)r.per_node : 1));
    double start = tt_clock_s();
    TT_TRY(tt_compile(model, &mesh, &opts, &program, &err));
    double seconds = tt_clock_s() - start;
    if (r.verify)
        TT_TRY(tt_verify(program, &err));
    TT_TRY(print_all(program, model, &r, seconds, &err));
out:
    if (st != TT_OK)
        fprintf(stderr, "titan-plan: %s\n", err.text);
    tt_program_destroy(&program);
    tt_model_destroy(&model);
    tt_config_destroy(&cfg);
    return tt_exit_code(st);
}
