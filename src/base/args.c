/* See args.h. */
#include "base/args.h"

#include "base/closest.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int tt_args_same_name(const char *a, size_t n, const char *b)
{
    for (size_t i = 0; i < n; i++) {
        char x = a[i] == '_' ? '-' : a[i], y = b[i] == '_' ? '-' : b[i];
        if (x != y)
            return 0;
    }
    return b[n] == '\0';
}

static tt_option *find(tt_option *options, int n, const char *name, size_t len)
{
    for (int i = 0; i < n; i++)
        if (tt_args_same_name(name, len, options[i].name))
            return &options[i];
    return NULL;
}

tt_status tt_args_take(int *argc, char **argv, tt_option *options, int n, tt_error *err)
{
    int kept = 1, given = *argc;
    for (int i = 1; i < given; i++) {
        char *arg = argv[i];
        if (strcmp(arg, "--") == 0) {
            while (i < given)
                argv[kept++] = argv[i++];
            break;
        }
        const char *equals = strchr(arg, '=');
        size_t len = equals ? (size_t)(equals - arg) : strlen(arg);
        tt_option *o = strncmp(arg, "--", 2) == 0 ? find(options, n, arg + 2, len - 2) : NULL;
        if (!o) {
            argv[kept++] = arg;
            continue;
        }
        if (!o->value_name && equals)
            return tt_fail(err, TT_ERR_USAGE, "option %s takes no value; write --%s alone", arg, o->name);
        if (o->value_name && !equals && i + 1 >= given)
            return tt_fail(err, TT_ERR_USAGE, "option --%s needs a value; write --%s=%s", o->name, o->name, o->value_name);
        o->value = !o->value_name ? "" : equals ? equals + 1 : argv[++i];
    }
    argv[kept] = NULL;
    *argc = kept;
    return TT_OK;
}

static const char *nth_option(void *ctx, int i)
{
    return ((const tt_option *)ctx)[i].name;
}

tt_status tt_args_positional(int *argc, char **argv, const tt_option *options, int n, int least, int most, const char *what,
                             tt_error *err)
{
    int kept = 1, names_end = 0;
    for (int i = 1; i < *argc; i++) {
        if (!names_end && strcmp(argv[i], "--") == 0) {
            names_end = 1;
        } else if (!names_end && argv[i][0] == '-' && argv[i][1] != '\0') {
            char name[64];
            snprintf(name, sizeof name, "%.*s", (int)strcspn(argv[i], "="), argv[i]);
            const char *meant = tt_closest(name + strspn(name, "-"), nth_option, (void *)options, n);
            return tt_fail(err, TT_ERR_USAGE, "unknown option %s; %s%s%s", name, meant ? "did you mean --" : "--help lists all",
                           meant ? meant : "", meant ? "?" : "");
        } else {
            argv[kept++] = argv[i];
        }
    }
    argv[kept] = NULL;
    *argc = kept;
    if (kept - 1 < least || kept - 1 > most)
        return tt_fail(err, TT_ERR_USAGE, "%d argument%s given, but %s is wanted; --help shows how", kept - 1,
                       kept - 1 == 1 ? "" : "s", what);
    return TT_OK;
}

tt_status tt_args_int(const tt_option *option, int64_t low, int64_t high, int64_t *out, tt_error *err)
{
    char *end;
    errno = 0;
    long long x = strtoll(option->value, &end, 10);
    if (end == option->value || *end || errno || x < low || x > high)
        return tt_fail(err, TT_ERR_USAGE, "--%s=%s: wants an integer from %lld to %lld", option->name, option->value,
                       (long long)low, (long long)high);
    *out = x;
    return TT_OK;
}

tt_status tt_args_float(const tt_option *option, double low, double high, double *out, tt_error *err)
{
    char *end;
    double x = strtod(option->value, &end);
    if (end == option->value || *end || !(x >= low && x <= high))
        return tt_fail(err, TT_ERR_USAGE, "--%s=%s: wants a number from %g to %g", option->name, option->value, low, high);
    *out = x;
    return TT_OK;
}

void tt_args_help(const tt_option *options, int n, FILE *out)
{
    for (int i = 0; i < n; i++)
        fprintf(out, "  --%s%s%s\n      %s\n", options[i].name, options[i].value_name ? "=" : "",
                options[i].value_name ? options[i].value_name : "", options[i].doc);
}
