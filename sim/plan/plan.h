/* The plan: a case as data. Where each tensor lives, and the operations of each phase with their
 * FLOPs, bytes, stream, dependencies and the buffers that they take and give back. It knows no
 * time: what an operation costs on a machine is decided when run/lower.c turns it into activities.
 *
 * Two levels:
 *   layout   struct vs_plan: types, homes and policies; strategies edit it in fixed stages;
 *   phases   struct vs_phase: operations for given numbers of tokens, emitted from the layout.
 * A phase is what the host issues between two points at which the device is drained, in program
 * order.
 */
#ifndef VS_PLAN_PLAN_H
#define VS_PLAN_PLAN_H

#include "base/arena.h"
#include "base/vec.h"
#include "memory/pool.h"
#include "model/model.h"
#include "work/case.h"

/* Memories. Device i has VS_HOME_GPU + i. With unified memory all but storage are device 0's. */
enum vs_home { VS_HOME_HOST, VS_HOME_PINNED, VS_HOME_STORAGE, VS_HOME_GPU };
enum { VS_DEVICES_PLANNED = 64, VS_HOME_COUNT = VS_HOME_GPU + VS_DEVICES_PLANNED };

static inline enum vs_home vs_gpu_home(unsigned device) {
    return (enum vs_home)(VS_HOME_GPU + device);
}
static inline bool vs_on_gpu(unsigned home) { return home >= VS_HOME_GPU; }

/* Streams: operations of a lane run in the order of issue. The first four are each device's own.
 */
enum vs_lane {
    VS_LANE_COMPUTE,
    VS_LANE_H2D,
    VS_LANE_D2H,
    VS_LANE_COMM,  /* collectives */
    VS_LANE_ISSUE, /* the host thread that launches kernels */
    VS_LANE_CPU,   /* host threads that compute */
    VS_LANE_STORAGE,
    VS_LANE_COUNT
};

static inline bool vs_lane_is_host(enum vs_lane lane) { return lane >= VS_LANE_ISSUE; }

/* Kinds of work: what the cost laws of run/cost.c tell apart. */
enum vs_work_kind {
    VS_WORK_NOTHING, /* takes and gives back memory only */
    VS_WORK_GEMM,    /* matrix x matrix */
    VS_WORK_GEMV,    /* few tokens: reads weights of `type` */
    VS_WORK_ATTENTION,
    VS_WORK_NAIVE_ATTENTION, /* its matrix products; the scores' traffic is element-wise work */
    VS_WORK_KV_READ,         /* decode attention over a cache, fused */
    VS_WORK_KV_READ_NAIVE,   /* the same with the score matrix in memory */
    VS_WORK_ELEMENT,         /* element-wise kernels, norms, losses */
    VS_WORK_ADAPTER,         /* low-rank matrices and the copies around them */
    VS_WORK_DEQUANT,         /* packed weights to 16 bit */
    VS_WORK_FIXED,           /* small kernels: seconds from the engine file */
    VS_WORK_OPTIMIZER,
    VS_WORK_COPY,       /* over the link, direction by lane */
    VS_WORK_HOP,        /* a hidden state from one device to the next, through the host */
    VS_WORK_GATHER,     /* all-gather, or reduce-scatter: `bytes` of the whole array */
    VS_WORK_ALL_REDUCE, /* `bytes` of the array */
    VS_WORK_ALL_TO_ALL, /* each member sends `bytes`, a part to each */
    VS_WORK_SEND,       /* `bytes` to the same place in another group of ranks */
    VS_WORK_CPU_GEMV,
    VS_WORK_CPU_GEMM,
    VS_WORK_CPU_ATTENTION,
    VS_WORK_CPU_OPTIMIZER,
    VS_WORK_STORAGE_READ,
    VS_WORK_STORAGE_WRITE,
    VS_WORK_SYNC, /* the host waits for what this depends on */
    VS_WORK_KIND_COUNT
};
const char *vs_work_name(enum vs_work_kind kind); /* "gemm": part of files, never changes */

/* Whose free blocks of a device serve a request, where collectives have streams of their own. */
enum vs_stream {
    VS_STREAM_COMPUTE,
    VS_STREAM_GATHER, /* units that are made whole */
    VS_STREAM_REDUCE, /* gradients on their way to their owners, and where they end up */
};

/* Memory that an operation needs for as long as it is held. Small: a micro-step has tens of
 * thousands. */
struct vs_buffer {
    const char *what; /* "mlp.down_proj"; static or in the plan's arena; not unique */
    uint64_t bytes;
    int32_t layer;    /* -1 outside the layers */
    uint8_t home;     /* enum vs_home */
    uint8_t tag;      /* enum vs_tag */
    uint8_t stream;   /* enum vs_stream; of a GPU's buffers */
    bool raw : 1;     /* past the allocator, straight from the driver */
    bool managed : 1; /* pages that migrate on demand */
};
typedef uint32_t vs_buffer_id; /* index into vs_plan.buffers */
#define VS_NO_BUFFER UINT32_MAX

enum vs_mem_verb {
    VS_MEM_TAKE,
    VS_MEM_GIVE,
    VS_MEM_RETIRE,     /* gives it, while another stream may still use it */
    VS_MEM_TOUCH,      /* uses the first pages of a managed buffer, up to `bytes` */
    VS_MEM_DRAW,       /* uses `bytes` of its pages, drawn evenly */
    VS_MEM_ENSURE,     /* takes it unless it is held: states that the first step makes */
    VS_MEM_ACCUMULATE, /* takes it; where it is held, takes and gives a temporary of its size:
                          gradients */
};
struct vs_mem_action {
    enum vs_mem_verb verb;
    vs_buffer_id buffer;
    uint64_t bytes; /* of touches; all where the buffer is smaller */
};

typedef uint32_t vs_op_id; /* index into vs_phase.ops */
#define VS_NO_OP UINT32_MAX

/* Members of a collective: how many, and how far apart they stand in the order of ranks, in which
 * neighbours share a node. 0 members = all devices. */
struct vs_ring {
    uint32_t members, stride;
};

struct vs_op {
    enum vs_work_kind kind;
    enum vs_lane lane;
    const char *what;    /* "mlp.down_proj", "self_attn backward" */
    int32_t layer;       /* -1 outside the layers */
    bool fp32;           /* arithmetic in fp32 instead of 16 bit */
    bool fp8, fp4;       /* matrix products in 8 bit, in 4 bit */
    struct vs_ring ring; /* of a collective; a send goes `stride` ranks further */
    double copies;  /* all to all: members that each vector goes to; to another node it goes once,
                       whatever their number there */
    uint8_t device; /* that works, or at the device end of a copy */
    bool pinned;    /* copies: from or to page-locked memory */
    const struct vs_type *type; /* of the weights that it reads; NULL = 16 bit */
    double flops;
    double efficiency; /* share of a large product's rate that this one reaches; 0 = all of it. Of
                          reading a cache: of attention's, 0 = its FLOPs don't count */
    double bytes;      /* traffic on the memory of the processor that works, or over the link */
    double kernels;    /* kernels that run one after the other: each starts and drains */
    double cost_s;     /* a fixed cost from the engine file */
    double launches;   /* kernels that the host issues for it */
    uint32_t first_mem, mem_count; /* actions just before it is issued, in vs_phase.mem */
    uint32_t first_dep,
        dep_count; /* earlier operations that it waits for besides its lane, in vs_phase.deps */
};

struct vs_phase {
    const char *name; /* "load", "prefill", "decode", "micro-step", "optimizer step" */
    VS_VEC(struct vs_op) ops;
    VS_VEC(struct vs_mem_action) mem; /* those behind the last operation's close the phase */
    VS_VEC(vs_op_id) deps;
};
void vs_phase_release(struct vs_phase *phase);
void vs_phase_clear(struct vs_phase *phase, const char *name); /* keeps the memory */

/* ---- layout ---- */

/* One stored tensor of the model. */
struct vs_weight {
    const struct vs_tensor *tensor;
    const struct vs_type *type;
    uint64_t bytes;
    uint64_t file_bytes; /* in the checkpoint that is loaded */
    enum vs_home home;   /* between uses */
    bool trainable;
    uint32_t parts;        /* ranks that hold different parts of it: 1 = each has it whole */
    uint32_t adapter_rank; /* LoRA beside it; 0 = none */
    vs_buffer_id buffer;   /* while resident at home; VS_NO_BUFFER until vs_plan_place made it */
    /* training: beside a trainable tensor, and beside its adapter */
    vs_buffer_id grad, master, adapter, adapter_grad;
    vs_buffer_id original; /* the frozen tensor beside its trained copy (PEFT's modules_to_save) */
    bool saved;            /* trained in full beside adapters */
    bool persists;         /* never sharded: whole on each rank */
};

/* What the optimizer updates: a trainable tensor, or the adapter of one. */
struct vs_trained {
    int32_t layer;
    uint8_t device; /* whose rank updates it */
    uint32_t ranks; /* that share one copy of it */
    uint64_t params;
    unsigned element; /* bytes of the parameter that is updated */
    unsigned states;  /* of this one */
    uint64_t state_elements;
    uint64_t rows, cols; /* of the matrix that is made orthogonal; 0 = it is not */
    vs_buffer_id grad;
    vs_buffer_id state[2];
    uint32_t pages_of; /* the entry whose state buffers hold its states: paged ones of a layer share
                          pages */
};

/* The policy of one repeated block. */
struct vs_layer {
    uint32_t first_weight, weight_count; /* in vs_plan.weights */
    enum vs_home home;
    uint8_t device; /* that computes it, and holds its KV cache */
    uint32_t chunk; /* of the pipeline in training: chunk n is on stage n modulo the stages */
    bool on_cpu;    /* computed by the host's processor */
    vs_buffer_id pages, expert_pages; /* managed memory: its weights, routed experts apart */
    uint32_t segment;  /* layers of the checkpointed segment that starts here; 0 = none starts */
    bool checkpointed; /* part of a segment: keeps nothing but the segment's input */
};

/* Bytes per element of what training keeps. */
struct vs_precision {
    unsigned compute;  /* activations inside a layer: 2 or 4 */
    unsigned residual; /* the stream between layers: 2 or 4 */
    unsigned grad;     /* of base weights */
    unsigned master;   /* fp32 master copy: 0 or 4 */
    unsigned state;    /* of one optimizer state of base weights: 2 or 4 */
    bool cast_cache;   /* autocast keeps 16-bit copies of fp32 weights */
    bool fp8;          /* matrices of the layers are multiplied in 8 bit, */
    bool fp4;          /* or in 4 bit */
    unsigned adapter;  /* weights, gradients and states of adapters: 4 or 2 */
};

enum vs_loss_kind { VS_LOSS_FULL, VS_LOSS_KERNEL, VS_LOSS_CHUNKED, VS_LOSS_FUSED };
enum vs_attention_kind { VS_ATTENTION_NAIVE, VS_ATTENTION_SDPA, VS_ATTENTION_FLASH };

/* What a layer with latent attention caches of a token. */
enum vs_latent_cache {
    VS_LATENT_ONLY,       /* its latent: queries are multiplied into its space */
    VS_LATENT_TRANSPOSED, /* beside it a transposed copy, without the rotated part */
    VS_LATENT_EXPANDED    /* keys and values of all heads */
};

/* Where collectives of sharded training take their memory, and when it can be used again. */
enum vs_collectives {
    VS_COLLECTIVES_SHARED,   /* from the stream that computes, in the order of issue */
    VS_COLLECTIVES_RECORDED, /* FSDP1: from streams of their own; what computing used there, and
                                they of its memory, is free when the device has passed it */
    VS_COLLECTIVES_COPIED,   /* FSDP2: from streams of their own, and through copies: what is
                                gathered and reduced is copied out of and into buffers of theirs */
};

struct vs_optimizer {
    unsigned states; /* 2 = Adam, 1 = momentum, 0 = SGD */
    bool eight_bit, paged;
    bool factored; /* Adafactor: a matrix's second moment by its rows and columns */
    bool
        orthogonal; /* Muon: momentum of the layers' matrices, made orthogonal; Adam for the rest */
    bool foreach, fused; /* foreach copies the parameters once during the step */
    bool in_backward;    /* each gradient is used and freed as soon as it is there */
};

/* FlexGen's policy: shares of what the GPU, host memory and disk hold. */
struct vs_block {
    uint32_t batches; /* GPU batches that share each load of weights; 0 = no block schedule */
    double cache_gpu, cache_host, cache_disk;
    double hidden_gpu;
    bool attention_on_cpu; /* decode attention over what the GPU does not hold */
};

/* Layers with a window, in cells of one sequence; 0 = no bound. */
struct vs_window {
    uint64_t kept; /* in the cache, at most */
    uint64_t read; /* by a token of decoding, at most */
    uint64_t span; /* by a token of a batch, at most */
    bool masked;   /* by a mask of their own, beside that of layers without */
};

/* Host weights that are pages of their file, in bytes: those that every token needs, those of
 * experts, and what host memory has room for. */
struct vs_pages {
    double every, experts, room;
};

/* A number of the engine that was looked up: by the address of its name and the device. */
enum { VS_NUMBERS_KEPT = 128 };
struct vs_number_kept {
    const char *name; /* NULL = free */
    unsigned device;
    double value; /* NaN: the engine states none */
};

/* Model parallelism in training: what one copy of the model is spread over. Numbers are at least
 * 1. In the order of ranks those of one tensor group are neighbours, then come context, data and
 * stages (Megatron-LM: megatron/core/parallel_state.py, "tp-cp-ep-dp-pp"). */
struct vs_parallel {
    uint32_t tensor;  /* ranks that share each matrix */
    uint32_t context; /* ranks that share the tokens of each sample */
    uint32_t stages;  /* of a pipeline; each stage is a device of the plan */
    uint32_t chunks;  /* of consecutive layers on each stage: more than 1 = interleaved */
    uint32_t experts; /* ranks that share the experts of a layer */
    bool sequence; /* what stands between the matrices is split over the tensor ranks by tokens */
    bool ulysses;  /* context: attention deals out heads; else keys and values go round a ring */
    bool naive;    /* stages work one after the other on the same micro-step (device maps) */
};

static inline bool vs_is_pipelined(const struct vs_parallel *p) {
    return p->stages > 1 && !p->naive;
}

struct vs_plan {
    const struct vs_case *c;
    struct vs_arena
        *arena; /* the caller's: the plan's own tables live in vectors, see vs_plan_release */

    struct vs_weight *weights; /* in the order of the checkpoint */
    size_t weight_count;
    struct vs_layer *layers; /* model->layers of them */
    struct vs_format format;
    const struct vs_type *rest;       /* type of unquantized tensors */
    const struct vs_type *state_type; /* of what recurrent layers keep */

    /* what every task has */
    enum vs_attention_kind attention;
    bool mapped;       /* a device map has placed every module */
    bool streaming;    /* layers whose home is not the GPU are copied at each use */
    bool pinned;       /* what is copied from and to host memory is page-locked there */
    unsigned prefetch; /* layers fetched ahead */
    uint32_t ranks;    /* equal ones, of which one is written: those that hold the same weights in
                          training (data and context), tensor-parallel ones in inference */
    struct vs_parallel parallel;
    bool tensor_parallel; /* the ranks share each layer, and add up their parts of its output */
    bool attention_dp;    /* of tensor-parallel ranks: they share routed experts alone, and each
                             attends for sequences of its own */
    uint32_t shard_ranks; /* that share one copy; the others replicate it */
    struct {
        bool weights, grads, states; /* split over the ranks */
    } shard;
    bool unit_hooks;    /* weights are asked for unit by unit, by a single rank too */
    bool whole_tensors; /* states are dealt out tensor by tensor: gradients are summed over all
                           ranks, and each owner sends its new tensors to the others */
    unsigned overlap;   /* uses that a copy may run before its own, while memory is taken `prefetch`
                           ahead */
    enum vs_collectives collectives;
    bool collectives_in_turn; /* on the stream that computes: nothing runs beside them */
    bool gather_units; /* FSDP: a unit is copied whole into a fresh buffer, before use and again for
                          backward */

    /* inference */
    const struct vs_type *kv_k, *kv_v;
    enum vs_latent_cache latent;
    bool latent_split;    /* the matrix behind the latent exists twice: whole, and as its halves for
                             keys and values */
    bool latent_unpacked; /* large batches make keys and values of all heads from the latents */
    uint64_t attn_buffer; /* most bytes of scores, or of unpacked latents; 0 = no bound */
    uint64_t offload_tokens;        /* from which a device takes over host weights; 0 = never */
    uint64_t offload_expert_tokens; /* the same for routed experts */
    double *shares;                 /* of the devices, any scale; NULL with one */
    bool row_split; /* each matrix in rows over all devices, cache and buffers on the first */
    bool attention_on_cpu; /* the cache lives in host memory, and attention runs there */
    uint64_t kv_cells;     /* provisioned per sequence, padded as the engine does */
    uint64_t kv_block;     /* tokens in a block of a paged cache; 0 = not paged */
    struct vs_window window;
    uint64_t sequences;    /* that run at once: the batch, or as many as a paged cache holds */
    vs_buffer_id *kv_held; /* growing cache: K and V of each layer as they are now */
    uint64_t step_tokens;  /* whole prompts that one step takes: as many as have so many tokens */
    struct vs_block block;
    struct vs_pages pages;
    struct {
        bool on; /* what is on a device is managed memory: its pages come when a kernel misses them
                  */
        vs_buffer_id *outside, *workspace; /* by device: weights outside the layers, and what the
                                              engine computes in */
    } managed;
    uint64_t ubatch; /* tokens of one prefill pass; 0 = the whole prompt */

    /* training */
    struct vs_precision precision;
    struct vs_optimizer optimizer;
    enum vs_loss_kind loss;
    bool adapters, kbit_upcast, fused_kernels, compiled;
    bool checkpoint_ops; /* checkpointed layers keep what their matrices and attention put out */
    bool checkpoint_attention; /* the core of attention keeps its inputs only, and runs again */
    bool checkpoints_on_host;
    bool keeps_grads;           /* gradients live in buffers that last (DeepSpeed) */
    vs_buffer_id reduce_bucket; /* gradients on their way to the other ranks, or VS_NO_BUFFER */
    double lora_dropout;
    bool optimizer_on_cpu;
    bool optimizer_on_disk; /* its states, between updates on the CPU */
    struct {
        vs_buffer_id first;
        uint32_t count;
    } host_buffers; /* that last, in a row: see plan/train_host.h */
    VS_VEC(struct vs_trained) trained;

    VS_VEC(struct vs_buffer) buffers;
    struct vs_number_kept numbers[VS_NUMBERS_KEPT]; /* asked for once per operation of each pass */
};

/* Where in host memory stands what is copied to a device. */
static inline enum vs_home vs_copied_home(const struct vs_plan *plan) {
    return plan->pinned ? VS_HOME_PINNED : VS_HOME_HOST;
}

/* Builds the layout that a case has before any strategy: every tensor resident on the GPU in its
 * load type. The plan keeps pointers into the case and the arena; release it with vs_plan_release.
 */
bool vs_plan_init(struct vs_plan *plan, struct vs_arena *arena, const struct vs_case *c,
                  struct vs_err *err);
void vs_plan_release(struct vs_plan *plan);

/* Adds a buffer; VS_NO_BUFFER when memory runs out. */
vs_buffer_id vs_plan_buffer(struct vs_plan *plan, const struct vs_buffer *buffer);

/* Devices of the case that stand in one node: all of them where the engine knows no network.
 * At least 1. */
double vs_node_devices(const struct vs_case *c);
/* Equal ranks in a node, of which one is written: they share its memory and processors. At least 1.
 */
double vs_node_ranks(const struct vs_case *c);
/* Training: stages that the layers are dealt out to (--pp; all devices, by a device map), and
 * data-parallel ranks, which take samples of their own. Both at least 1. */
uint32_t vs_train_stages(const struct vs_machine *machine, const struct vs_values *axes);
uint32_t vs_train_copies(const struct vs_machine *machine, const struct vs_values *axes);
/* Does the engine place the modules of this case by a device map? */
bool vs_maps_devices(const struct vs_case *c);

/* Are host weights mapped from their file? */
bool vs_plan_maps_weights(const struct vs_case *c);

/* Threads that work on the CPU: --cpu-threads, at most one for each core; else one for each, or for
 * each large one by the rule "cpu_threads". At least 1. */
uint64_t vs_plan_cpu_threads(const struct vs_case *c);

/* Index of the output matrix: the embeddings where they are tied. */
size_t vs_plan_head(const struct vs_plan *plan);

static inline bool vs_is_expert(const struct vs_weight *w) {
    return vs_role_is_expert(w->tensor->role);
}

/* Ranks that share the work of a layer, but for its experts; 1 without tensor parallelism. */
uint32_t vs_plan_parts(const struct vs_plan *plan);
/* Ranks that share its routed experts. */
uint32_t vs_plan_expert_parts(const struct vs_plan *plan);
/* Groups of ranks that run different sequences: 1, or each rank for itself. */
uint32_t vs_plan_groups(const struct vs_plan *plan);

/* Bytes of one of `parts` equal parts. */
uint64_t vs_part_bytes(uint64_t bytes, uint32_t parts);

/* What one rank keeps of `cells` tokens of one sequence in one layer. A KV head is not split: with
 * more ranks than KV heads some hold the same one; latent attention keeps its latent on each rank.
 */
uint64_t vs_plan_kv_bytes(const struct vs_plan *plan, uint32_t layer, uint64_t cells);
/* The same of all ranks together. */
uint64_t vs_plan_kv_whole_bytes(const struct vs_plan *plan, uint32_t layer, uint64_t cells);
/* Of a sequence's `cells` those that the cache of a layer keeps, and those that a token of decoding
 * reads; and as many as each new token of a batch attends to, on average, behind `past` cells: all
 * but for windows. */
uint64_t vs_plan_kv_kept(const struct vs_plan *plan, uint32_t layer, uint64_t cells);
uint64_t vs_plan_kv_read(const struct vs_plan *plan, uint32_t layer, uint64_t cells);
double vs_plan_kv_reach(const struct vs_plan *plan, uint32_t layer, uint64_t past, uint64_t cells);
/* What one rank keeps of a sequence in a layer with a recurrence, in the type of the rule "state":
 * ranks share it by heads, as they do its matrices. */
uint64_t vs_plan_state_layer_bytes(const struct vs_plan *plan, uint32_t layer);
/* Do passes of so many tokens unpack latents? */
bool vs_plan_unpacks(const struct vs_plan *plan, uint64_t tokens);
/* Does a device take over host weights, or host experts, in a pass of so many tokens? */
bool vs_plan_takes_over(const struct vs_plan *plan, uint64_t tokens, bool experts);

/* The part of `bytes` that one rank holds where they are sharded. */
uint64_t vs_shard(const struct vs_plan *plan, bool sharded, uint64_t bytes);
/* The same of a weight: experts that are dealt out have fewer ranks that share a copy. */
uint64_t vs_weight_shard(const struct vs_plan *plan, const struct vs_weight *weight, bool sharded,
                         uint64_t bytes);
uint32_t vs_weight_ranks(const struct vs_plan *plan, const struct vs_weight *weight);
/* Bytes that one rank stores of a weight: all of those that stay whole where others are sharded. */
uint64_t vs_weight_stored(const struct vs_plan *plan, const struct vs_weight *weight);
/* Is one copy shared by fewer ranks than there are? */
bool vs_has_replicas(const struct vs_plan *plan);
/* The ranks that share one copy; those that hold the same part of it; both; those of one tensor
 * group. */
struct vs_ring vs_shard_ring(const struct vs_plan *plan);
struct vs_ring vs_replica_ring(const struct vs_plan *plan);
struct vs_ring vs_data_ring(const struct vs_plan *plan);
struct vs_ring vs_tensor_ring(const struct vs_plan *plan);

/* Devices that are written one by one: equal ranks are one, stages of a pipeline are not. */
unsigned vs_devices_written(const struct vs_plan *plan);

/* What one rank has of a tensor whose rows, columns or copies are dealt out; sides: rows and
 * columns of all its matrices. */
uint64_t vs_weight_rows(const struct vs_weight *weight);
uint64_t vs_weight_cols(const struct vs_weight *weight);
uint64_t vs_weight_sides(const struct vs_weight *weight);
uint64_t vs_weight_params(const struct vs_weight *weight);

uint64_t vs_weight_adapter_params(const struct vs_weight *weight);

#endif
