// vulkan.h: the objects of this plugin that several files share.
//
//   instance   a VkInstance, the physical devices there are
//   device     a VkDevice, its queues, its memory, its pipelines
//   buffer     a part of a block of device memory
//
// Queues and semaphores of the contract are those of the sdk's helpers/queue.h: a thread for each
// queue does one work after another, waits for its end on a timeline semaphore, and looks while it
// waits whether the device was given up. Compiled slices are in program.h, the seam to the ops in
// op.h.
#ifndef VULKAN_H
#define VULKAN_H

#include <tenon/helpers/queue.h>
#include <tenon/helpers/nodes.h>

#include <stdbool.h>
#define VK_NO_PROTOTYPES
#include <volk.h>

#define VULKAN_MAX_DEVICES      16u
#define VULKAN_MAX_QUEUES       4u   // of one family
#define VULKAN_MAX_MEMORIES     2u
#define VULKAN_MAX_UPDATE_BYTES (1u << 20)
#define VULKAN_STAGING_BYTES    (8u << 20)

typedef struct vulkan_allocator vulkan_allocator;
typedef struct vulkan_pipelines vulkan_pipelines;
typedef struct vulkan_block vulkan_block;

// Settings of [plugin.vulkan].
typedef struct vulkan_options {
    bool fuse;            // nodes are claimed together too
    bool subgroups;       // subgroup arithmetic, where the device has it
    bool small_storage;   // 8-bit and 16-bit storage, where the device has it
    bool map;             // the host sees device memory where the driver allows it
    bool import_host;     // host memory is imported; unset: but for software devices, whose
                          // threads block the signal by which a mapped file that is cut
                          // tells so
    bool is_import_set;
    bool validate;                // the validation layers, their messages through the host's log
    uint64_t longest_submit_ns;   // no submission is expected to run longer; 0 = no limit
    bool is_longest_set;          // unset: but for software devices
} vulkan_options;

// What a physical device has of what the kernels can use, and its numbers.
typedef struct vulkan_features {
    bool has_small_storage;   // 8-bit and 16-bit storage buffers
    bool has_subgroup_arithmetic;
    bool has_memory_budget;
    bool has_host_import;         // VK_EXT_external_memory_host
    uint64_t storage_alignment;   // of descriptors, a power of two
    uint64_t max_range_bytes;     // of a descriptor
    uint64_t max_allocation_bytes;
    uint64_t import_alignment;
    uint32_t max_groups[3];
    uint32_t max_shared_bytes;
} vulkan_features;

typedef struct vulkan_physical {
    VkPhysicalDevice handle;
    VkPhysicalDeviceProperties properties;
    VkPhysicalDeviceMemoryProperties memory;
    vulkan_features features;
    uint8_t uuid[VK_UUID_SIZE];
    char pci[32], driver[128];
    uint32_t kind;   // TNP_KIND_…
    uint32_t compute_family, compute_queue_count;
    uint32_t copy_family, copy_queue_count;   // 0: copies go to the compute queues
    double flops_per_s;                       // rough
} vulkan_physical;

struct tnp_instance {
    const tnp_host *host;
    vulkan_options options;
    VkInstance handle;   // NULL: there is none, `reason` says why
    VkDebugUtilsMessengerEXT messenger;
    pthread_mutex_t told_lock;
    char told[400];         // the first message of the validation layers
    char reason[256];       // also: why there is no device
    pthread_mutex_t lock;   // guards what follows
    bool is_listed;
    bool has_leaked;   // a device on which work hangs: the VkInstance outlives this
    uint32_t physical_count;
    vulkan_physical physicals[VULKAN_MAX_DEVICES];
};

// Where bytes of the device are.
typedef struct vulkan_place {
    vulkan_block *block;
    VkBuffer buffer;   // the block's
    uint64_t offset;   // in it
    char *mapped;      // NULL: the host cannot see it
} vulkan_place;

// Memory that host and device see, for copies to and from memory that the host does not, and for
// updates; with the commands that copy.
typedef struct vulkan_staging {
    pthread_mutex_t lock;
    vulkan_place place;   // VULKAN_STAGING_BYTES
    VkCommandPool pool;
    VkCommandBuffer commands;
} vulkan_staging;

// One VkQueue. Whoever submits holds the lock; each submission raises the timeline by one.
typedef struct vulkan_queue {
    pthread_mutex_t lock;
    VkQueue handle;
    VkSemaphore timeline;
    uint64_t submitted;
    uint32_t family;
    vulkan_staging staging;
} vulkan_queue;

// A memory as plugin.h has it: a type of memory of the driver.
typedef struct vulkan_memory {
    uint32_t type, heap;
    uint32_t flags;   // TNP_MEMORY_…
    uint32_t pool;
} vulkan_memory;

struct tnp_device {
    tnh_device queues;
    tnp_instance *instance;
    vulkan_physical physical;   // a copy
    VkDevice handle;
    struct VolkDeviceTable vk;
    bool is_hung;   // work that nobody waits for any more may still run: what it may
                    // touch is leaked. Under queues.lock
    uint32_t memory_count;
    vulkan_memory memories[VULKAN_MAX_MEMORIES];
    uint32_t host_type;   // memory type for staging: host-visible, coherent, cached if it can be
    vulkan_allocator *allocator;
    vulkan_pipelines *pipelines;
    uint32_t compute_count, copy_count;
    vulkan_queue compute[VULKAN_MAX_QUEUES], copy[VULKAN_MAX_QUEUES];
    tnp_buffer *unused;   // bound where a kernel has an operand that this node has not
};

struct tnp_buffer {
    tnh_buffer head;   // device, bytes
    vulkan_place place;
    bool is_imported, is_read_only;
    bool is_cached;   // the host also reads it fast
};

// error.c: a result of the driver as a status and a line. `what` is the call and what it was for.
// VK_ERROR_DEVICE_LOST marks the device, where there is one (NULL: not yet).
tnp_status vulkan_error(tnp_device *device, tnp_error *err, VkResult result, const char *what);
const char *vulkan_result_name(VkResult result);

// instance.c: under validate = on what the validation layers have said fails the calls that come
// after it, so that nobody overlooks it. TNP_OK: nothing.
tnp_status vulkan_told(tnp_instance *instance, tnp_error *err);

// error.c: memory of the host.
void *vulkan_alloc(tnp_instance *instance, uint64_t bytes);   // zeroed; NULL when there is none
void vulkan_free(tnp_instance *instance, void *pointer);

// settings.c
tnp_status vulkan_read_options(const tnp_host *host, vulkan_options *out, tnp_error *err);

// features.c: fills what a physical device has. Answers why this plugin cannot use it (static
// text), or NULL.
const char *vulkan_features_read(tnp_instance *instance, VkPhysicalDevice device,
                                 vulkan_physical *out);

// submit.c: hands command buffers to a queue and waits for their end, in steps, so that a device
// that was given up is seen: `first` as one submission, each of the others as one.
// Errors: TNP_E_DEVICE_LOST (given up, or lost), TNP_E_DEVICE_MEMORY, …
typedef struct vulkan_batch {
    uint32_t count;
    const VkCommandBuffer *commands;
} vulkan_batch;
tnp_status vulkan_submit_and_wait(tnp_device *device, vulkan_queue *queue,
                                  const vulkan_batch *first, const VkCommandBuffer *others,
                                  uint32_t other_count, tnp_error *err);

// device.c: whether anything of this device may still be touched by work that hangs: then it is
// leaked. The queue of the driver that does the work of one of the contract.
bool vulkan_must_leak(tnp_device *device);
void vulkan_mark_hung(tnp_device *device);
vulkan_queue *vulkan_queue_of(const tnp_queue *queue);

// The calls of the plugin's table, each beside what it works on.
tnp_status vulkan_start(const tnp_host *host, tnp_instance **out, tnp_error *err);
void vulkan_stop(tnp_instance *instance);
tnp_status vulkan_device_count(tnp_instance *instance, uint32_t *count, tnp_error *err);
tnp_status vulkan_device_info(tnp_instance *instance, uint32_t index, tnp_device_info *info,
                              tnp_error *err);
tnp_status vulkan_open(tnp_instance *instance, const tnp_open *what, tnp_device **out,
                       tnp_error *err);
void vulkan_close(tnp_device *device);
tnp_status vulkan_memory_info(tnp_device *device, uint32_t memory, tnp_memory_info *info,
                              tnp_error *err);
tnp_status vulkan_buffer_alloc(tnp_device *device, const tnp_alloc *what, tnp_buffer **out,
                               tnp_error *err);
tnp_status vulkan_buffer_import(tnp_device *device, const tnp_import *what, tnp_buffer **out,
                                tnp_error *err);
tnp_status vulkan_buffer_map(tnp_buffer *buffer, void **out, tnp_error *err);
void vulkan_buffer_free(tnp_buffer *buffer);
tnp_status vulkan_claim(tnp_device *device, const tnp_slice *slice, const tnp_claim_sink *sink,
                        tnp_error *err);
tnp_status vulkan_compile(tnp_device *device, const tnp_compile *what, tnp_program **out,
                          tnp_error *err);
void vulkan_program_destroy(tnp_program *program);
tnp_status vulkan_bind(tnp_program *program, const tnp_bind *what, tnp_bound **out, tnp_error *err);
void vulkan_unbind(tnp_bound *bound);

#endif
