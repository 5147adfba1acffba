/* Time to plan one rank of large models, and how well its scratch is packed. */
#include "base/clock.h"
#include "device/device.h"
#include "graph/print.h"
#include "plan/cost.h"
#include "plan_util.h"

#include <stdio.h>

static void measure(const char *flavor, int shard, int tp, int batch)
{
    const int degree[TT_N_AXES] = {1, 1, shard, 1, tp};
    tt_compile_opts o = plan_options(&(plan_case){.batch = batch, .compute = TT_BF16, .recompute = {TT_AC_FULL, 1}});
    tt_model_dims d;
    tt_model *model = NULL;
    tt_program *p = NULL;
    tt_mesh mesh;
    tt_error err = {0};
    o.seq_len = 8192;
    if (tt_family_llama3.flavor(flavor, &d, &err) || tt_model_create("llama3", &d, &model, &err) ||
        tt_mesh_create(degree, shard * tp, 0, &mesh, &err))
        return;
    const double start = tt_clock_s();
    const tt_status st = tt_compile(model, &mesh, &o, &p, &err);
    const double built = tt_clock_s();
    if (st == TT_OK) {
        tt_program_hash(p);
        printf("%-6s on %4d ranks: built in %.3f s, hashed in %.3f s, packing %.3f\n", flavor, shard * tp,
               built - start, tt_clock_s() - built, tt_cost_memory(p).packing);
    }
    tt_program_destroy(&p);
    tt_model_destroy(&model);
}

int main(void)
{
    measure("8B", 8, 1, 1);
    measure("70B", 32, 8, 8);
    measure("405B", 64, 8, 2);
    return 0;
}
