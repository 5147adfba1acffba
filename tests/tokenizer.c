/* The byte tokenizer: any bytes go there and back. */
#include "data/tokenizer.h"
#include "tap.h"

#include <stdlib.h>
#include <string.h>

int main(void)
{
    tt_tokenizer *t = NULL;
    tt_error err = {0};
    is_int(tt_tokenizer_open("bite", &t, &err), TT_ERR_CONFIG, "an unknown tokenizer");
    is_str(err.text,
           "there is no tokenizer \"bite\"; use \"byte\", or the path of a folder with tokenizer.json, of a tokenizer.json or of a "
           "rank file (tokenizer.model of Llama 3, *.tiktoken)",
           "says what there is");
    is_int(tt_tokenizer_open("byte", &t, &err), TT_OK, "byte opens");
    is_str(tt_tokenizer_name(t), "byte", "its name");
    ok(tt_tokenizer_vocab(t) == 258 && tt_tokenizer_bos(t) == 256 && tt_tokenizer_eos(t) == 257, "258 ids, 256 and 257 mark");

    char all[256], *text = NULL;
    int32_t *ids = NULL;
    size_t n = 0, bytes = 0;
    for (int i = 0; i < 256; i++)
        all[i] = (char)(255 - i);
    is_int(tt_tokenizer_encode(t, all, 256, &ids, &n, &err), TT_OK, "all bytes are encoded");
    ok(n == 256 && ids[0] == 255 && ids[255] == 0, "as themselves");
    is_int(tt_tokenizer_decode(t, ids, n, &text, &bytes, &err), TT_OK, "and decoded");
    ok(bytes == 256 && memcmp(text, all, 256) == 0, "to the same bytes");
    free(ids);
    free(text);
    is_int(tt_tokenizer_encode(t, "", 0, &ids, &n, &err), TT_OK, "an empty text");
    is_int((long long)n, 0, "has no ids");
    free(ids);
    const int32_t special[] = {256, 'h', 'i', 257}, bad[] = {1, 258};
    is_int(tt_tokenizer_decode(t, special, 4, &text, &bytes, &err), TT_OK, "special ids");
    is_str(text, "hi", "are left out");
    free(text);
    is_int(tt_tokenizer_decode(t, bad, 2, &text, &bytes, &err), TT_ERR_DATA, "an id outside");
    is_str(err.text,
           "decoding: id 258 at position 1 is not in the byte tokenizer's 0..257; the ids are of "
           "another tokenizer: use that one",
           "is named with its place");
    tt_tokenizer_close(&t);
    ok(t == NULL, "closed");
    tt_tokenizer_close(&t);
    return done_testing();
}
