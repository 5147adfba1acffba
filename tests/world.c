/* How a start is recognised from the environment, and the world of one rank. */
#include "tap.h"

#include "world/world_priv.h"

#include <stdlib.h>
#include <string.h>

static const char *const *fake; /* name, value, …, NULL */

static const char *fake_env(const char *name)
{
    for (int i = 0; fake[i]; i += 2)
        if (strcmp(fake[i], name) == 0)
            return fake[i + 1];
    return NULL;
}

static void refused(const char *const *vars, const char *text, const char *what)
{
    tt_launch l;
    tt_error err = {0};
    fake = vars;
    is_int(tt_launch_detect(fake_env, &l, &err), TT_ERR_LAUNCH, "%s is refused", what);
    is_str(err.text, text, "%s: the message", what);
}

static void accepted(const char *const *vars, int mpi, int expected, int local, const char *how)
{
    tt_launch l;
    tt_error err = {0};
    fake = vars;
    is_int(tt_launch_detect(fake_env, &l, &err), TT_OK, "%s is accepted", how);
    ok(l.mpi == mpi && l.expected == expected && l.local_ranks == local, "%s: mpi %d, %d ranks, %d here", how, l.mpi,
       l.expected, l.local_ranks);
    is_str(l.how, how, "%s: its name", how);
}

#define ENV(...) ((const char *const[]){__VA_ARGS__, NULL})

static void test_launch(void)
{
    refused(ENV("SLURM_JOB_ID", "7", "SLURM_STEP_ID", "0", "SLURM_STEP_NUM_TASKS", "16", "SLURM_NTASKS", "16"),
            "joining the job: srun started 16 tasks without PMIx (PMIX_NAMESPACE is not set), so each would train alone; "
            "add --mpi=pmix to srun ('srun --mpi=list' shows what it offers)",
            "srun without PMIx");
    refused(ENV("SLURM_JOB_ID", "7", "SLURM_NTASKS", "4", "SLURM_PROCID", "0"),
            "joining the job: this batch script has 4 tasks (SLURM_NTASKS) but started one rank by itself; put 'srun "
            "--mpi=pmix' before the program (or ask for --ntasks=1 to run alone)",
            "bare in a batch script");
    refused(ENV("SLURM_JOB_ID", "7", "SLURM_NTASKS_PER_NODE", "2", "SLURM_JOB_NUM_NODES", "3"),
            "joining the job: this batch script has 6 tasks (SLURM_NTASKS) but started one rank by itself; put 'srun "
            "--mpi=pmix' before the program (or ask for --ntasks=1 to run alone)",
            "bare in a batch script that asked by node");
    refused(ENV("SLURM_JOB_ID", "7", "SLURM_TASKS_PER_NODE", "96(x2)", "SLURM_JOB_NUM_NODES", "2"),
            "joining the job: this batch script has 2 tasks (SLURM_NTASKS) but started one rank by itself; put 'srun "
            "--mpi=pmix' before the program (or ask for --ntasks=1 to run alone)",
            "bare in a batch script of two nodes");
    refused(ENV("PMI_SIZE", "2", "PMI_RANK", "0"),
            "joining the job: a launcher announced PMI_SIZE=2 ranks, which is not the launcher of the MPI library this "
            "program was built with; start it with Open MPI's mpirun or 'srun --mpi=pmix'",
            "a foreign launcher");
    accepted(ENV("HOME", "/"), 0, 0, 0, "no launcher");
    accepted(ENV("OMPI_COMM_WORLD_SIZE", "4", "OMPI_COMM_WORLD_LOCAL_SIZE", "2"), 1, 4, 2, "mpirun");
    accepted(ENV("SLURM_JOB_ID", "7", "SLURM_NTASKS", "4", "OMPI_COMM_WORLD_SIZE", "4"), 1, 4, 0, "mpirun");
    accepted(ENV("PMIX_NAMESPACE", "slurm.pmix.7.0", "PMIX_RANK", "3", "SLURM_STEP_ID", "0", "SLURM_STEP_NUM_TASKS", "16",
                 "SLURM_STEP_TASKS_PER_NODE", "8(x2)"),
             1, 16, 8, "srun");
    accepted(ENV("SLURM_STEP_ID", "0", "SLURM_STEP_NUM_TASKS", "1"), 0, 0, 0, "srun, one task");
    accepted(ENV("SLURM_JOB_ID", "7", "SLURM_NTASKS", "1"), 0, 0, 0, "batch script, one task");
    accepted(ENV("SLURM_JOB_ID", "7", "SLURM_TASKS_PER_NODE", "96", "SLURM_JOB_NUM_NODES", "1"), 0, 0, 0,
             "batch script, one task");
}

static void test_alone(void)
{
    tt_world *w = NULL;
    tt_error err = {0};
    is_int(tt_world_open(&w, &err), TT_OK, "a world of one opens");
    if (!w)
        return;
    ok(tt_world_rank(w) == 0 && tt_world_size(w) == 1 && tt_world_nodes(w) == 1, "one rank on one node");
    ok(tt_world_local_rank(w) == 0 && tt_world_local_size(w) == 1 && tt_world_node(w) == 0, "one rank on this node");
    is_str(tt_world_launcher(w), "single", "its launcher");
    ok(tt_world_mpi_comm(w) == NULL, "no MPI communicator");
    int64_t n[2] = {3, -4};
    tt_world_sum_i64(w, n, 2);
    tt_world_max_i64(w, n, 2);
    tt_world_broadcast(w, n, sizeof n, 0);
    tt_world_barrier(w);
    ok(n[0] == 3 && n[1] == -4, "collectives of one rank keep the values");
    void *all = NULL;
    size_t off[2] = {9, 9};
    is_int(tt_world_gather(w, "abc", 3, &all, off, &err), TT_OK, "gather");
    ok(all && off[0] == 0 && off[1] == 3 && memcmp(all, "abc", 3) == 0, "gather keeps the bytes");
    free(all);
    tt_fail(&err, TT_ERR_DATA, "as it was");
    is_int(tt_world_agree(w, TT_ERR_DATA, &err), TT_ERR_DATA, "agreeing alone keeps the status");
    is_str(err.text, "as it was", "agreeing alone keeps the text");
    is_int(tt_world_close(&w, TT_OK, NULL), TT_OK, "the world closes");
    ok(w == NULL, "and is gone");
    is_int(tt_world_close(&w, TT_OK, NULL), TT_OK, "closing no world is allowed");
}

int main(void)
{
    static const char *const launchers[] = {"OMPI_COMM_WORLD_SIZE", "PMIX_NAMESPACE", "PMIX_RANK", "SLURM_JOB_ID",
                                            "SLURM_STEP_ID",        "SLURM_NTASKS",   "PMI_SIZE"};
    for (size_t i = 0; i < sizeof launchers / sizeof launchers[0]; i++)
        unsetenv(launchers[i]); /* the tests themselves may run inside a job */
    test_launch();
    test_alone();
    return done_testing();
}
