/* The TOML reader: what is refused, with the whole message; then documents and their entries as
 * text. */
#include "base/toml.h"
#include "tap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void refused(const char *text, const char *want)
{
    tt_error err = {0};
    tt_toml *doc;
    is_int(tt_toml_parse("x.toml", text, strlen(text), &doc, &err), TT_ERR_CONFIG, "refused: %.40s",
           text);
    is_str(err.text, want, "says why");
    ok(doc == NULL, "no document");
    tt_toml_destroy(&doc);
}

static void test_refused(void)
{
    static const char *const rows[][2] = {
        {"a = 1\nb = 2\na = 3",
         "x.toml:3: the key 'a' is defined already, in line 1; take one of the two away"},
        {"a = 1\n\"a\" = 3",
         "x.toml:2: the key 'a' is defined already, in line 1; take one of the two away"},
        {"[a]\n[b]\n[a]",
         "x.toml:3: the table 'a' is defined already, in line 1; take one of the two away"},
        {"[a]\nb = 1\n[a.b]",
         "x.toml:3: the value 'a.b' is defined already, in line 2; take one of the two away"},
        {"[a]\nb = 1\n[a.b.c]",
         "x.toml:3: the value 'a.b' is defined already, in line 2; take one of the two away"},
        {"a.b = 1\n[a]",
         "x.toml:2: the table 'a' is defined already, in line 1; take one of the two away"},
        {"[a.b.c]\nd = 1\n[a]\nb.c.e = 2",
         "x.toml:4: the table 'a.b' is defined already, in line 1; take one of the two away"},
        {"a = {b = 1}\na.c = 2",
         "x.toml:2: the table 'a' is defined already, in line 1; take one of the two away"},
        {"a = {b = 1}\n[a.c]",
         "x.toml:2: the value 'a' is defined already, in line 1; take one of the two away"},
        {"a = {b = 1, b = 2}",
         "x.toml:1: the key 'a.b' is defined already, in line 1; take one of the two away"},
        {"a = []\n[[a]]",
         "x.toml:2: the value 'a' is defined already, in line 1; take one of the two away"},
        {"[[a]]\n[a]",
         "x.toml:2: the table 'a' is defined already, in line 1; take one of the two away"},
        {"[a]\n[[a]]",
         "x.toml:2: the table 'a' is defined already, in line 1; take one of the two away"},
        {"a = 1 b = 2",
         "x.toml:1: 'b' stands after a value; begin a new line, or put # before a comment"},
        {"[a] b = 2", "x.toml:1: 'b' stands after the name of a table; begin a new line, or put # "
                      "before a comment"},
        {"[a", "x.toml:1: the name of a table is not closed; end it with ]"},
        {"[[a]", "x.toml:1: the name of a table is not closed; end it with ]]"},
        {"\n[]", "x.toml:2: a key is expected, but ']' stands there; write key = value with "
                 "letters, digits, _ and - (others in "
                 "quotes)"},
        {"steps 3", "x.toml:1: no '=' after the key 'steps'; the form is key = value"},
        {"a =", "x.toml:1: no value after the '=', '[' or ','; give one, or take the line away"},
        {"a = yes", "x.toml:1: 'yes' is no value; write \"text\" in quotes, true, false or a "
                    "number such as 1_000, 0x10, 3e-4, inf"},
        {"a = [1 2]", "x.toml:1: '2]' stands between two items of an array; separate them by ','"},
        {"a = [1,\n2", "x.toml:1: the array that begins here has no end; close it with ]"},
        {"a = {b = 1", "x.toml:1: a table { … } lacks a ',' or its end; separate its keys by ',' "
                       "and close it with } on the same line"},
        {"a = \"b", "x.toml:1: a text goes on to the end of its line; close it with \", or begin "
                    "and end it with \"\"\""},
        {"a = 'b\nc'", "x.toml:1: a text goes on to the end of its line; close it with ', or begin "
                       "and end it with '''"},
        {"\na = \"\"\"b\nc",
         "x.toml:2: the text that begins here has no end; close it with \"\"\""},
        {"a = \"\\q\"", "x.toml:1: \\q is no escape of a \"text\"; use \\b \\t \\n \\f \\r \\\" "
                        "\\\\ \\uXXXX \\UXXXXXXXX, or a 'text', "
                        "which has none"},
        {"a = \"\\u12g4\"", "x.toml:1: the escape \\u has 2 hexadecimal digits; give it 4"},
        {"a = \"\\ud800\"", "x.toml:1: the escape \\ud800 is no character that a text may hold; "
                            "use one from 1 to 10FFFF outside of "
                            "D800 to DFFF"},
        {"a = 9223372036854775808",
         "x.toml:1: 9223372036854775808 does not fit a 64-bit integer; write a smaller one"},
        {"a = \"\x01\"",
         "x.toml:1: the control character 0x01; take it out, or write \\u0001 in a \"text\""},
        {"a = 1\rb = 2",
         "x.toml:1: the control character 0x0d; take it out, or write \\u000D in a \"text\""},
        {"\na = \"\xff\"", "x.toml:2: the byte 0xff is no UTF-8; save the file as UTF-8"},
        {"a = \"\xed\xa0\x80\"", "x.toml:1: the byte 0xed is no UTF-8; save the file as UTF-8"},
        {"a = \"\xc3", "x.toml:1: the byte 0xc3 is no UTF-8; save the file as UTF-8"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        refused(rows[i][0], rows[i][1]);
    static const char *const numbers[] = {"01",   "1__0", "_1",  "1_",       "+0x1", "0X1",
                                          "0x",   "0b2",  "0o8", ".5",       "5.",   "1e",
                                          "1.e3", "1_.5", "+-1", "infinity", "True", "1d"};
    tt_error err = {0};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        char text[40];
        tt_toml *doc;
        snprintf(text, sizeof text, "a = %s\n", numbers[i]);
        is_int(tt_toml_parse("x", text, strlen(text), &doc, &err), TT_ERR_CONFIG, "no number: %s",
               numbers[i]);
    }
}

/* One line an entry: line path type [inside] text. */
static char *describe(const tt_toml *doc)
{
    static const char *const type[] = {"string", "int",   "float", "bool",
                                       "time",   "array", "table", "tables"};
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    for (int i = 0; i < doc->n; i++) {
        const tt_toml_entry *e = &doc->entries[i];
        fprintf(out, "%d %s %s", e->line, e->path, type[e->type]);
        if (e->type == TT_TOML_ARRAY || e->type == TT_TOML_TABLE)
            fprintf(out, " [%d]\n", e->inside);
        else
            fprintf(out, " %s\n", e->text);
    }
    fclose(out);
    return text;
}

static void reads(const char *text, size_t size, const char *want)
{
    tt_error err = {0};
    tt_toml *doc;
    if (!ok(tt_toml_parse("x", text, size, &doc, &err) == TT_OK, "reads: %s", err.text))
        return;
    char *got = describe(doc);
    is_str(got, want, "its entries");
    free(got);
    tt_toml_destroy(&doc);
    tt_toml_destroy(&doc);
}
#define READS(text, want) reads(text, sizeof(text) - 1, want)

static void test_documents(void)
{
    READS("", "");
    READS("\xef\xbb\xbf# only a comment", "");
    READS("a = 1\r\n[t]\r\nb = \"x\"\r\n", "1 a int 1\n2 t table [0]\n3 t.b string x\n");
    READS("a=1_000\nb=-0\nc=+7\nd=0xDEAD_beef\ne=0o755\nf=0b1101\ng=9223372036854775807\nh=-"
          "9223372036854775808",
          "1 a int 1000\n2 b int 0\n3 c int 7\n4 d int 3735928559\n5 e int 493\n6 f int 13\n7 g "
          "int 9223372036854775807\n"
          "8 h int -9223372036854775808\n");
    READS("a=3.0\nb=-2.5e-3\nc=1e06\nd=6_000.5_0E+2\ne=inf\nf=-nan",
          "1 a float 3.0\n2 b float -2.5e-3\n3 c float 1e06\n"
          "4 d float 6000.50E+2\n5 e float inf\n6 f float -nan\n");
    READS("a=true\nb=false # no\n", "1 a bool true\n2 b bool false\n");
    READS("a=1979-05-27T07:32:00Z\nb=1979-05-27 07:32:00.5+01:00\nc=07:32:00\nd=1979-05-27 # day\n",
          "1 a time 1979-05-27T07:32:00Z\n2 b time 1979-05-27 07:32:00.5+01:00\n3 c time "
          "07:32:00\n4 d time 1979-05-27\n");
    READS("a=\"\\b\\t\\\"\\\\\\u00e9\\U0001f600\"\nb='\\d \"'\nc=''",
          "1 a string \b\t\"\\\xc3\xa9\xf0\x9f\x98\x80\n2 b string \\d \"\n"
          "3 c string \n");
    READS("a=\"\"\"\r\none\r\ntwo \\\r\n   three\"\"\"\"\"\nb='''\nx\\y''z'''\nc=1",
          "1 a string one\ntwo three\"\"\n5 b string x\\y''z\n7 c int 1\n");
    READS("a = [[\"x\", 'y,z',], # one\n  [],\n\n [1]\n]\nb = [ ]",
          "1 a array [6]\n1 a array [2]\n1 a string x\n1 a string y,z\n2 a array [0]\n4 a array "
          "[1]\n4 a int 1\n6 b array [0]\n");
    READS("a = {b = 1, c.d = [{e=2}], f = {}}\ng=1",
          "1 a table [5]\n1 a.b int 1\n1 a.c.d array [2]\n1 a.c.d table [1]\n"
          "1 a.c.d.e int 2\n1 a.f table [0]\n2 g int 1\n");
    READS("[a.b]\nc=1\n[a]\nd=2\n[ e . \"f g\" ]\nh.i=1\nh.j=2",
          "1 a.b table [0]\n2 a.b.c int 1\n3 a table [0]\n4 a.d int 2\n"
          "5 e.\"f g\" table [0]\n6 e.\"f g\".h.i int 1\n7 e.\"f g\".h.j int 2\n");
    READS("[[a]]\nx=1\n[a.b]\ny=1\n[[a]]\nx=2\n[a.b]\ny=2",
          "1 a tables \n2 a.x int 1\n3 a.b table [0]\n4 a.b.y int 1\n5 a tables \n"
          "6 a.x int 2\n7 a.b table [0]\n8 a.b.y int 2\n");
    READS("\"training.seq_len\" = 1\n\"\" = 2\n1e3 = 3\ntrue = 4",
          "1 \"training.seq_len\" int 1\n2 \"\" int 2\n3 1e3 int 3\n4 true int 4\n");
}

/* What would take unbounded stack, time or memory is refused. */
static void test_bounds(void)
{
    static char text[1 << 18];
    tt_error err = {0};
    tt_toml *doc;
    memset(text, '[', sizeof text);
    memcpy(text, "a=", 2);
    is_int(tt_toml_parse("x", text, sizeof text, &doc, &err), TT_ERR_CONFIG, "deep arrays");
    is_str(err.text, "x:1: values are nested more than 32 deep; use fewer [ and {", "say so");
    for (size_t i = 0; i + 2 < sizeof text; i += 3)
        memcpy(text + i, "a={", 3);
    is_int(tt_toml_parse("x", text, sizeof text - 1, &doc, &err), TT_ERR_CONFIG, "deep tables");
    memset(text, 'k', sizeof text);
    memcpy(text + sizeof text - 4, "=1\n", 4);
    is_int(tt_toml_parse("x", text, sizeof text - 1, &doc, &err), TT_ERR_CONFIG, "a long key");
    is_str(err.text,
           "x:1: more than 10000 keys, 50000 values or 1000 letters in a key; use shorter keys or "
           "smaller files",
           "says so");
    size_t n = 0;
    for (int i = 0; i < 11000; i++)
        n += (size_t)snprintf(text + n, sizeof text - n, "k%d=%d\n", i, i);
    is_int(tt_toml_parse("x", text, n, &doc, &err), TT_ERR_CONFIG, "many keys");
    for (size_t i = 0; i < sizeof text; i++)
        text[i] = i % 2 ? ',' : '1';
    memcpy(text, "a=[1,", 5);
    is_int(tt_toml_parse("x", text, sizeof text, &doc, &err), TT_ERR_CONFIG, "many values");
}

int main(void)
{
    test_refused();
    test_documents();
    test_bounds();
    return done_testing();
}
