/* Pickles of plain data, written byte by byte; what would execute something is refused by name. */
#include <string.h>

#include "import/pickle.h"
#include "sim_helpers.h"

#define P "\x80\x04" /* protocol 4 */

static const struct vs_pickle *value;
static struct vs_err error;

static bool read_length(const char *bytes, size_t length) {
    error = (struct vs_err){.status = VS_OK};
    value = NULL;
    return vs_pickle_read(&sim_arena, "p", bytes, length, &value, &error);
}
/* A literal, zeros within it included. */
#define READ(literal) read_length(literal, sizeof(literal) - 1)

#define REFUSE(literal, message)                                                                   \
    do {                                                                                           \
        ck_assert(!READ(literal));                                                                 \
        ck_assert_int_eq(error.status, VS_ERR_INPUT);                                              \
        ck_assert_str_eq(error.text, message);                                                     \
    } while (0)

static void expect_int(bool negative, uint64_t magnitude) {
    ck_assert_ptr_nonnull(value);
    ck_assert_int_eq(value->kind, VS_PICKLE_INT);
    ck_assert_int_eq(value->negative, negative);
    ck_assert_uint_eq(value->integer, magnitude);
}

START_TEST(test_integers) {
    ck_assert(READ(P "K\xff."));
    expect_int(false, 255);
    ck_assert(READ(P "M\x01\x02."));
    expect_int(false, 513);
    ck_assert(READ(P "J\xff\xff\xff\xff."));
    expect_int(true, 1);
    ck_assert(READ(P "J\x00\x00\x00\x80."));
    expect_int(true, 1ULL << 31);
    ck_assert(READ(P "\x8a\x00."));
    expect_int(false, 0);
    ck_assert(READ(P "\x8a\x01\x80."));
    expect_int(true, 128);
    ck_assert(READ(P "\x8a\x08\x00\x00\x00\x00\x00\x00\x00\x80."));
    expect_int(true, 1ULL << 63);
    ck_assert(READ(P "\x8b\x09\x00\x00\x00\xff\xff\xff\xff\xff\xff\xff\xff\x00."));
    expect_int(false, UINT64_MAX);
    REFUSE(P "\x8a\x09\x00\x00\x00\x00\x00\x00\x00\x00\x01.",
           "p: byte 2: LONG1: found an integer beyond 64 bits");
}
END_TEST

START_TEST(test_others) {
    ck_assert(READ(P "N."));
    ck_assert_int_eq(value->kind, VS_PICKLE_NONE);
    ck_assert(READ(P "\x88."));
    ck_assert_int_eq(value->kind, VS_PICKLE_BOOL);
    ck_assert_uint_eq(value->integer, 1);
    ck_assert(READ(P "G\x3f\xf8\x00\x00\x00\x00\x00\x00."));
    ck_assert_int_eq(value->kind, VS_PICKLE_FLOAT);
    ck_assert_double_eq(value->number, 1.5);
    ck_assert(READ(P "\x8c\x02hi."));
    ck_assert(vs_pickle_is(value, "hi"));
    ck_assert(!vs_pickle_is(value, "h"));
    ck_assert(READ(P "C\x02\x00\x01."));
    ck_assert_int_eq(value->kind, VS_PICKLE_BYTES);
    ck_assert_uint_eq(value->count, 2);
}
END_TEST

/* {"a": [1, (2, 3)], "b": the same list} with a memo, and a key that is given twice. */
START_TEST(test_containers) {
    ck_assert(READ(P "}(\x8c\x01"
                     "a](K\x01K\x02K\x03\x86"
                     "e\x94\x8c\x01"
                     "bh\x00\x8c\x01"
                     "aN\x8c\x01"
                     "ah\x00u."));
    ck_assert_int_eq(value->kind, VS_PICKLE_DICT);
    const struct vs_pickle *list = vs_pickle_member(value, "a");
    ck_assert_ptr_eq(list, vs_pickle_member(value, "b"));
    ck_assert_uint_eq(list->count, 2);
    ck_assert_int_eq(list->children[1]->kind, VS_PICKLE_TUPLE);
    ck_assert_uint_eq(list->children[1]->children[1]->integer, 3);
    ck_assert_ptr_null(vs_pickle_member(value, "c"));
    ck_assert_ptr_null(vs_pickle_member(list, "a"));
}
END_TEST

/* What os.system("...") takes, in the ways of each protocol. */
START_TEST(test_refused) {
#define WHY "refused: only plain data of protocols 2 to 5 is read, and nothing is executed"
    REFUSE("\x80\x02"
           "cos\nsystem\n(X\x02\x00\x00\x00idtR.",
           "p: byte 2: GLOBAL: " WHY);
    REFUSE(P "\x8c\x02os\x8c\x06system\x93.", "p: byte 14: STACK_GLOBAL: " WHY);
    REFUSE(P "NNR.", "p: byte 4: REDUCE: " WHY);
    REFUSE(P "N}b.", "p: byte 4: BUILD: " WHY);
    REFUSE(P "NN\x81.", "p: byte 4: NEWOBJ: " WHY);
    REFUSE(P "NNN\x92.", "p: byte 5: NEWOBJ_EX: " WHY);
    REFUSE(P "(ios\nsystem\n.", "p: byte 3: INST: " WHY);
    REFUSE(P "(No.", "p: byte 4: OBJ: " WHY);
    REFUSE(P "\x82\x01.", "p: byte 2: EXT1: " WHY);
    REFUSE(P "NQ.", "p: byte 3: BINPERSID: " WHY);
    REFUSE(P "Px\n.", "p: byte 2: PERSID: " WHY);
    REFUSE(P "\x97.", "p: byte 2: NEXT_BUFFER: " WHY);
    REFUSE(P "\x8f.", "p: byte 2: EMPTY_SET: " WHY);
    REFUSE(P "I1\n.", "p: byte 2: INT: " WHY);
#undef WHY
}
END_TEST

START_TEST(test_hostile) {
    REFUSE("", "p: byte 0: expected a pickle of protocol 2 to 5");
    REFUSE("I1\n.", "p: byte 0: expected a pickle of protocol 2 to 5");
    REFUSE("\x80\x06N.", "p: byte 0: PROTO: expected protocol 2 to 5");
    REFUSE(P "N", "p: byte 3: the end of the file: expected more of a pickle");
    REFUSE(P "N.N", "p: byte 4: STOP: expected the end of the file behind it");
    REFUSE(P ".", "p: byte 2: STOP: expected one value on the stack");
    REFUSE(P "NN.", "p: byte 4: STOP: expected one value on the stack");
    REFUSE(P "\xff.", "p: byte 2: unknown opcode: expected an opcode of a pickle");
    REFUSE(P "\x8d\xff\xff\xff\xff\xff\xff\xff\xff.",
           "p: byte 2: BINUNICODE8: found a length beyond the end of the file");
    REFUSE(P "X\xff\xff\xff\x7fx.",
           "p: byte 2: BINUNICODE: found a length beyond the end of the file");
    REFUSE(P "\x95\x01", "p: byte 2: FRAME: found a length beyond the end of the file");
    REFUSE(P "]a.", "p: byte 3: APPEND: found too few values on the stack");
    REFUSE(P "NNa.", "p: byte 4: APPEND: expected a list");
    REFUSE(P "}(Nu.", "p: byte 5: SETITEMS: expected a dict and pairs");
    REFUSE(P "(Nd.", "p: byte 4: DICT: found a key without a value");
    REFUSE(P "(e.", "p: byte 3: APPENDS: found nothing to add to");
    REFUSE(P "e.", "p: byte 2: APPENDS: found no mark");
    REFUSE(P "0.", "p: byte 2: POP: found no mark");
    REFUSE(P "h\x00.", "p: byte 2: BINGET: found a memo number that nothing was stored under");
    REFUSE(P "Nr\xff\xff\xff\xff.",
           "p: byte 3: LONG_BINPUT: found a memo number that skips others");
    REFUSE(P "](\x85.", "p: byte 4: TUPLE1: found too few values on the stack");
}
END_TEST

/* 70 lists in one another, by the stack and by marks; a list that holds itself is only one deep,
 * and may be added to itself as often as it is not nested deeper than others. */
START_TEST(test_depth) {
    char bytes[256] = P;
    size_t n = 2;
    memset(bytes + n, ']', 70);
    memset(bytes + n + 70, 'a', 69);
    bytes[n + 139] = '.';
    ck_assert(!read_length(bytes, n + 140));
    ck_assert_ptr_nonnull(strstr(error.text, "APPEND: nested deeper than 64"));
    memset(bytes + n, '(', 70);
    ck_assert(!read_length(bytes, n + 70));
    ck_assert_str_eq(error.text, "p: byte 66: MARK: nested deeper than 64");
    ck_assert(READ(P "]\x94h\x00"
                     "a."));
    ck_assert_ptr_eq(value->children[0], value);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("pickle");
    TCase *tcase = tcase_create("all");
    suite_add_tcase(suite, tcase);
    tcase_add_checked_fixture(tcase, NULL, sim_end);
    tcase_add_test(tcase, test_integers);
    tcase_add_test(tcase, test_others);
    tcase_add_test(tcase, test_containers);
    tcase_add_test(tcase, test_refused);
    tcase_add_test(tcase, test_hostile);
    tcase_add_test(tcase, test_depth);
    return run_suite(suite);
}
