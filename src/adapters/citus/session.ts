import { type PostgresUrl, withUrl } from '../../config/database-address.ts'

/** Citus plans each call: a statement whose tenant is not known yet would go to all machines, or be refused. */
export const PLAN_EACH = {
  plan_cache_mode: 'force_custom_plan',
  enable_seqscan: 'on',
  enable_hashjoin: 'on',
  enable_mergejoin: 'on',
  jit: 'off',
} as const

/** The address, for sessions with these settings. */
export const withParameters = (
  url: PostgresUrl,
  parameters: Readonly<Record<string, string>>,
): PostgresUrl => {
  const added = Object.entries(parameters).map(([name, value]) => `${name}=${value}`)
  return withUrl(url, (text) => `${text}${text.includes('?') ? '&' : '?'}${added.join('&')}`)
}
