// unit.c: finds nodes that are done better together, and reads them as one.
#include "unit.h"

#include <stdio.h>

// Nodes after or before a product that are looked at for others of its unit: a layer's are nearby,
// and the work stays proportional to the nodes.
enum { LOOK = 64 };

static bool is_gated_op(tnp_op op)
{
    return op == TNP_OP_SWIGLU || op == TNP_OP_GEGLU || op == TNP_OP_REGLU;
}

static bool is_product_of(const tnp_node *node, uint32_t activation)
{
    return node->op == TNP_OP_MATMUL && tnh_input_of(node, 0) == activation;
}

// --------------------------------------------------------------------------------------- finding

static bool is_written_inside(const tnp_slice *slice, const cpu_unit *unit)
{
    return tnh_is_written_between(slice, unit->nodes[0], unit->nodes[unit->node_count - 1]);
}

// The sum that takes the one product. false: none.
static bool find_sum(const tnp_slice *slice, const tnh_users *users, cpu_unit *unit)
{
    const uint32_t first = unit->nodes[0];
    if (unit->node_count != 1)
        return false;
    for (uint32_t n = first + 1; n < slice->node_count && n - first <= LOOK; n++)
        if (slice->nodes[n]->op == TNP_OP_ADD && tnh_takes_all_of(slice, users, n, first)) {
            unit->nodes[unit->node_count++] = n;
            return true;
        }
    return false;
}

// The node that gates two of the products, which then become the unit's only ones. false: none.
static bool find_gate(const tnp_slice *slice, const tnh_users *users, cpu_unit *unit)
{
    const uint32_t first = unit->nodes[0];
    for (uint32_t n = first + 1; n < slice->node_count && n - first <= LOOK; n++) {
        if (!is_gated_op(slice->nodes[n]->op))
            continue;
        cpu_unit gated = { 0 };
        for (uint32_t i = 0; i < unit->node_count; i++)
            if (tnh_takes_all_of(slice, users, n, unit->nodes[i]))
                gated.nodes[gated.node_count++] = unit->nodes[i];
        if (gated.node_count != 2 || gated.nodes[1] > n)
            continue;
        gated.nodes[gated.node_count++] = n;
        *unit = gated;
        return true;
    }
    return false;
}

// The norm that makes the activation of a unit's products, for nobody else, as its first node.
static bool add_norm(const tnp_slice *slice, const tnh_users *users, cpu_unit *unit,
                     uint32_t product_count)
{
    const uint32_t first = unit->nodes[0], x = tnh_input_of(slice->nodes[first], 0);
    if (!tnh_stays_inside(slice, users, x, 1 + product_count))
        return false;
    for (uint32_t n = first; n-- > 0 && first - n <= LOOK;) {
        if (tnh_output_of(slice->nodes[n]) != x)
            continue;
        if (slice->nodes[n]->op != TNP_OP_RMS_NORM)
            return false;
        memmove(unit->nodes + 1, unit->nodes, unit->node_count * sizeof *unit->nodes);
        unit->nodes[0] = n;
        unit->node_count++;
        return true;
    }
    return false;
}

uint32_t cpu_unit_find(const tnp_slice *slice, const tnh_users *users, uint32_t node,
                       cpu_unit out[2])
{
    const uint32_t x = tnh_input_of(slice->nodes[node], 0);
    if (x == TNP_NONE || !is_product_of(slice->nodes[node], x))
        return 0;
    for (uint32_t n = node; n-- > 0 && node - n <= LOOK;)
        if (is_product_of(slice->nodes[n], x))
            return 0;   // that one's unit
    cpu_unit unit = { .node_count = 1, .nodes = { node } };
    for (uint32_t n = node + 1;
         n < slice->node_count && n - node <= LOOK && unit.node_count < CPU_MAX_OUTPUTS; n++)
        if (is_product_of(slice->nodes[n], x))
            unit.nodes[unit.node_count++] = n;

    uint32_t found = 0, products = unit.node_count;
    if (find_gate(slice, users, &unit))
        products = 2;
    (void)find_sum(slice, users, &unit);
    if (unit.node_count > 1 && !is_written_inside(slice, &unit))
        out[found++] = unit;
    if (add_norm(slice, users, &unit, products) && !is_written_inside(slice, &unit))
        out[found++] = unit;
    return found;
}

// --------------------------------------------------------------------------------------- reading

typedef struct reading {
    const cpu_device *device;
    const tnp_slice *slice;
    cpu_node *out;
    cpu_products_attr *attr;
    uint32_t activation;              // the value that the products take
    uint32_t made[CPU_MAX_OUTPUTS];   // the values that they make
} reading;

static const char no_unit[] = "the nodes are none that this plugin takes together";

static void take_input(cpu_node *to, uint32_t to_input, const cpu_node *from, uint32_t input)
{
    to->inputs[to_input] = from->inputs[input];
    to->in[to_input] = from->in[input];
    to->job.in[to_input] = from->job.in[input];
    if (from->packed >> input & 1u)
        to->packed |= 1u << to_input;
    if (to->job.input_count <= to_input)
        to->job.input_count = to_input + 1;
}

static void take_output(cpu_node *to, uint32_t output, const cpu_node *from)
{
    to->outputs[output] = from->outputs[0];
    to->outs[output] = from->outs[0];
    to->job.outs[output] = from->job.out;
    if (to->output_count <= output)
        to->output_count = output + 1;
}

static const char *read_norm(reading *r, const cpu_node *norm)
{
    const tnp_norm_attr *attr = norm->job.attr;
    if (r->activation != TNP_NONE || norm->outs[0].dtype != TNP_DTYPE_F32 ||
        norm->outs[0].extent[0] != 0)
        return no_unit;
    r->activation = norm->outputs[0];
    r->attr->is_normed = true;
    r->attr->eps = attr->eps;
    take_input(r->out, 0, norm, 0);
    if (norm->inputs[1] != TNP_NONE)
        take_input(r->out, CPU_PRODUCTS_NORM, norm, 1);
    return NULL;
}

static const char *read_product(reading *r, const cpu_node *product)
{
    if (r->activation == TNP_NONE) {
        r->activation = product->inputs[0];
        take_input(r->out, 0, product, 0);
    }
    if (product->inputs[0] != r->activation || r->attr->count == CPU_MAX_OUTPUTS)
        return no_unit;
    r->made[r->attr->count] = product->outputs[0];
    take_input(r->out, CPU_PRODUCTS_WEIGHT + r->attr->count, product, 1);
    take_output(r->out, r->attr->count++, product);
    return NULL;
}

static void swap_weights(cpu_node *node)
{
    cpu_node other = *node;
    node->packed &= ~(3u << CPU_PRODUCTS_WEIGHT);
    take_input(node, CPU_PRODUCTS_WEIGHT, &other, CPU_PRODUCTS_WEIGHT + 1);
    take_input(node, CPU_PRODUCTS_WEIGHT + 1, &other, CPU_PRODUCTS_WEIGHT);
}

// The gate's matrix comes first.
static const char *read_gate(reading *r, const cpu_node *gate)
{
    if (r->attr->count != 2 || r->attr->tail != 0)
        return no_unit;
    const bool is_swapped = gate->inputs[0] == r->made[1];
    if (gate->inputs[0] != r->made[is_swapped] || gate->inputs[1] != r->made[!is_swapped])
        return no_unit;
    if (is_swapped)
        swap_weights(r->out);
    r->attr->tail = gate->job.op;
    memset(r->out->outs, 0, sizeof r->out->outs);
    memset(r->out->job.outs, 0, sizeof r->out->job.outs);
    r->out->output_count = 0;
    take_output(r->out, 0, gate);
    return NULL;
}

// The product is the operand that was made here.
static const char *read_sum(reading *r, const cpu_node *sum)
{
    if (r->attr->count != 1 || r->attr->tail != 0)
        return no_unit;
    const uint32_t other = sum->inputs[0] == r->made[0];
    if (sum->inputs[!other] != r->made[0] || sum->inputs[other] == r->made[0])
        return no_unit;
    r->attr->tail = TNP_OP_ADD;
    take_input(r->out, CPU_PRODUCTS_SUM, sum, other);
    take_output(r->out, 0, sum);
    r->out->rule.in_place = 1u << CPU_PRODUCTS_SUM;
    return NULL;
}

// "rms_norm+matmul+matmul"
static void add_name(cpu_node *out, const char *op)
{
    const size_t length = strlen(out->title);
    snprintf(out->title + length, sizeof out->title - length, "%s%s", length ? "+" : "", op);
}

static const char *read_part(reading *r, uint32_t index)
{
    cpu_node part;
    if (index >= r->slice->node_count)
        return no_unit;
    const char *reason = cpu_node_read(r->device, r->slice, index, &part);
    if (reason)
        return no_unit;
    if (!r->out->name)
        r->out->name = part.name;
    add_name(r->out, part.rule.name);
    if (part.job.op == TNP_OP_RMS_NORM)
        return read_norm(r, &part);
    if (part.job.op == TNP_OP_MATMUL)
        return read_product(r, &part);
    if (part.job.op == TNP_OP_ADD)
        return read_sum(r, &part);
    return is_gated_op(part.job.op) ? read_gate(r, &part) : no_unit;
}

// A row that ends where a run says would be normed to another end than it is multiplied to.
static bool has_row_lengths(const cpu_node *node)
{
    bool has = node->in[0].extent[0] != 0 || node->in[CPU_PRODUCTS_SUM].extent[0] != 0;
    for (uint32_t i = 0; i < node->output_count; i++)
        has |= node->outs[i].extent[0] != 0;
    return has;
}

const char *cpu_unit_read(const cpu_device *device, const tnp_slice *slice, const uint32_t *nodes,
                          uint32_t node_count, cpu_node *out)
{
    if (node_count == 1 && nodes[0] < slice->node_count)
        return cpu_node_read(device, slice, nodes[0], out);
    if (node_count < 1 || node_count > CPU_MAX_UNIT_NODES)
        return no_unit;
    memset(out, 0, sizeof *out);
    for (uint32_t i = 0; i < CPU_MAX_INPUTS; i++)
        out->inputs[i] = TNP_NONE;
    out->op = &cpu_products_op;
    out->rule = (tnh_op_rule){ .name = out->title, .writes = -1 };
    out->job.op = CPU_OP_PRODUCTS;
    out->job.kernels = device->instance->kernels;
    out->job.options = &device->instance->options;
    out->job.attr = out->attr;

    reading r = { device, slice, out, (cpu_products_attr *)(void *)out->attr, TNP_NONE, { 0 } };
    for (uint32_t i = 0; i < node_count; i++) {
        const bool is_ascending = i == 0 || nodes[i] > nodes[i - 1];
        const char *reason = is_ascending ? read_part(&r, nodes[i]) : no_unit;
        if (reason)
            return reason;
    }
    if (r.attr->count == 0 || has_row_lengths(out))
        return no_unit;
    return out->op->refuse(&out->job);
}
