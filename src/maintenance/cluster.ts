// The only place where maintenance knows of the cluster store.

export { findLargestTenants, SHARDS_VISIBLE } from '../adapters/citus/largest-tenants.ts'
export { migrateCluster, planCluster } from '../adapters/citus/migrate.ts'
export { otherNodes } from '../adapters/citus/nodes.ts'
export { findClusterObstacle, findSessionObstacle, refuseWorker } from '../adapters/citus/obstacle.ts'
export { PLAN_EACH } from '../adapters/citus/session.ts'
