#include "main/lcore.h"

#include "common/hot.h"
#include "common/mono.h"
#include "dataplane/idle.h"
#include "dataplane/worker.h"
#include "simulation/shard.h"
