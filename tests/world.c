/* The launcher decision as a table of environments, and the world of one rank. */
#include "tap.h"
#include "world/world_priv.h"

#include <stdlib.h>
#include <string.h>

/* "A=1 B=2" as an environment. */
static const char *from_text(void *ctx, const char *name)
{
    static char value[64];
    size_t n = strlen(name);
    for (const char *at = ctx; (at = strstr(at, name)) != NULL; at += n)
        if (at[n] == '=' && (at == (char *)ctx || at[-1] == ' ')) {
            size_t len = strcspn(at + n + 1, " ");
            memcpy(value, at + n + 1, len);
            value[len] = '\0';
            return value;
        }
    return NULL;
}

static void test_refused(const char *env, const char *want)
{
    tt_error err = {0};
    tt_launch launch = TT_LAUNCH_SINGLE;
    is_int(tt_launch_decide(from_text, (void *)env, &launch, &err), TT_ERR_LAUNCH, "refused: %s", env);
    is_str(err.text, want, "and says why");
}

static void test_accepted(const char *env, tt_launch want)
{
    tt_launch launch = (tt_launch)7;
    tt_error err = {0};
    is_int(tt_launch_decide(from_text, (void *)env, &launch, &err), TT_OK, "accepted: '%s'", env);
    is_int(launch, want, "as %s", want == TT_LAUNCH_MPI ? "mpi" : "single");
}

#define BARE(job, n) "started bare in job " job ", which has " n " tasks: this one process would train alone;" \
    " start it with `srun --mpi=pmix titan-train …` (or `srun --mpi=pmix -n 1 …` for one rank)"

static void test_launchers(void)
{
    test_refused("SLURM_JOB_ID=12 SLURM_NTASKS=4 SLURM_PROCID=0", BARE("12", "4"));
    test_refused("SLURM_JOB_ID=12 SLURM_NTASKS_PER_NODE=2 SLURM_JOB_NUM_NODES=2", BARE("12", "4"));
    test_refused("SLURM_JOB_ID=12 SLURM_TASKS_PER_NODE=2(x2),1", BARE("12", "5"));
    test_refused("SLURM_JOB_ID=12 SLURM_STEP_ID=3 SLURM_STEP_NUM_TASKS=8",
                 "cannot join the 8 tasks of step 3: srun started them without PMIx (PMIX_NAMESPACE is not set);"
                 " add --mpi=pmix to the srun line (`srun --mpi=list` shows what this cluster has)");
    test_refused("PMI_SIZE=4 PMI_RANK=1",
                 "cannot join 4 ranks: the launcher speaks PMI (PMI_SIZE=4), not PMIx; use Open MPI's"
                 " `mpirun -n 4 titan-train …` or `srun --mpi=pmix`");
    test_accepted("", TT_LAUNCH_SINGLE);
    test_accepted("SLURM_JOB_ID=12 SLURM_NTASKS=1", TT_LAUNCH_SINGLE);
    test_accepted("SLURM_JOB_ID=12 SLURM_TASKS_PER_NODE=1", TT_LAUNCH_SINGLE);
    test_accepted("SLURM_JOB_ID=12 SLURM_STEP_ID=0 SLURM_STEP_NUM_TASKS=1 SLURM_NTASKS=1", TT_LAUNCH_SINGLE);
    test_accepted("PMIX_NAMESPACE=slurm.pmix.12.0 PMIX_RANK=3 SLURM_JOB_ID=12 SLURM_NTASKS=4", TT_LAUNCH_MPI);
    test_accepted("OMPI_COMM_WORLD_SIZE=4 OMPI_COMM_WORLD_RANK=1", TT_LAUNCH_MPI);
    test_accepted("PMIX_RANK=3", TT_LAUNCH_SINGLE);
    is_int(tt_launch_rank(from_text, "SLURM_STEP_ID=0 SLURM_PROCID=3"), 3, "rank from srun");
    is_int(tt_launch_rank(from_text, "SLURM_PROCID=3"), 0, "the batch shell's own variables are no rank");
    is_int(tt_launch_local_size(from_text, "SLURM_STEP_ID=0 SLURM_STEP_TASKS_PER_NODE=4(x3),2"), 4, "ranks on a node, srun");
    is_int(tt_launch_local_size(from_text, "OMPI_COMM_WORLD_LOCAL_SIZE=6"), 6, "ranks on a node, mpirun");
    is_int(tt_launch_local_size(from_text, "SLURM_STEP_ID=0 SLURM_STEP_TASKS_PER_NODE=junk"), 0, "unreadable is unknown");
}

static void test_single(void)
{
    tt_world w = {0};
    tt_error err = {0};
    tt_boot_single(&w);
    is_int(tt_world_size(&w), 1, "one rank");
    is_str(tt_world_launcher(&w), "single", "alone");
    ok(tt_world_mpi_comm(&w) == NULL, "without MPI");
    int64_t x[2] = {3, -4};
    tt_world_sum_i64(&w, x, 2);
    tt_world_max_i64(&w, x, 2);
    ok(x[0] == 3 && x[1] == -4, "sums of one rank are its own");
    void *all = NULL;
    size_t offsets[2] = {9, 9};
    is_int(tt_world_gather(&w, "abc", 3, &all, offsets, &err), TT_OK, "gather alone");
    ok(all && memcmp(all, "abc", 3) == 0 && offsets[0] == 0 && offsets[1] == 3, "gives its own bytes");
    free(all);
    is_int(tt_world_agree(&w, TT_OK, &err), TT_OK, "no error, no error");
    tt_fail(&err, TT_ERR_IO, "disk full");
    is_int(tt_world_agree(&w, TT_ERR_IO, &err), TT_ERR_IO, "own error");
    is_str(err.text, "disk full", "without a rank in front");
    tt_world *none = NULL;
    is_int(tt_world_close(&none, TT_OK, NULL), TT_OK, "closing no world without an error is silent");
}

int main(void)
{
    test_launchers();
    test_single();
    return done_testing();
}
