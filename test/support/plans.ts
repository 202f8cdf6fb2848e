import { ONE_PLAN, type Sql } from '../../src/adapters/postgres/open.ts'
import { GROWING, TABLE_ROWS } from './full-database.ts'
import type { Sent } from './stores.ts'

type Plan = {
  readonly 'Node Type': string
  readonly 'Relation Name'?: string
  readonly 'Actual Rows'?: number
  readonly 'Actual Loops'?: number
  readonly 'Rows Removed by Filter'?: number
  readonly 'Rows Removed by Index Recheck'?: number
  readonly 'Shared Hit Blocks': number
  readonly 'Shared Read Blocks': number
  readonly Plans?: readonly Plan[]
}

/** After five executions PostgreSQL may keep one plan for all values; the driver's statements get there. */
const EXECUTIONS = 7

/**
 * How one of our statements is executed: with the one plan that our sessions ask for; and as the planner chooses,
 * as behind a pooler, the first time and the last. Prepared as the driver does; nothing is kept.
 */
export const plansOf = async (sql: Sql, { text, parameters }: Sent): Promise<readonly Plan[]> => {
  const execute = executionOf('ours', parameters)
  for (const [setting, value] of Object.entries(ONE_PLAN)) await sql.unsafe(`set ${setting} = ${value}`)
  await sql.unsafe(`prepare ours as ${text}`)
  const ours = await explained(sql, execute)
  await sql.unsafe('deallocate ours')
  for (const setting of Object.keys(ONE_PLAN)) await sql.unsafe(`reset ${setting}`)
  await sql.unsafe(`prepare ours as ${text}`)
  const first = await explained(sql, execute)
  for (let execution = 2; execution < EXECUTIONS; execution++) await sql.unsafe(`explain ${execute}`)
  const last = await explained(sql, execute)
  await sql.unsafe('deallocate ours')
  return [ours, first, last]
}

export const executionOf = (name: string, parameters: readonly unknown[]): string =>
  `execute ${name} ${parameters.length === 0 ? '' : `(${parameters.map(literal).join(', ')})`}`

/** The plan of an execution, which is rolled back. */
export const explained = async (sql: Sql, execute: string): Promise<Plan> => {
  await sql.unsafe('begin')
  const [row] = await sql.unsafe(`explain (analyze, buffers, timing off, format json) ${execute}`)
  await sql.unsafe('rollback')
  const [[{ Plan }]] = Object.values(row ?? {}) as [[{ Plan: Plan }]]
  return Plan
}

const literal = (value: unknown): string =>
  value === null
    ? 'null'
    : typeof value === 'number'
      ? `${value}`
      : `'${String(value).replaceAll("'", "''")}'`

/** Faults of a plan, in words. */
export const faultsOf = (plan: Plan, rowsMax: number): readonly string[] => {
  const nodes = [...nodesOf(plan)]
  const scans = nodes.filter((node) => GROWING.includes(node['Relation Name'] ?? '') && isScan(node))
  const blocks = plan['Shared Hit Blocks'] + plan['Shared Read Blocks']
  const writes = nodes.filter((node) => node['Node Type'] === 'ModifyTable')
  // For each row: down an index and to the row, in each table; into every index where it is written; and some more.
  const blocksMax = rowsMax * (8 * Math.max(1, scans.length) + 16 * writes.length) + 40
  return [
    ...nodes
      .filter((node) => node['Node Type'] === 'Seq Scan' && GROWING.includes(node['Relation Name'] ?? ''))
      .filter(() => rowsMax < TABLE_ROWS)
      .map((node) => `Seq Scan on ${node['Relation Name']}`),
    ...scans
      .filter((node) => rowsRead(node) > rowsMax)
      .map(
        (node) =>
          `${node['Node Type']} on ${node['Relation Name']} reads ${rowsRead(node)} rows of ${rowsMax}`,
      ),
    ...nodes
      .filter((node) => /Sort/.test(node['Node Type']) && rowsRead(node) > rowsMax)
      .map((node) => `${node['Node Type']} of ${rowsRead(node)} rows`),
    ...nodes
      .filter((node) => /Aggregate|Group/.test(node['Node Type']))
      .filter((node) => [...nodesOf(node)].some((below) => below['Relation Name'] === 'pages'))
      .map((node) => `${node['Node Type']} over pages`),
    ...(blocks > blocksMax ? [`${blocks} blocks of ${blocksMax}`] : []),
  ]
}

function* nodesOf(plan: Plan): Generator<Plan> {
  yield plan
  for (const below of plan.Plans ?? []) yield* nodesOf(below)
}

const isScan = (node: Plan): boolean => node['Node Type'].endsWith('Scan')

/** Over all loops, with the rows that were read in vain. */
const rowsRead = (node: Plan): number =>
  ((node['Actual Rows'] ?? 0) +
    (node['Rows Removed by Filter'] ?? 0) +
    (node['Rows Removed by Index Recheck'] ?? 0)) *
  (node['Actual Loops'] ?? 1)
