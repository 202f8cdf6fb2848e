/** What maintenance needs of a cluster: nothing else here knows of the store for one. */

export { otherNodes } from '../adapters/citus/nodes.ts'
export { findClusterObstacle, findSessionObstacle, refuseWorker } from '../adapters/citus/obstacle.ts'
export { PLAN_EACH } from '../adapters/citus/session.ts'
