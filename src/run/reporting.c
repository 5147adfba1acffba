/* See reporting.h. */
#include "run/reporting.h"

#include "base/fs.h"
#include "plan/cost.h"
#include "run/history.h"

#include <stdlib.h>
#include <unistd.h>

/* mpirun gives its ranks a terminal as stdout even when its own output goes to a file; stderr tells the truth. */
static int wants_color(const tt_config *cfg)
{
    return !cfg->metrics.disable_color_printing && isatty(STDOUT_FILENO) && isatty(STDERR_FILENO);
}

tt_status tt_reporting_open(const tt_config *cfg, tt_world *world, const tt_model *model, int64_t step, tt_metrics **metrics,
                            tt_error *err)
{
    const int rank = tt_world_rank(world), all = cfg->metrics.save_for_all_ranks;
    const char *dump = cfg->job.dump_folder;
    tt_status st = TT_OK;
    char file[64], folder[4096];
    snprintf(file, sizeof file, rank == 0 ? "metrics.jsonl" : "metrics-rank-%d.jsonl", rank);
    snprintf(folder, sizeof folder, all ? "%s/rank_%d" : "%s", cfg->metrics.save_tb_folder, rank);
    char *path = tt_fs_join(dump, file), *events = tt_fs_join(dump, folder);
    if (rank == 0 || all)
        st = tt_metrics_open(&(tt_metrics_opts){.log_freq = (int)cfg->metrics.log_freq,
                                                .fd = rank == 0 ? STDOUT_FILENO : -1,
                                                .color = wants_color(cfg),
                                                .jsonl_path = path,
                                                .tensorboard_dir = cfg->metrics.enable_tensorboard ? events : NULL,
                                                .resume_step = step,
                                                .devices = tt_world_size(world),
                                                .flops_per_token = (double)tt_cost_flops_per_token(
                                                    model, cfg->training.seq_len)},
                             metrics, err);
    if (st == TT_OK && rank == 0)
        st = tt_history_add_start(dump, step, tt_world_size(world), err);
    free(path);
    free(events);
    return tt_world_agree(world, st, err);
}
