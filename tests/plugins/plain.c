// A plugin without a fault; built several times with other names and versions.
#include "stub.h"
