/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The native trace, in parts: frames (checksums, zstd), the coding of a chunk
 * of accesses, the tables. PST.md has the layout of the bytes. Private to
 * formats/.
 */
#ifndef PSNAP_FORMATS_PST_H
#define PSNAP_FORMATS_PST_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "formats/base/access.h"
#include "formats/base/program.h"
#include "formats/base/status.h"
#include "formats/base/stream.h"
#include "formats/base/map.h"
#include "formats/bytes.h"
#include "formats/formats.h"
#include "formats/reader.h"

#define PSNAP_PST_MAGIC "\x89PST\r\n\x1a\n"
#define PSNAP_PST_VERSION 3u
#define PSNAP_PST_FILE_HEADER 16u  /* bytes */
#define PSNAP_PST_FRAME_HEADER 40u /* bytes */

/* Types of frames: four characters. A reader may pass over a type it does not know when the
 * first one is a lower-case letter. */
#define PSNAP_PST_TYPE(a, b, c, d)                                                                 \
    ((uint32_t)(a) | (uint32_t)(b) << 8 | (uint32_t)(c) << 16 | (uint32_t)(d) << 24)
#define PSNAP_PST_TABLES PSNAP_PST_TYPE('T', 'a', 'b', 'l')
#define PSNAP_PST_ACCESSES PSNAP_PST_TYPE('A', 'c', 'c', 's')
#define PSNAP_PST_END PSNAP_PST_TYPE('E', 'n', 'd', '.')

/* What an End. frame says behind the executions. */
#define PSNAP_PST_LIMITED 1u /* a limit of the size ended the trace */

/* Sections of a Tabl payload. A reader passes over a tag it does not know. */
enum psnap_pst_section {
    PSNAP_PST_STRING_ROWS = 1,
    PSNAP_PST_PROVENANCE = 2,
    PSNAP_PST_LOOP_ROWS = 3,
    PSNAP_PST_BLOCK_ROWS = 4,
    PSNAP_PST_REF_ROWS = 5,
    PSNAP_PST_OBJECT_ROWS = 6,
    PSNAP_PST_PART = 7, /* of a run, and of a parallel job: left out when it is all of one */
    PSNAP_PST_RANK = 8
};

/* Limits of the format: a reader refuses what is larger, so a hostile file has bounded needs. */
#define PSNAP_PST_PAYLOAD_MAX (UINT32_C(64) << 20) /* bytes of a frame, stored or not */
#define PSNAP_PST_CHUNK_MAX (UINT32_C(1) << 31)    /* accesses of a chunk */
#define PSNAP_PST_LANES_MAX (UINT32_C(1) << 17)    /* of a chunk, as what follows */
#define PSNAP_PST_LITERALS_MAX (UINT32_C(1) << 22)
#define PSNAP_PST_COPIES_MAX (UINT32_C(1) << 22)
#define PSNAP_PST_WINDOWS_MAX (UINT32_C(1) << 22) /* tokens in the windows of all tracks */
#define PSNAP_PST_LOOPS_MAX (UINT32_C(1) << 20)
#define PSNAP_PST_BLOCKS_MAX (UINT32_C(1) << 22)
#define PSNAP_PST_REFS_MAX (UINT32_C(1) << 23)
#define PSNAP_PST_OBJECTS_MAX (UINT32_C(1) << 22)      /* a writer drops further ones */
#define PSNAP_PST_RUN_MAX PSNAP_RUN_MAX                /* accesses, and windows, of a run */
#define PSNAP_PST_STRING_MAX (UINT32_C(1) << 20)       /* bytes of one string */
#define PSNAP_PST_STRINGS_MAX (UINT64_C(256) << 20)    /* bytes of all strings */
#define PSNAP_PST_STRING_COUNT_MAX (UINT32_C(1) << 23) /* distinct strings */
#define PSNAP_PST_ARGUMENTS_MAX (UINT32_C(1) << 20)    /* of the command */
#define PSNAP_PST_REGIONS_MAX 1024u                    /* of interest */

/*
 * What the writer chooses. A chunk ends after so many literals, copies and
 * lanes, or when it has a quarter of the accesses before it, but not below
 * CHUNK_FIRST: so their number grows with the logarithm of a regular stream.
 */
#define PSNAP_PST_CHUNK_FIRST (UINT32_C(1) << 27)
#define PSNAP_PST_CHUNK_TOKENS (UINT32_C(1) << 17)
#define PSNAP_PST_CHUNK_LANES (UINT32_C(1) << 16)
#define PSNAP_PST_CHUNK_WINDOWS (UINT32_C(3) << 20) /* tokens in the windows of all tracks */
#define PSNAP_PST_WINDOW (UINT32_C(1) << 21)        /* and of one */

/* Literals and copies are folded as well, and what that makes: copies have one of these levels. */
#define PSNAP_PST_LEVELS 4u
#define PSNAP_PST_MORE_LEVELS 0x80u /* with a level's window: the next one has copies too */

/* How far back parts of a stream look, as a power of two, and payload bytes of a stream at most:
 * who wants a chunk in its middle decompresses it from its beginning. */
#define PSNAP_PST_STREAM_WINDOW_BITS 25
#define PSNAP_PST_STREAM_BYTES (UINT64_C(1) << 29)

/* A lane's other prediction takes over when it was right so many tokens in a row; that of the
 * access before each time twice as many, up to about 2^16. */
#define PSNAP_PST_OTHER_WINS 5u
#define PSNAP_PST_OTHER_WINS_MAX (1u << 16)
#define PSNAP_PST_TRUST_MAX 3u
#define PSNAP_PST_TRUSTED 2u

/* After so many literals of a track of addresses it is settled whether they or steps are written.
 */
#define PSNAP_PST_SETTLED 256u

/* Runs that the reader finds: their width at most, accesses and repetitions at least. */
#define PSNAP_PST_RUN_WIDTH 32u
#define PSNAP_PST_RUN_ACCESSES 64u
#define PSNAP_PST_RUN_COUNT 8u

/* A writer with chunks of at most `chunk_accesses`; 0: of lengths that grow with the trace. `limit`
 * may be NULL, else it must outlive the sink. */
struct psnap_sink *psnap_pst_writer_new(FILE *file, struct psnap_program *program,
                                        uint32_t chunk_accesses, struct psnap_trace_limit *limit,
                                        struct psnap_error *error);

/* ---- frames: pst_frame.c ---- */

struct psnap_pst_frame {
    uint32_t type;
    uint32_t accesses; /* in this frame */
    uint64_t first;    /* number of its first access; accesses before it, for other frames */
    uint64_t offset;   /* of the frame in the input */
    const unsigned char *stored;
    uint32_t stored_size, raw_size;
    uint8_t method;
};

struct ZSTD_CCtx_s;
struct ZSTD_DCtx_s;

/* Writes frames to a file, which it does not own; else zeroed at first. */
struct psnap_pst_packer {
    FILE *file;
    uint64_t chain; /* checksum of what was written last */
    uint64_t written;
    uint64_t max_bytes; /* of the file, before which frames must end from here on; 0: no limit */
    struct ZSTD_CCtx_s *single, *stream; /* from their first use on */
    unsigned char *packed;
    size_t packed_room;
    uint64_t streamed; /* payload bytes of the stream under way; 0: none is */
};

/* Reads frames. Zeroed at first. */
struct psnap_pst_unpacker {
    uint64_t chain;
    size_t consume; /* bytes of the reader's buffer that the frame given out last still needs */
    struct ZSTD_DCtx_s *single, *stream;
    unsigned char *raw;
    size_t raw_room;
    bool is_streaming; /* a stream was begun, and all of it seen */
};

/* Release the buffers and streams, not the structs. */
void psnap_pst_packer_release(struct psnap_pst_packer *packer);
void psnap_pst_unpacker_release(struct psnap_pst_unpacker *unpacker);

enum psnap_status psnap_pst_pack_file_header(struct psnap_pst_packer *packer,
                                             struct psnap_error *error);
/* Writes a frame with `frame`'s type, first and accesses, and this payload. PSNAP_ERROR_LIMIT, and
 * nothing is written: it does not fit before the limit. PSNAP_ERROR_VALUE: no reader would take it.
 */
enum psnap_status psnap_pst_pack(struct psnap_pst_packer *packer,
                                 const struct psnap_pst_frame *frame,
                                 const struct psnap_bytes *payload, struct psnap_error *error);

enum psnap_status psnap_pst_unpack_file_header(struct psnap_pst_unpacker *unpacker,
                                               struct psnap_reader *reader,
                                               struct psnap_error *error);
/* Reads a frame, checks its checksums and decompresses its payload. Both are valid until the next
 * call. */
enum psnap_status psnap_pst_unpack(struct psnap_pst_unpacker *unpacker, struct psnap_reader *reader,
                                   struct psnap_pst_frame *frame, struct psnap_cursor *payload,
                                   struct psnap_error *error);
/* For tools that make frames by hand (the fuzzer): the two checksums of a frame header. */
void psnap_pst_frame_seal(unsigned char *header, const unsigned char *stored, size_t stored_size,
                          uint64_t *chain);
void psnap_pst_file_header_make(unsigned char *header, uint32_t version, uint64_t *chain);

/* How a payload is stored: as it is, as one zstd frame, as the first or a further part of a stream,
 * which is one zstd frame over many payloads. */
enum { PSNAP_PST_STORED, PSNAP_PST_ZSTD, PSNAP_PST_BEGUN, PSNAP_PST_CONTINUED };

/* What a part of a stream may take: a bit more than the payload, when that is random. */
static inline uint64_t psnap_pst_stored_max(uint64_t raw_size)
{
    return raw_size + raw_size / 256 + 64;
}

/* ---- tokens of a track: pst_fold.c ---- */

/*
 * An item of a sequence that is folded. A token: after `run` right predictions a wrong one, the
 * value is instead this. Or a copy, which is an item for the next level: the value is its `from`,
 * the run its length.
 */
struct psnap_pst_token {
    uint64_t value;
    uint32_t run;
    uint16_t level;    /* of the copy; 0: a token */
    uint16_t expected; /* a literal's value is the one expected, which need not be written */
};

/* After `literals` items of lower levels, `length` items from before: `from` is twice the
 * distance, plus 1 when they go on in a straight line, see PST.md. */
struct psnap_pst_copy {
    uint32_t literals, from, length;
};

/* Folds one sequence: tokens, or what the level below made of them. */
struct psnap_pst_level {
    struct psnap_pst_token *window;    /* the last items once there was a copy, a ring */
    struct psnap_pst_copy *copies;     /* that no higher level has folded */
    uint32_t window_room, window_have; /* a power of two or 0, and what there is memory for */
    uint32_t copy_count, copy_room;
    uint32_t count;            /* of items */
    uint32_t needed;           /* items of the window that copies reach back */
    uint32_t distance, length; /* of the copy under way; 0: none */
    uint32_t mark;             /* items of lower levels that were written at the last copy */
    uint32_t spent;            /* on searches that saved nothing */
    bool straight;             /* the copy under way goes on in a straight line */
};

/* The tokens of one track of the chunk, folded as they come. Zeroed is empty. */
struct psnap_pst_track {
    uint64_t *values;              /* of literals */
    uint32_t *runs;                /* theirs, as written: twice that, plus 1 when the value is the
                                      one expected, which need not be written */
    uint64_t *addresses;           /* of literals, unless it is settled that steps are written */
    struct psnap_pst_level first;  /* folds the tokens */
    struct psnap_pst_level *upper; /* and these what the one before made, each from its first copy
                                      on; LEVELS - 1, or NULL */
    uint32_t upper_count;
    uint32_t literal_count, value_room, run_room, address_room;
    uint64_t expected; /* value of the next token, if that is literal */
    uint64_t hash;     /* of the last four tokens */
    uint32_t quiet;    /* tokens to come that are literals and need no search, but for their hash */
    bool absolute;     /* values of literals are addresses, else steps */
};

/* Level 1 to 1 + upper_count of a track. */
static inline struct psnap_pst_level *psnap_pst_track_level(struct psnap_pst_track *track,
                                                            uint32_t level)
{
    return level == 1 ? &track->first : &track->upper[level - 2];
}

/* Folds all tracks of a chunk. */
struct psnap_pst_folder {
    struct psnap_pst_places *places; /* where tokens were seen */
    uint32_t epoch;                  /* plus a track's number it is the owner of its places */
    uint32_t tokens;                 /* literals and copies of all tracks so far */
    uint32_t windows;                /* room of all windows */
};

/* Its places are to be freed. False: out of memory. */
bool psnap_pst_folder_init(struct psnap_pst_folder *folder);
/* Starts a chunk: tracks of the last one are forgotten. */
void psnap_pst_folder_start(struct psnap_pst_folder *folder);
#define PSNAP_PST_SAMPLE_MASK 15u  /* one token in 16, by its hash, is put down */
#define PSNAP_PST_SELDOM_MASK 127u /* one in 128 in tracks that are searched less often */

/* What tells tokens, and the three before each, of all tracks apart. */
static inline uint64_t psnap_pst_track_hash(const struct psnap_pst_track *track, uint32_t number)
{
    return (track->hash + number) * UINT64_C(0x9e3779b97f4a7c15);
}

static inline bool psnap_pst_is_sampled(uint64_t hash, uint64_t mask)
{
    return ((hash >> 20) & mask) == 0;
}

/* psnap_pst_fold when the token is in the hash already, and is not a literal and no more. */
bool psnap_pst_fold_search(struct psnap_pst_folder *folder, struct psnap_pst_track *track,
                           uint32_t number, struct psnap_pst_token token, const uint64_t *address);

/*
 * Takes the next token (value, run) of a track, whose number is `number`, what value is then to be
 * expected of the one after it, and the address, for a track of those, else NULL; false: out of
 * memory.
 */
static inline bool psnap_pst_fold(struct psnap_pst_folder *folder, struct psnap_pst_track *track,
                                  uint32_t number, uint64_t value, uint32_t run, uint64_t expected,
                                  const uint64_t *address)
{
    const struct psnap_pst_token token = {value, run, 0, value == track->expected};
    const uint32_t n = track->literal_count;

    track->expected = expected;
    track->hash =
        (track->hash << 16) + ((value + ((uint64_t)run << 40)) * UINT64_C(0xd6e8feb86659fd93) >> 7);
    if (track->quiet == 0 ||
        psnap_pst_is_sampled(psnap_pst_track_hash(track, number), PSNAP_PST_SELDOM_MASK))
        return psnap_pst_fold_search(folder, track, number, token, address);
    track->quiet--;
    track->values[n] = value;
    track->runs[n] = 2 * run + token.expected;
    if (address && track->absolute)
        track->addresses[n] = *address;
    track->literal_count++;
    folder->tokens++;
    if (track->first.window_room)
        track->first.window[track->first.count & (track->first.window_room - 1)] = token;
    track->first.count++;
    return true;
}

/* Ends the copy under way and settles how literals are written; false: out of memory. */
bool psnap_pst_fold_end(struct psnap_pst_folder *folder, struct psnap_pst_track *track);
/* Empties a track; its memory stays and is counted. */
void psnap_pst_track_reset(struct psnap_pst_track *track, size_t *bytes);
void psnap_pst_track_release(struct psnap_pst_track *track);

/* ---- accesses of a chunk: pst_encode.c, pst_decode.c ---- */

/* Everything of an access but its address, and where its addresses begin. */
struct psnap_pst_lane {
    struct psnap_access first;
    struct psnap_pst_track next, address; /* wrong predictions of each kind */
    uint32_t logged[2];                   /* the last ones of each in a log */
};

#define PSNAP_PST_BASE_BITS 12

/* What lanes last counted their absolute addresses from, in chunks before. Zeroed is empty. */
struct psnap_pst_base {
    uint64_t key; /* the second half of the lane's access records */
    uint64_t base;
};

struct psnap_pst_bases {
    struct psnap_pst_base at[1 << PSNAP_PST_BASE_BITS]; /* by hash; the last one stays */
};

struct psnap_pst_encoder;
struct psnap_pst_decoder;

/* It is zeroed before. False: out of memory. */
bool psnap_pst_encoder_init(struct psnap_pst_encoder *encoder);
/* What it has, but for itself. */
void psnap_pst_encoder_release(struct psnap_pst_encoder *encoder);
/* Takes up to `n` accesses, whose refs must be below `ref_count`, until the chunk is full; *taken
 * says how many. After an error the encoder is good for nothing but freeing. */
enum psnap_status psnap_pst_encoder_put(struct psnap_pst_encoder *encoder,
                                        const struct psnap_access *block, size_t n,
                                        uint32_t ref_count, size_t *taken,
                                        struct psnap_error *error);
/* Takes up to `limit` repetitions of a run without columns, from the i-th on (not 0), at once:
 * those that are predicted as they stand, so all or none. Returns how many. */
uint32_t psnap_pst_encoder_repeat(struct psnap_pst_encoder *encoder, const struct psnap_run *run,
                                  uint64_t i, uint64_t limit);
/* Whether tokens are noted from here on, for `forward`; those before are forgotten. */
void psnap_pst_encoder_log(struct psnap_pst_encoder *encoder, bool is_on);
/*
 * To be called when an iteration of the loop that the walk has open at `depth` is over, after those
 * of loops within it. Takes further ones at once, if what they do to the chunk follows from those
 * before, and sets the walk to the last of them. The chunk then has at most `limit` accesses.
 * False: out of memory.
 */
bool psnap_pst_encoder_forward(struct psnap_pst_encoder *encoder, struct psnap_nest_walk *walk,
                               uint32_t depth, uint64_t limit);
/* It takes no further access: what it has must be flushed. */
bool psnap_pst_encoder_full(const struct psnap_pst_encoder *encoder);
/* Replaces *payload by the chunk so far (at least one access) and starts the next one. */
enum psnap_status psnap_pst_encoder_flush(struct psnap_pst_encoder *encoder,
                                          struct psnap_bytes *payload, struct psnap_error *error);

/* One level of a track read. */
struct psnap_pst_unfold_level {
    const struct psnap_pst_copy *copies; /* not owned */
    struct psnap_pst_token *window;      /* neither; the last items of the sequence it unfolds to */
    uint32_t window_room, count;
    uint32_t copy_count; /* as written, still to come */
    uint32_t left;       /* items of lower levels as written, before the next of them */
    uint32_t length;     /* of the copy under way, still to come */
    uint32_t distance;
    bool straight;
};

/*
 * The step from the base not in use that tokens of a lane mostly have: `trust` goes up when one
 * has it and down when not; at 0 it becomes another. From PSNAP_PST_TRUSTED on the value of the
 * next token is expected to be that.
 */
struct psnap_pst_favourite {
    uint64_t other;
    uint32_t trust;
};

static inline void psnap_pst_favourite_note(struct psnap_pst_favourite *favourite, uint64_t other)
{
    if (other == favourite->other)
        favourite->trust += favourite->trust < PSNAP_PST_TRUST_MAX;
    else if (favourite->trust > 0)
        favourite->trust--;
    else
        favourite->other = other;
}

/* A track read: gives its tokens one after the other. */
struct psnap_pst_unfolder {
    const uint64_t *values; /* of literals; what follows too is not owned */
    const uint32_t *runs;   /* theirs: twice that, plus 1 when the value is the one expected */
    struct psnap_pst_unfold_level *levels;
    uint32_t level_count;
    uint32_t left, literals; /* literals that come next, and those after them */
    uint32_t from;           /* level whose copy gave the last token; for a literal level_count */
    bool literal;            /* the token given out last: is a literal ... */
    bool expected;           /* ... whose value is the one expected */
    bool bad;                /* there are no more, as copies cannot be as they are */
};

/* What it has, but for itself. */
void psnap_pst_decoder_release(struct psnap_pst_decoder *decoder);
/* Starts a chunk of `accesses`; `payload` may go after the call. */
enum psnap_status psnap_pst_decoder_start(struct psnap_pst_decoder *decoder,
                                          struct psnap_cursor *payload, uint32_t accesses,
                                          uint32_t ref_count, struct psnap_error *error);
/* The next `n` accesses, at most what is left of the chunk. */
enum psnap_status psnap_pst_decoder_next(struct psnap_pst_decoder *decoder,
                                         struct psnap_access *block, size_t n,
                                         struct psnap_error *error);
static inline enum psnap_status psnap_pst_makes_no_sense(struct psnap_error *error)
{
    return psnap_error_set(error, PSNAP_ERROR_CORRUPT, "chunk of accesses makes no sense");
}
/* Whether the chunk goes on, or all of its tokens were taken when its accesses were. */
bool psnap_pst_decoder_is_whole(const struct psnap_pst_decoder *decoder);
/* What the decoder finds of a run. */
struct psnap_pst_run {
    struct psnap_access first[PSNAP_PST_RUN_WIDTH];
    int64_t strides[PSNAP_PST_RUN_WIDTH];
    size_t width;
    uint32_t count; /* 0: no run begins here */
};

/* Writes *n, at most `room`, of the next `limit` accesses, and stops where a run begins that is
 * worth it; the run is of those that follow, and gone through. Nobody checks if the chunk is whole.
 */
enum psnap_status psnap_pst_decoder_next_run(struct psnap_pst_decoder *decoder,
                                             const struct psnap_program *program, uint64_t limit,
                                             struct psnap_access *block, size_t room, size_t *n,
                                             struct psnap_pst_run *run, struct psnap_error *error);

/* ---- tables: pst_tables.c ---- */

/* An object that is not announced yet, and the access before which it is. */
struct psnap_pst_waiting {
    uint64_t position;
    struct psnap_object object;
};

struct psnap_pst_strings {
    const char **items;
    size_t room;
};

/* Zeroed but for the program. They are written or read. */
struct psnap_pst_tables {
    struct psnap_program *program;
    bool is_read;
    enum psnap_status status; /* the first thing that went wrong */
    const char *message;
    const char **strings;  /* by number; 0 is "" and never written */
    uint32_t string_count; /* but for "" */
    size_t string_room;
    uint64_t string_bytes;
    uint32_t operations; /* that the blocks of this section count */
    /* Written: rows so far; those of the section that is made, and of the last ones of one row */
    uint32_t loop_count, block_count, ref_count, object_count;
    struct psnap_bytes new_strings, rows, last[3];
    uint32_t new_string_count;
    struct psnap_map numbers; /* of strings */
    uint64_t *positions;      /* where the objects from object_count on were announced */
    uint32_t noted;           /* all objects */
    size_t position_room;
    /* Read: */
    struct psnap_cursor section;
    uint32_t loops_checked;
    struct psnap_pst_waiting *waiting;
    uint32_t waiting_count, announced;
    struct psnap_pst_strings command, regions;
    double *errors;
    size_t waiting_room, error_room;
};

/* Releases the tables' buffers, not the struct. */
void psnap_pst_tables_release(struct psnap_pst_tables *tables);
/* Notes that the objects new since the last call were announced before access `position`. */
enum psnap_status psnap_pst_tables_note(struct psnap_pst_tables *tables, uint64_t position,
                                        struct psnap_error *error);
/* Replaces *payload by what is new, a few MiB at a time: empty when nothing is. */
enum psnap_status psnap_pst_tables_flush(struct psnap_pst_tables *tables,
                                         struct psnap_bytes *payload, struct psnap_error *error);
/* Appends the executions of all blocks. */
void psnap_pst_tables_executions(const struct psnap_pst_tables *tables,
                                 struct psnap_bytes *payload);
/* Adds the rows of a payload to the program; objects wait until they are announced. */
enum psnap_status psnap_pst_tables_read(struct psnap_pst_tables *tables,
                                        struct psnap_cursor *payload, struct psnap_error *error);
/* To be called before accesses are read: checks what loops say of rows that came after them. */
enum psnap_status psnap_pst_tables_check(struct psnap_pst_tables *tables,
                                         struct psnap_error *error);
/* No more tables come, as the trace was cut off: what loops not yet checked say of rows that are
 * not there is forgotten. */
void psnap_pst_tables_cut(struct psnap_pst_tables *tables);
/* Adds the objects announced up to access `position` to the program; *next gets the position of
 * the first one after (UINT64_MAX: none is known). */
enum psnap_status psnap_pst_tables_announce(struct psnap_pst_tables *tables, uint64_t position,
                                            uint64_t *next, struct psnap_error *error);
enum psnap_status psnap_pst_tables_read_executions(struct psnap_pst_tables *tables,
                                                   struct psnap_cursor *payload,
                                                   struct psnap_error *error);

#endif
