/* A program's arguments to a checked config: which file, which overrides, and the relations between keys. */
#include "base/config_value.h"

#include "base/closest.h"
#include "base/fs.h"

#include <dirent.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define COMMAND_LINE "command line"

/* Where installed configs may be: $TITAN_ROOT, beside the program (a build tree or a moved installation), the data folder. */
static int config_folder(int i, char *path, size_t room)
{
    static const char *const beside[] = {"configs", "../configs", "../share/titan/configs"};
    const char *root = getenv("TITAN_ROOT");
    char exe[PATH_MAX];
    if (i == 0) {
        snprintf(path, room, "%s/configs", root ? root : "");
        return root != NULL;
    }
    if (i == 4) {
        snprintf(path, room, "%s/configs", TT_PKGDATADIR);
        return 1;
    }
    ssize_t n = readlink("/proc/self/exe", exe, sizeof exe - 1);
    if (n <= 0)
        return 0;
    exe[n] = '\0';
    char *slash = strrchr(exe, '/');
    *slash = '\0';
    return (size_t)snprintf(path, room, "%s/%s", exe, beside[i - 1]) < room;
}
#define N_FOLDERS 5

/* The installed config that was meant, among the names in one folder; copied to meant. */
static void closest_in_folder(const char *folder, const char *name, char *meant, size_t room)
{
    DIR *dir = opendir(folder);
    int best = *meant ? tt_edit_distance(name, meant) : (int)strlen(name) / 2 + 2;
    for (struct dirent *e; dir && (e = readdir(dir)) != NULL;) {
        char known[256];
        size_t len = strlen(e->d_name);
        if (len < 5 || strcmp(e->d_name + len - 4, ".cfg") != 0)
            continue;
        snprintf(known, sizeof known, "%.*s", (int)len - 4, e->d_name);
        if (tt_edit_distance(name, known) < best) {
            best = tt_edit_distance(name, known);
            snprintf(meant, room, "%s", known);
        }
    }
    if (dir)
        closedir(dir);
}

/* A path that exists, else an installed config of that name. */
static tt_status find_file(const char *name, char *path, size_t room, tt_error *err)
{
    char folder[PATH_MAX], meant[PATH_MAX] = "";
    snprintf(path, room, "%s", name);
    if (tt_fs_exists(name) && !tt_fs_is_dir(name))
        return TT_OK;
    for (int i = 0; i < N_FOLDERS && !strchr(name, '/'); i++) {
        if (!config_folder(i, folder, sizeof folder))
            continue;
        size_t len = strlen(name);
        int has_suffix = (len > 4 && strcmp(name + len - 4, ".cfg") == 0) ||
                         (len > 5 && strcmp(name + len - 5, ".toml") == 0);
        if ((size_t)snprintf(path, room, "%s/%s%s", folder, name, has_suffix ? "" : ".cfg") < room && tt_fs_exists(path))
            return TT_OK;
        closest_in_folder(folder, name, meant, sizeof meant);
    }
    if (tt_fs_is_dir(name))
        return tt_fail(err, TT_ERR_CONFIG, "cannot read config '%s': it is a folder; give a file in it", name);
    if (*meant || tt_closest_path(name, meant, sizeof meant))
        return tt_fail(err, TT_ERR_CONFIG, "cannot find config '%s': no such file, and no installed config of that name;"
                       " did you mean '%s'?", name, meant);
    return tt_fail(err, TT_ERR_CONFIG, "cannot find config '%s': no such file, and no installed config of that name;"
                   " give a path, or the name of a file in the configs folder", name);
}

/* What one argument "--section.key…" asks for. */
typedef struct override {
    tt_config_name name;
    const char *value; /* NULL: taken from the next argument */
} override;

/* "--section.no_key" of a boolean: 1 and the key it negates. */
static int find_negated(const char *name, tt_config_name *found)
{
    char plain[256];
    const char *dot = strrchr(name, '.');
    if (!dot || (strncmp(dot + 1, "no_", 3) != 0 && strncmp(dot + 1, "no-", 3) != 0) || strlen(name) >= sizeof plain)
        return 0;
    snprintf(plain, sizeof plain, "%.*s%s", (int)(dot + 1 - name), name, dot + 4);
    return tt_config_find_name(plain, found) && found->is_flag;
}

static tt_status parse_override(const char *arg, override *o, tt_error *err)
{
    char name[256];
    const char *equals = strchr(arg, '=');
    size_t len = equals ? (size_t)(equals - arg) : strlen(arg);
    if (len >= sizeof name)
        return tt_fail(err, TT_ERR_USAGE, "the option %.60s… is too long; --help lists all keys", arg);
    snprintf(name, sizeof name, "%.*s", (int)len, arg);
    o->value = equals ? equals + 1 : NULL;
    if (!tt_config_find_name(name + 2, &o->name)) {
        if (find_negated(name + 2, &o->name)) {
            if (equals)
                return tt_fail(err, TT_ERR_USAGE,
                               "%s takes no value: it means false; write it alone", name);
            o->value = "false";
        } else if (!strchr(name, '.')) {
            return tt_fail(
                err, TT_ERR_USAGE,
                "unknown option %s; keys are written --section.key=value, --help lists them", name);
        } else {
            return tt_config_unknown(COMMAND_LINE, name + 2, 0, err);
        }
    }
    if (!o->value && o->name.is_flag)
        o->value = "true";
    return TT_OK;
}

static int is_request(const char *arg)
{
    return strcmp(arg, "--print-config") == 0 || strcmp(arg, "--print_config") == 0;
}

/* What the arguments say, before the file is read: the file's name and the request. Overrides are only checked. */
static tt_status scan(int argc, char **argv, const char **file, tt_request *request, tt_error *err)
{
    for (int i = 1; i < argc; i++) {
        override o;
        const char *a = argv[i];
        if (strcmp(a, "--help") == 0 || strcmp(a, "-h") == 0) {
            *request = TT_HELP;
        } else if (strcmp(a, "--help=mdoc") == 0) {
            *request = TT_HELP_MDOC;
        } else if (strcmp(a, "--version") == 0) {
            *request = TT_VERSION;
        } else if (is_request(a)) {
            *request = TT_PRINT_CONFIG;
        } else if (strncmp(a, "--", 2) == 0 && a[2]) {
            tt_status st = parse_override(a, &o, err);
            if (st != TT_OK)
                return st;
            if (!o.value && i + 1 >= argc)
                return tt_fail(err, TT_ERR_USAGE, "%s needs a value; write %s=VALUE", a, a);
            const char *value = o.value ? o.value : argv[++i];
            if (strcmp(o.name.given, "job.config_file") == 0)
                *file = value;
        } else if (*a == '-') {
            return tt_fail(err, TT_ERR_USAGE, "unknown option %s; keys are written --section.key=value, --help lists them", a);
        } else if (*file && strcmp(*file, a) != 0) {
            return tt_fail(err, TT_ERR_USAGE, "two configs were given, '%s' and '%s'; give one (a file can @include another)",
                           *file, a);
        } else {
            *file = a;
        }
        if (*request == TT_HELP || *request == TT_HELP_MDOC || *request == TT_VERSION)
            return TT_OK;
    }
    return TT_OK;
}

static tt_status apply_overrides(tt_config *cfg, int argc, char **argv, tt_error *err)
{
    tt_status st = TT_OK;
    for (int i = 1; st == TT_OK && i < argc; i++) {
        override o;
        if (strncmp(argv[i], "--", 2) != 0 || is_request(argv[i]))
            continue;
        st = parse_override(argv[i], &o, err);
        if (st != TT_OK)
            break;
        tt_config_value word = {.kind = TT_VALUE_WORD,
                                .text = (char *)(o.value ? o.value : argv[++i])};
        st = tt_config_put_named(cfg, &o.name, &word, COMMAND_LINE, err);
    }
    return st;
}

tt_status tt_config_from_args(int argc, char **argv, tt_config **cfg, tt_error *err)
{
    tt_status st;
    const char *file = NULL;
    char path[PATH_MAX];
    TT_TRY(tt_config_create(cfg, err));
    TT_TRY(scan(argc, argv, &file, &(*cfg)->request, err));
    if ((*cfg)->request == TT_HELP || (*cfg)->request == TT_HELP_MDOC || (*cfg)->request == TT_VERSION)
        return TT_OK;
    if (argc < 2)
        TT_TRY(tt_fail(err, TT_ERR_USAGE, "no config given; write `%s CONFIG [--section.key=value …]`, for example"
                       " `%s quickstart`; --help lists all keys", argv[0], argv[0]));
    if (file) {
        TT_TRY(find_file(file, path, sizeof path, err));
        TT_TRY(tt_config_read_file(*cfg, path, err));
    }
    TT_TRY(apply_overrides(*cfg, argc, argv, err));
    if (file)
        TT_TRY(tt_config_set(*cfg, "job.config_file", path, COMMAND_LINE, err));
    TT_TRY(tt_config_resolve_batch(*cfg, err));
    TT_TRY(tt_config_check(*cfg, err));
    return TT_OK;
out:
    tt_config_destroy(cfg);
    return st;
}

/* Two keys that do not fit, with where each came from. */
static tt_status no_fit(const tt_config *cfg, const char *a, const char *b, const char *rule, const char *remedy,
                        tt_error *err)
{
    int i = tt_config_find_key(a), j = tt_config_find_key(b);
    char *x = tt_config_value_text(cfg, i), *y = tt_config_value_text(cfg, j);
    tt_status st = tt_fail(err, TT_ERR_CONFIG,
                           "%s = %s (%s) does not fit %s = %s (%s): %s; %s", a,
                           x ? x : "unset", tt_config_origin_of(cfg, i), b, y ? y : "unset",
                           tt_config_origin_of(cfg, j), rule, remedy);
    free(x);
    free(y);
    return st;
}

tt_status tt_config_check(const tt_config *cfg, tt_error *err)
{
    int64_t global = cfg->training.global_batch_size, local = cfg->training.local_batch_size;
    if (global > 0 && global % local != 0)
        return no_fit(cfg, "training.global_batch_size", "training.local_batch_size",
                      "the global batch is a whole number of local batches", "change one of them", err);
    if (cfg->profiling.profile_freq < cfg->profiling.profiler_warmup + cfg->profiling.profiler_active)
        return no_fit(cfg, "profiling.profile_freq", "profiling.profiler_warmup",
                      "a cycle holds the warmup and the active steps", "raise profile_freq", err);
    if (cfg->parallelism.expert_tensor_parallel_degree != 1 &&
        cfg->parallelism.expert_tensor_parallel_degree != cfg->parallelism.tensor_parallel_degree)
        return no_fit(cfg, "parallelism.expert_tensor_parallel_degree", "parallelism.tensor_parallel_degree",
                      "the first is 1 or equal to the second", "change one of them", err);
    if (cfg->checkpoint.load_only && cfg->checkpoint.create_seed_checkpoint)
        return no_fit(cfg, "checkpoint.load_only", "checkpoint.create_seed_checkpoint", "one forbids saving, the other asks for it", "take one away", err);
    return TT_OK;
}
