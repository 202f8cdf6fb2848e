import type { Sql } from './open.ts'
import { template } from './statements.ts'

/** A table whose rows wait, in `processing`, to be claimed. Its name and those of its columns are constants. */
export type Queue = {
  readonly table: string
  /** Its primary key, without the tenant. */
  readonly key: readonly string[]
  /** What a claim answers besides the tenant and the key. */
  readonly answered: readonly string[]
}
/** The parts of a statement that name what is in the queue `v`. */
export const partsOf = ({ table, key, answered }: Queue) => {
  const keyOf = (alias: string) => key.map((column) => `${alias}.${column}`).join(', ')
  const texts = {
    table: template(table),
    key: template(`v.tenant_id, ${keyOf('v')}`),
    isClaimed: template(key.map((column) => `v.${column} = claimed.${column}`).join(' and ')),
    answered: template(
      ['v.tenant_id', keyOf('v'), ...answered.map((column) => `v.${column}`), 'v.attempts as attempt'].join(),
    ),
  }
  return (part: keyof typeof texts, sql: Sql) => sql(texts[part])
}
