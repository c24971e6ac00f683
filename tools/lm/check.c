// check.c: every key and tensor of a model against its architecture.
#include "arch.h"

#include "alloc.h"
#include "error.h"
#include "problems.h"

static tn_status check(const tn_model *model, tlm_problems *problems, tn_error *err)
{
    tlm_hparams hparams;
    tlm_weights weights = { 0 };
    tn_allocator allocator = tlm_allocator(NULL);
    const tlm_architecture *architecture;
    tn_error problem = { 0 };
    tn_status status = tlm_architecture_of(model, &architecture, &problem);
    if (status == TN_E_FILE)
        return tlm_complain(problems, err, "%s", problem.text);
    if (status != TN_OK)
        return tn_error_set(err, status, problem.text);
    tlm_keys keys = {
        .model = model, .architecture = architecture->name, .err = err, .problems = problems
    };
    architecture->read(&hparams, &keys);
    // With wrong numbers no tensor would have the right shape.
    if (keys.status != TN_OK || problems->count > 0)
        return keys.status;
    status = tlm_weights_check(&weights, model, &hparams, architecture->rules,
                               architecture->rule_count, &allocator, problems, err);
    tlm_weights_finish(&weights);
    return status;
}

tn_status tlm_model_check(const tn_model *model, const tn_sink *sink, uint32_t *out_count,
                          tn_error *err)
{
    tn_status status = tlm_need(err, __func__, "model", model, "problems", sink, "out_count",
                                out_count, NULL);
    if (status == TN_OK)
        status = tlm_need(err, __func__, "problems->write", sink->write ? sink : NULL, NULL);
    if (out_count)
        *out_count = 0;
    if (status != TN_OK)
        return status;
    tlm_problems problems = { .sink = sink };
    status = check(model, &problems, err);
    *out_count = problems.count;
    return status == TN_OK ? tlm_succeed(err) : status;
}
