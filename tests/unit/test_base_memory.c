/* SPDX-License-Identifier: BSD-3-Clause */
/* Out of memory in base: each job below with every one of its allocations failing. */
#include "tests/unit/failing_malloc.h"

#include <unistd.h>

#include "formats/base/output.h"
#include "formats/base/program.h"
#include "formats/base/stream.h"
#include "formats/base/yaml.h"
#include "tests/unit/vectors.h"

/* The jobs. Each returns what its work came to and frees all it got. */

static FILE *sink_file; /* opened beforehand: stdio's own allocations are not ours */

static enum psnap_status read_yaml(struct psnap_error *error)
{
    static const char text[] = "a: {b: [1, 2, 'three'], c: d}\nlist:\n- x\n- y: z\n  k: v\n";
    struct psnap_yaml_doc *doc = psnap_yaml_read_text(text, sizeof text - 1, "t", error);

    if (!doc)
        return error->code;
    psnap_yaml_doc_free(doc);
    return PSNAP_OK;
}

static enum psnap_status write_yaml(struct psnap_error *error)
{
    struct psnap_yaml_doc *doc = psnap_yaml_doc_new("t");
    enum psnap_status status;

    if (!doc)
        return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
    /* a builder that checks nothing */
    struct psnap_yaml_node *root = psnap_yaml_add_map(doc, NULL, NULL, PSNAP_YAML_BLOCK);
    for (uint64_t i = 0; i < 200; i++) {
        char key[16];
        snprintf(key, sizeof key, "k%d", (int)i);
        struct psnap_yaml_node *list = psnap_yaml_add_sequence(doc, root, key, PSNAP_YAML_FLOW);
        psnap_yaml_add_u64(doc, list, NULL, i);
        psnap_yaml_add_text(doc, list, NULL, "text");
        psnap_yaml_add_real(doc, list, NULL, 0.5);
    }
    status = psnap_yaml_write(doc, sink_file, error);
    psnap_yaml_doc_free(doc);
    return status;
}

static enum psnap_status build_program(struct psnap_error *error)
{
    static const char *const argv[] = {"prog", "-x", NULL};
    struct psnap_program *program = psnap_program_new();
    enum psnap_status status = PSNAP_ERROR_MEMORY;

    if (!program)
        goto out;
    if (psnap_program_set_command(program, argv) || psnap_program_add_anonymous(program, "trace"))
        goto out;
    for (uint32_t i = 0; i < 100; i++) {
        const struct psnap_object object = {i, 1, psnap_program_string(program, "o"), 0};
        if (!object.name || psnap_program_add_object(program, &object) == PSNAP_NONE)
            goto out;
    }
    status = PSNAP_OK;
out:
    psnap_program_free(program);
    return status ? psnap_error_set(error, status, "out of memory") : status;
}

static enum psnap_status pump(struct psnap_error *error)
{
    static struct psnap_access accesses[10000];
    struct psnap_source *source = vector_source_new(accesses, 10000, NULL);
    struct psnap_sink *vector = vector_sink_new(), *tee = psnap_tee_sink_new(&vector, 1);
    enum psnap_status status = PSNAP_ERROR_MEMORY;

    if (source)
        source = psnap_limit_source_new(source, 1, UINT64_MAX); /* frees it when it fails */
    if (source && vector && tee)
        status = psnap_pump(source, tee, NULL, error);
    else
        psnap_error_set(error, status, "out of memory");
    psnap_source_free(source);
    psnap_sink_free(tee);
    psnap_sink_free(vector);
    return status;
}

static char path[64];

static enum psnap_status write_output(struct psnap_error *error)
{
    struct psnap_output *output = psnap_output_open(path, true, error);

    if (!output)
        return error->code;
    fputs("x", psnap_output_file(output));
    return psnap_output_commit(output, error);
}

/* Opens the sink's file beforehand: stdio's own allocations are not ours. */
static int begin(void **state)
{
    static char buffer[4096];

    (void)state;
    sink_file = fopen("/dev/null", "w");
    return sink_file ? setvbuf(sink_file, buffer, _IOFBF, sizeof buffer) : -1;
}

static int end(void **state)
{
    (void)state;
    return fclose(sink_file);
}

TEST_WITHIN(begin, end, reading_yaml)
{
    run_job(read_yaml);
}

TEST_WITHIN(begin, end, writing_yaml)
{
    run_job(write_yaml);
}

TEST_WITHIN(begin, end, building_a_program)
{
    run_job(build_program);
}

TEST_WITHIN(begin, end, pumping)
{
    run_job(pump);
}

TEST_WITHIN(begin, end, writing_a_file)
{
    snprintf(path, sizeof path, "/tmp/psnap-memory-%ld", (long)getpid());
    run_job(write_output);
    assert_int_equal(unlink(path), 0);
}
