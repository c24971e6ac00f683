// tenon.h: all of the public API of libtenon. Each header stands alone as well.
#ifndef TENON_TENON_H
#define TENON_TENON_H

#include <tenon/device.h>
#include <tenon/graph.h>
#include <tenon/model.h>
#include <tenon/placement.h>
#include <tenon/plan.h>
#include <tenon/schedule.h>
#include <tenon/session.h>
#include <tenon/status.h>
#include <tenon/tune.h>

#endif
