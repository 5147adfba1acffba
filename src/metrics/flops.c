/* See flops.h. */
#include "metrics/flops.h"

#include <stddef.h>
#include <string.h>

int64_t tt_flops_per_token(const tt_flops_opts *opts)
{
    int64_t multiplied = opts->params - (opts->tied ? 0 : opts->embedding_params);
    return 6 * multiplied + 6 * opts->layers * opts->heads * 2 * opts->head_dim * opts->seq_len;
}

double tt_flops_peak(const char *device_name)
{
    static const struct {
        const char *part, *and_part; /* both must occur; the first row that fits counts */
        double tflops;
    } table[] = {
        {"A100", "", 312},      {"A6000", "", 154.85},  {"H100", "NVL", 835},   {"H100", "PCIe", 756},
        {"H100", "", 989},      {"H200", "", 989},      {"H20", "", 148},       {"GB200", "", 2500},
        {"GB300", "", 2500},    {"B200", "", 2250},     {"B300", "", 2250},     {"L40S", "", 362},
        {"MI250X", "", 191.5},  {"MI300X", "", 1300},   {"MI325X", "", 1300},   {"MI355X", "", 2500},
    };
    for (size_t i = 0; device_name && i < sizeof table / sizeof table[0]; i++)
        if (strstr(device_name, table[i].part) && strstr(device_name, table[i].and_part))
            return 1e12 * table[i].tflops;
    return 0;
}
