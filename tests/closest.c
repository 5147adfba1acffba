/* "Did you mean": words, and names of files. */
#include "base/closest.h"
#include "base/config.h"
#include "base/fs.h"
#include "data/tokenizer.h"
#include "models/model.h"
#include "tap.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void meant(const char *path, const char *want)
{
    char got[256] = "";
    int found = tt_closest_path(path, got, sizeof got);
    is_str(found ? got : "", want, "%s", path);
}

static void test_paths(void)
{
    tt_fs_mkdirs("data/train", NULL);
    tt_fs_write("data/train/part-1.txt", "x", 1, NULL);
    tt_fs_write("data/llama3_8b.toml", "x", 1, NULL);
    meant("data/train/part-1.txt", "");
    meant("data/train/prat-1.txt", "data/train/part-1.txt");
    meant("data/trian/part-1.txt", "data/train/part-1.txt");
    meant("dat/train", "data/train");
    meant("data/trian/prat-1.txt", "");
    meant("data/trani/", "data/train/");
    meant("data/lama3_8b.toml", "data/llama3_8b.toml");
    meant("data/quite_else", "");
    meant("/nowhere/at/all", "");
    meant("", "");
    char *here = getcwd(NULL, 0), *path = tt_fs_join(here, "daat/train"),
         *want = tt_fs_join(here, "data/train");
    meant(path, want);
    free(here);
    free(path);
    free(want);
}

static void test_words(void)
{
    static const char *const words[] = {"debugmodel", "1B", "8B", "70B"};
    static const char *const rows[][2] = {{"8b", "wrong; did you mean \"8B\"?"},
                                          {"debugmodle", "wrong; did you mean \"debugmodel\"?"},
                                          {"9B", "wrong"},
                                          {"70b", "wrong; did you mean \"70B\"?"},
                                          {"", "wrong"}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        tt_error err = {0};
        tt_status st = tt_fail(&err, TT_ERR_CONFIG, "wrong");
        is_int(tt_closest_hint_word(&err, st, rows[i][0], words, 4), TT_ERR_CONFIG,
               "the status stays");
        is_str(err.text, rows[i][1], "%s", rows[i][0]);
    }
}

static void test_uses(void)
{
    tt_error err = {0};
    const tt_family *family;
    tt_model_dims dims;
    tt_tokenizer *t;
    tt_config *cfg = NULL;
    ok(tt_family_find("lama3", &family, &err) != TT_OK &&
           strstr(err.text, "; did you mean \"llama3\"?"),
       "a family: %s", err.text);
    ok(tt_family_find("llama3", &family, &err) == TT_OK &&
           family->flavor("debug_model", &dims, &err) != TT_OK &&
           strstr(err.text, "; did you mean \"debugmodel\"?"),
       "a flavor: %s", err.text);
    ok(tt_tokenizer_open("data/trian", &t, &err) != TT_OK &&
           strstr(err.text, "; did you mean data/train?"),
       "a tokenizer: %s", err.text);
    char *data = NULL;
    ok(tt_fs_read("data/train/part-2.txt", &data, NULL, &err) == TT_ERR_IO, "a file");
    is_str(err.text,
           "cannot open data/train/part-2.txt: No such file or directory; did you mean "
           "data/train/part-1.txt?",
           "names one");
    char *line[] = {"titan", "data/lama3_8b.toml", NULL};
    ok(tt_config_from_args(2, line, &cfg, &err) != TT_OK &&
           strstr(err.text, "; did you mean 'data/llama3_8b.toml'?"),
       "a config: %s", err.text);
    line[1] = "data/x.cfg";
    tt_fs_write("data/x.cfg", "@include \"yy.cfg\"\n", 18, NULL);
    tt_fs_write("data/yyy.cfg", "", 0, NULL);
    ok(tt_config_from_args(2, line, &cfg, &err) != TT_OK &&
           strstr(err.text, "; did you mean data/yyy.cfg?"),
       "an included one: %s", err.text);
}

int main(void)
{
    char dir[] = "/tmp/titan-closest-XXXXXX";
    if (!mkdtemp(dir) || chdir(dir) != 0)
        skip_all("no temporary folder");
    test_paths();
    test_words();
    test_uses();
    ok(chdir("/") == 0 && tt_fs_remove_all(dir, NULL) == TT_OK, "cleaned up");
    return done_testing();
}
