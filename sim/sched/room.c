#include "sched/room.h"

#include "memory/paged.h"

uint64_t vs_room_blocks_for(const struct vs_sched *s, uint64_t tokens) {
    const struct vs_sched_limits *l = &s->limits;
    const struct vs_paged paged = {l->block_tokens, l->window_blocks, l->window_part};
    return vs_paged_blocks(&paged, tokens) + l->sequence_blocks;
}

uint64_t vs_room_free(const struct vs_sched *s) {
    return s->free_blocks + s->prefix.idle * s->entry_blocks;
}

uint64_t vs_sched_used_blocks(const struct vs_sched *s) {
    return s->limits.blocks - vs_room_free(s);
}

bool vs_sched_fits(const struct vs_sched *s, uint64_t prompt, uint64_t gen) {
    bool whole = s->limits.reserve == VS_RESERVE_CONTEXT;
    return vs_room_blocks_for(s, whole ? s->limits.context : prompt + gen) <= s->limits.blocks;
}

/* Takes blocks that vs_room_free has seen. */
static void take(struct vs_sched *s, uint64_t blocks) {
    while (s->free_blocks < blocks && vs_prefix_evict(&s->prefix))
        s->free_blocks += s->entry_blocks;
    s->free_blocks -= blocks;
}

static uint64_t total(const struct vs_sched *s, const struct vs_sched_request *r) {
    return r->held * s->entry_blocks + r->blocks;
}

static void own(struct vs_sched *s, struct vs_sched_request *r, uint64_t blocks) {
    r->blocks += blocks;
    s->own_blocks += blocks;
}

bool vs_room_take(struct vs_sched *s, struct vs_sched_request *r, uint64_t tokens) {
    uint64_t has = total(s, r), needed = vs_room_blocks_for(s, tokens);
    if (has >= needed)
        return true;
    uint64_t more = needed - has;
    if (more > vs_room_free(s))
        return false;
    take(s, more);
    own(s, r, more);
    return true;
}

/* A key of the k-th entry of a sequence: the hash that its request came with, or one of its own,
 * under which nobody else will look. */
static uint64_t key_of(const struct vs_sched *s, const struct vs_sched_request *r, uint64_t k) {
    uint64_t hashes = s->limits.hash_tokens > 0 ? s->entry_tokens / s->limits.hash_tokens : 0;
    if (hashes > 0 && (k + 1) * hashes <= r->hash_count)
        return r->hashes[(k + 1) * hashes - 1];
    return ~(r->serial << 24 | (k & 0xFFFFFF));
}

static bool is_hashed(const struct vs_sched *s, const struct vs_sched_request *r, uint64_t k) {
    return s->limits.hash_tokens > 0 &&
           (k + 1) * (s->entry_tokens / s->limits.hash_tokens) <= r->hash_count;
}

uint64_t vs_room_hits(const struct vs_sched *s, const struct vs_sched_request *r) {
    if (!s->limits.prefix || r->fill < 2 || (r->hash_count == 0 && !r->thrown))
        return 0;
    uint64_t most = (r->fill - 1) / s->entry_tokens, k = 0;
    for (; k < most; k++) {
        uint64_t key = key_of(s, r, k);
        if (!vs_prefix_has(&s->prefix, key) && !vs_prefix_has(&s->host, key))
            break;
    }
    return k * s->entry_tokens;
}

bool vs_room_enter(struct vs_sched *s, struct vs_sched_request *r, uint64_t hits, uint64_t tokens,
                   uint64_t whole) {
    uint64_t entries = hits / s->entry_tokens, here = 0, idle = 0;
    for (uint64_t k = 0; k < entries; k++) {
        uint64_t key = key_of(s, r, k);
        here += vs_prefix_has(&s->prefix, key);
        idle += vs_prefix_is_idle(&s->prefix, key);
    }
    uint64_t keep = s->running > 0 ? s->limits.watermark : 0;
    uint64_t known = here * s->entry_blocks, more = vs_room_blocks_for(s, tokens) - known;
    if (vs_room_blocks_for(s, whole) - known + keep > vs_room_free(s) - idle * s->entry_blocks)
        return false;
    for (uint64_t k = 0; k < entries; k++)
        if (vs_prefix_has(&s->prefix, key_of(s, r, k)))
            vs_prefix_hold(&s->prefix, key_of(s, r, k));
    take(s, more);
    uint64_t loaded = 0;
    for (; r->held < entries; r->held++) {
        uint64_t key = key_of(s, r, r->held);
        if (vs_prefix_has(&s->prefix, key))
            continue;
        vs_prefix_touch(&s->host, key);
        if (!vs_prefix_add(&s->prefix, key, 1)) {
            s->failed = true;
            return false;
        }
        loaded++;
    }
    s->blocks_in += loaded * s->entry_blocks;
    own(s, r, more - loaded * s->entry_blocks);
    r->cached = hits;
    return true;
}

/* Beneath the prefix cache lies host memory: what is new goes there too, while the next step runs.
 */
static void store(struct vs_sched *s, uint64_t key) {
    uint64_t room = s->limits.host_blocks - s->swapped_blocks;
    if (s->entry_blocks > room)
        return;
    if (vs_prefix_has(&s->host, key)) {
        vs_prefix_touch(&s->host, key);
        return;
    }
    while ((s->host.entries.count + 1) * s->entry_blocks > room)
        (void)vs_prefix_evict(&s->host);
    s->stored_blocks += vs_prefix_add(&s->host, key, 0) ? s->entry_blocks : 0;
}

static void disown(struct vs_sched *s, struct vs_sched_request *r) {
    r->blocks -= s->entry_blocks;
    s->own_blocks -= s->entry_blocks;
    s->own_tokens -= s->entry_tokens;
}

void vs_room_publish(struct vs_sched *s, struct vs_sched_request *r) {
    if (!s->limits.prefix)
        return;
    while ((r->held + 1) * s->entry_tokens <= r->cached && is_hashed(s, r, r->held)) {
        uint64_t key = key_of(s, r, r->held);
        if (vs_prefix_has(&s->prefix, key)) { /* another one was as fast: theirs serves both */
            vs_prefix_hold(&s->prefix, key);
            s->free_blocks += s->entry_blocks;
        } else if (!vs_prefix_add(&s->prefix, key, 1)) {
            return; /* out of memory: it stays unknown */
        }
        disown(s, r);
        r->held++;
        store(s, key);
    }
}

/* Whole blocks behind those that are held become idle, the last one first, so that it is also the
 * first to be evicted. */
static void leave(struct vs_sched *s, struct vs_sched_request *r) {
    uint64_t whole = r->cached / s->entry_tokens;
    for (uint64_t k = whole; k-- > r->held;) {
        uint64_t key = key_of(s, r, k);
        if (!vs_prefix_has(&s->prefix, key) && vs_prefix_add(&s->prefix, key, 0))
            disown(s, r);
    }
}

void vs_room_give(struct vs_sched *s, struct vs_sched_request *r, bool keep) {
    uint64_t kept = r->held * s->entry_tokens;
    if (keep && s->limits.prefix) {
        uint64_t before = r->blocks;
        leave(s, r);
        kept += (before - r->blocks) / s->entry_blocks * s->entry_tokens;
    }
    s->own_tokens -= r->cached - kept;
    s->own_blocks -= r->blocks;
    s->free_blocks += r->blocks;
    while (r->held > 0)
        vs_prefix_drop(&s->prefix, key_of(s, r, --r->held));
    r->blocks = 0;
}

bool vs_room_swap_out(struct vs_sched *s, struct vs_sched_request *r) {
    uint64_t blocks = total(s, r);
    if (s->swapped_blocks + blocks > s->limits.host_blocks)
        return false;
    vs_room_give(s, r, false);
    r->swapped = blocks;
    s->swapped_blocks += blocks;
    s->blocks_out += blocks;
    while (s->host.entries.count * s->entry_blocks > s->limits.host_blocks - s->swapped_blocks)
        (void)vs_prefix_evict(&s->host);
    return true;
}

bool vs_room_swap_in(struct vs_sched *s, struct vs_sched_request *r) {
    uint64_t keep = s->running > 0 ? s->limits.watermark : 0, blocks = r->swapped;
    uint64_t next = vs_room_blocks_for(s, r->cached + 1);
    if ((next > blocks ? next : blocks) + keep > vs_room_free(s))
        return false;
    take(s, blocks);
    own(s, r, blocks);
    s->own_tokens += r->cached;
    s->swapped_blocks -= blocks;
    s->blocks_in += blocks;
    r->swapped = 0;
    return true;
}
