/* The table of --profile: its text for given times and ceilings, and that ceilings can be measured. */
#include "graph/ops.h"
#include "profile/op_table.h"
#include "tap.h"

#include <stdlib.h>
#include <string.h>

static char *table(const tt_ceilings *c)
{
    static tt_op_time times[TT_N_OPS];
    memset(times, 0, sizeof times);
    times[TT_OP_linear] = (tt_op_time){.seconds = 0.2, .calls = 20, .flops = 18e9};
    times[TT_OP_linear_dw] = (tt_op_time){.seconds = 0.3, .calls = 20, .flops = 18e9};
    times[TT_OP_rmsnorm] = (tt_op_time){.seconds = 0.05, .calls = 10, .bytes = 0.5e9};
    times[TT_OP_all_reduce] = (tt_op_time){.seconds = 0.25, .calls = 2, .bytes = 1e9};
    char *text = NULL;
    size_t size;
    FILE *f = open_memstream(&text, &size);
    if (!f)
        abort();
    tt_op_table_print(times, 2, 1.0, c, f);
    fclose(f);
    return text;
}

int main(void)
{
    tt_ceilings c = {.flops = 100e9, .bytes = 20e9, .dtype = TT_F32, .copied = 64 << 20, .threads = 2};
    char *text = table(&c);
    is_str(text,
           "op                  calls         ms   share      rate         of ceiling\n"
           "linear_dw            10.0     150.00   30.0%      60.0 GFLOP/s        60%\n"
           "all_reduce            1.0     125.00   25.0%       4.0 GB/s   \n"
           "linear               10.0     100.00   20.0%      90.0 GFLOP/s        90%\n"
           "rmsnorm               5.0      25.00    5.0%      10.0 GB/s           50%\n"
           "the rest                      100.00   20.0%  (data, host, and waiting)\n"
           "a step                        500.00   50.0% are products of linear layers, 50.0% are not\n"
           "ceilings         100.0 GFLOP/s (product of 1024 x 1024 x 1024, float32), 20.0 GB/s (copy of 64 MiB); 2 threads\n",
           "a table beside ceilings");
    free(text);
    text = table(NULL);
    ok(!strstr(text, "ceiling") && strstr(text, "\nlinear               10.0     100.00   20.0%      90.0 GFLOP/s\n"),
       "a table without");
    free(text);

    tt_device *d = NULL;
    tt_error err = {0};
    tt_ceilings m;
    is_int(tt_device_create_cpu(2, &d, &err), TT_OK, "a device");
    is_int(tt_ceilings_measure(d, TT_BF16, &m, &err), TT_OK, "its ceilings");
    ok(m.flops > 1e8 && m.flops < 1e15 && m.bytes > 1e8 && m.bytes < 1e13, "are rates of a computer: %.1f GFLOP/s, %.1f GB/s",
       m.flops * 1e-9, m.bytes * 1e-9);
    ok(m.copied >= (size_t)64 << 20 && m.threads == 2 && m.dtype == TT_BF16, "and say how they were measured");
    is_int((long long)d->allocated_bytes, 0, "their memory is given back");
    tt_device_destroy(&d);
    return done_testing();
}
