/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The text that Valgrind's lackey prints with --trace-mem=yes: "I  pc,size"
 * for an instruction, " L address,size", " S address,size" and
 * " M address,size" for its accesses; hexadecimal in lower case without 0x,
 * sizes decimal. A modify is a load and a store. Valgrind's own lines
 * ("==pid==", "--pid--") and blank ones are passed over.
 *
 * The instruction line before an access is its program counter, so each
 * (counter, kind, size) becomes a reference, all in one loop called "lackey":
 * lackey knows no functions or loops. After 2^20 of them, and for accesses
 * without an instruction line, the references are 0 (load) and 1 (store).
 */
#include <stdlib.h>
#include <string.h>

#include "formats/text_trace.h"

#define REFS_MAX (1u << 20)
#define FIRST_BUCKETS 4096u

struct pc_ref {
    uint64_t pc;
    uint32_t ref; /* 0: empty bucket */
    uint16_t size;
    uint8_t kind;
};

struct lackey_trace {
    struct psnap_text_trace text;
    struct pc_ref *buckets; /* open addressing */
    uint32_t bucket_count;  /* a power of two, at least twice ref_count */
    uint32_t ref_count;
    uint64_t pc;
    bool has_pc;
};

static uint32_t bucket_of(const struct pc_ref *wanted, uint32_t bucket_count)
{
    const uint64_t mixed =
        (wanted->pc ^ (uint64_t)wanted->size << 48 ^ (uint64_t)wanted->kind << 62) *
        UINT64_C(0x9e3779b97f4a7c15);

    return (uint32_t)(mixed >> 32) & (bucket_count - 1);
}

static struct pc_ref *find_bucket(struct pc_ref *buckets, uint32_t bucket_count,
                                  const struct pc_ref *wanted)
{
    uint32_t b = bucket_of(wanted, bucket_count);

    while (buckets[b].ref && (buckets[b].pc != wanted->pc || buckets[b].size != wanted->size ||
                              buckets[b].kind != wanted->kind))
        b = (b + 1) & (bucket_count - 1);
    return &buckets[b];
}

static bool grow_buckets(struct lackey_trace *lackey)
{
    const uint32_t count = lackey->bucket_count * 2;
    struct pc_ref *buckets = calloc(count, sizeof *buckets);

    if (!buckets)
        return false;
    for (uint32_t b = 0; b < lackey->bucket_count; b++)
        if (lackey->buckets[b].ref)
            *find_bucket(buckets, count, &lackey->buckets[b]) = lackey->buckets[b];
    free(lackey->buckets);
    lackey->buckets = buckets;
    lackey->bucket_count = count;
    return true;
}

/* The reference of the current instruction for an access like this; PSNAP_NONE: out of memory. */
static uint32_t find_ref(struct lackey_trace *lackey, enum psnap_access_kind kind, uint64_t size)
{
    struct pc_ref wanted = {lackey->pc, 0, (uint16_t)size, (uint8_t)kind};
    struct psnap_ref ref = {.kind = (uint8_t)kind,
                            .size = size <= PSNAP_ACCESS_SIZE_MAX ? (uint8_t)size : 0};
    struct pc_ref *bucket;

    if (!lackey->has_pc || size > PSNAP_TEXT_SIZE_MAX)
        return (uint32_t)kind;
    if (lackey->ref_count >= lackey->bucket_count / 2 && !grow_buckets(lackey))
        return PSNAP_NONE;
    bucket = find_bucket(lackey->buckets, lackey->bucket_count, &wanted);
    if (bucket->ref)
        return bucket->ref;
    if (lackey->ref_count >= REFS_MAX)
        return (uint32_t)kind;
    wanted.ref = psnap_program_add_ref(lackey->text.trace.base.program, &ref);
    if (wanted.ref != PSNAP_NONE) {
        *bucket = wanted;
        lackey->ref_count++;
    }
    return wanted.ref;
}

/* Scans a line; *type is 0 for one that is passed over. */
static enum psnap_status scan_line(struct psnap_scan *scan, unsigned char *type, uint64_t *address,
                                   uint64_t *size, struct psnap_error *error)
{
    *type = 0;
    if (psnap_scan_done(scan) || (scan->at[0] == '=' && scan->at[1] == '=') ||
        (scan->at[0] == '-' && scan->at[1] == '-'))
        return PSNAP_OK;
    if ((*scan->at != 'I' && *scan->at != 'L' && *scan->at != 'S' && *scan->at != 'M') ||
        (scan->at[1] != ' ' && scan->at[1] != '\t'))
        return psnap_scan_expected("I, L, S or M and a blank", error);
    *type = *scan->at++;
    psnap_scan_blanks(scan);
    if (!psnap_scan_hex(scan, address))
        return psnap_scan_expected("a hexadecimal address of at most 64 bits", error);
    if (*scan->at != ',')
        return psnap_scan_expected("a comma", error);
    scan->at++;
    if (!psnap_scan_decimal(scan, size))
        return psnap_scan_expected("a decimal size", error);
    return psnap_scan_done(scan) ? PSNAP_OK : psnap_scan_expected("the end of the line", error);
}

static enum psnap_status add_access(struct lackey_trace *lackey, uint64_t address, uint64_t size,
                                    enum psnap_access_kind kind, struct psnap_access *out,
                                    size_t *n, struct psnap_error *error)
{
    const uint32_t ref = find_ref(lackey, kind, size);

    if (ref == PSNAP_NONE)
        return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
    return psnap_text_access(address, size, kind, ref, out, n, error);
}

static enum psnap_status lackey_line(struct psnap_text_trace *trace, struct psnap_scan *scan,
                                     struct psnap_access *out, size_t *n, struct psnap_error *error)
{
    struct lackey_trace *lackey = (struct lackey_trace *)trace;
    uint64_t address = 0, size = 0;
    unsigned char type;
    enum psnap_status status = scan_line(scan, &type, &address, &size, error);

    if (type == 'I' && status == PSNAP_OK) {
        lackey->pc = address;
        lackey->has_pc = true;
        return PSNAP_OK;
    }
    if (status == PSNAP_OK && (type == 'L' || type == 'M'))
        status = add_access(lackey, address, size, PSNAP_LOAD, out, n, error);
    if (status == PSNAP_OK && (type == 'S' || type == 'M'))
        status = add_access(lackey, address, size, PSNAP_STORE, out, n, error);
    return status;
}

/* Sure when the first line that is not Valgrind's own is good. */
static int lackey_bid(const unsigned char *start, size_t n, bool whole)
{
    struct psnap_scan scan;
    size_t at = 0;
    bool valgrind = false;

    while (psnap_text_bid_line(start, n, whole, &at, &scan)) {
        uint64_t address, size;
        unsigned char type;

        if (scan_line(&scan, &type, &address, &size, NULL) != PSNAP_OK)
            return 0;
        if (type)
            return 60;
        valgrind = true;
    }
    return valgrind ? 30 : 0;
}

static void lackey_release(struct psnap_text_trace *trace)
{
    free(((struct lackey_trace *)trace)->buckets);
}

static struct psnap_trace *lackey_open(struct psnap_reader *reader, struct psnap_error *error)
{
    struct lackey_trace *lackey = calloc(1, sizeof *lackey);

    if (lackey) {
        lackey->text.line = lackey_line;
        lackey->text.release = lackey_release;
        lackey->bucket_count = FIRST_BUCKETS;
        lackey->buckets = calloc(FIRST_BUCKETS, sizeof *lackey->buckets);
    }
    if (lackey && !lackey->buckets) {
        free(lackey);
        lackey = NULL;
    }
    return psnap_text_trace_open(lackey ? &lackey->text : NULL, reader, "lackey", error);
}

static char *lackey_format(char *to, const struct psnap_access *access)
{
    memcpy(to, access->kind == PSNAP_LOAD ? " L " : " S ", 3);
    to = psnap_text_put_hex(to + 3, access->address, 8);
    *to++ = ',';
    to = psnap_text_put_decimal(to, access->size);
    *to++ = '\n';
    return to;
}

static struct psnap_sink *lackey_create(FILE *file, struct psnap_program *program,
                                        struct psnap_error *error)
{
    (void)program;
    return psnap_text_sink_new(file, "", lackey_format, error);
}

static const struct psnap_format_ops lackey_ops = {lackey_bid, lackey_open, NULL, lackey_create};

const struct psnap_format psnap_format_lackey = {
    .name = "lackey",
    .summary = "Valgrind lackey's text (--trace-mem=yes)",
    .description =
        "One line per access: ' L address,size' or ' S address,size', address hexadecimal,\n"
        "size decimal. Read, 'M' is a load and a store, and an 'I' line is the program\n"
        "counter of the accesses after it: every counter's loads and stores become\n"
        "references. Valgrind's own lines (==pid==) are passed over. Written, an atomic\n"
        "is a store, so that the number of accesses stays.\n",
    .loses = "atomic, thread, reference, program",
    .readable = true,
    .writable = true,
    .is_text = true,
    .ops = &lackey_ops,
};
