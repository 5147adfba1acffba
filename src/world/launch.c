/* Which launcher started us? Looked up in the environment before any library is called: a failed start of one library
 * can make the next one hang, and a lone rank that believes it has peers waits for them for ever. */
#include "world/world_priv.h"

#include <limits.h>
#include <stdlib.h>

/* "8(x2)" is 8; nothing and nonsense are 0. */
static int number(const char *text)
{
    long n = text ? strtol(text, NULL, 10) : 0;
    return n > 0 && n < INT_MAX ? (int)n : 0;
}

static int times(int a, int b)
{
    long n = (long)a * b;
    return n < INT_MAX ? (int)n : INT_MAX;
}

tt_status tt_launch_detect(const char *(*get)(const char *name), tt_launch *launch, tt_error *err)
{
    *launch = (tt_launch){.how = "no launcher"};
    if (get("OMPI_COMM_WORLD_SIZE")) {
        *launch = (tt_launch){.mpi = 1,
                              .expected = number(get("OMPI_COMM_WORLD_SIZE")),
                              .local_ranks = number(get("OMPI_COMM_WORLD_LOCAL_SIZE")),
                              .how = "mpirun"};
        return TT_OK;
    }
    int step_tasks = number(get("SLURM_STEP_NUM_TASKS"));
    if (get("PMIX_NAMESPACE") && get("PMIX_RANK")) {
        *launch = (tt_launch){.mpi = 1,
                              .expected = step_tasks,
                              .local_ranks = number(get("SLURM_STEP_TASKS_PER_NODE")),
                              .how = get("SLURM_STEP_ID") ? "srun" : "pmix"};
        return TT_OK;
    }
    if (get("SLURM_STEP_ID")) {
        if (step_tasks > 1)
            return tt_fail(err, TT_ERR_LAUNCH,
                           "joining the job: srun started %d tasks without PMIx (PMIX_NAMESPACE is not set), so each "
                           "would train alone; add --mpi=pmix to srun ('srun --mpi=list' shows what it offers)",
                           step_tasks);
        launch->how = "srun, one task";
        return TT_OK;
    }
    int tasks = number(get("SLURM_NTASKS"));
    if (tasks == 0) /* not set in a batch script that asked by node */
        tasks = times(number(get("SLURM_NTASKS_PER_NODE")), number(get("SLURM_JOB_NUM_NODES")));
    if (tasks == 0) /* not said at all: at least one on each node */
        tasks = number(get("SLURM_JOB_NUM_NODES"));
    if (get("SLURM_JOB_ID")) {
        if (tasks > 1)
            return tt_fail(err, TT_ERR_LAUNCH,
                           "joining the job: this batch script has %d tasks (SLURM_NTASKS) but started one rank by itself; "
                           "put 'srun --mpi=pmix' before the program (or ask for --ntasks=1 to run alone)",
                           tasks);
        launch->how = "batch script, one task";
        return TT_OK;
    }
    int pmi = number(get("PMI_SIZE"));
    if (pmi > 1)
        return tt_fail(err, TT_ERR_LAUNCH,
                       "joining the job: a launcher announced PMI_SIZE=%d ranks, which is not the launcher of the MPI "
                       "library this program was built with; start it with Open MPI's mpirun or 'srun --mpi=pmix'",
                       pmi);
    return TT_OK;
}
