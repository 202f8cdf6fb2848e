/** Citus plans each call: a statement whose tenant is not known yet would go to all machines, or be refused. */
export const PLAN_EACH = {
  plan_cache_mode: 'force_custom_plan',
  enable_seqscan: 'on',
  enable_hashjoin: 'on',
  enable_mergejoin: 'on',
  jit: 'off',
} as const
