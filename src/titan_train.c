/* titan-train: pretrain a model as its configuration says. */
#include "base/config.h"
#include "base/log.h"
#include "run/job.h"
#include "run/trainer.h"

#include <string.h>

static const char usage[] = "usage: titan-train CONFIG [--section.key=value ...]\n"
                            "       titan-train --help | --version | --print-config CONFIG\n\n"
                            "CONFIG is a file (libconfig text, or TOML when it ends in .toml), or "
                            "the name of an installed config such as llama3_8b.\n\nKeys:\n";

static void say(void *ctx, const char *text)
{
    (void)ctx;
    tt_log_root(WARN, "%s", text);
}

int main(int argc, char **argv)
{
    tt_status st;
    tt_error err = {0};
    tt_config *cfg = NULL;
    tt_world *world = NULL;
    tt_mesh mesh;
    tt_model *model = NULL;
    tt_trainer *trainer = NULL;

    for (int i = 1; i < argc; i++) /* short names of two keys */
        if (!strcmp(argv[i], "--selfcheck"))
            argv[i] = "--debug.selfcheck";
        else if (!strcmp(argv[i], "--profile"))
            argv[i] = "--debug.profile";
    TT_TRY(tt_config_from_args(argc, argv, &cfg, &err));
    if (tt_config_answer(cfg, "titan-train", usage, stdout))
        goto out;
    TT_TRY(tt_world_open(&world, &err));
    TT_TRY(tt_config_check_built(cfg, &err));
    tt_config_each_renamed(cfg, say, NULL);
    tt_config_each_ignored(cfg, say, NULL);
    TT_TRY(tt_job_mesh(cfg, tt_world_size(world), tt_world_rank(world), tt_world_local_size(world), &mesh, &err));
    TT_TRY(tt_job_model(cfg, &model, &err));
    TT_TRY(tt_trainer_create(cfg, world, &mesh, model, &trainer, &err)); /* compile, reserve, open data */
    TT_TRY(tt_trainer_restore(trainer, &err));                           /* newest good checkpoint, or fresh */
    while (tt_trainer_more(trainer))                                     /* steps left and no signal */
        TT_TRY(tt_trainer_step(trainer, &err));
    TT_TRY(tt_trainer_finish(trainer, &err));
out:
    tt_trainer_destroy(&trainer);
    tt_model_destroy(&model);
    st = tt_world_close(&world, st, &err); /* one message, one exit code for the job */
    tt_config_destroy(&cfg);
    return tt_exit_code(st);
}
