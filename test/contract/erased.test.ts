import { readdirSync, readFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { Test } from 'tap'
import { createNewId } from '../../src/adapters/ids.ts'
import { logProspectActivities } from '../../src/core/activities/log-prospect-activities.ts'
import { logProspectActivity } from '../../src/core/activities/log-prospect-activity.ts'
import type { NewActivity } from '../../src/core/activities/new-log.ts'
import { eraseProspects } from '../../src/core/erasures/erase-prospects.ts'
import { requestErasure } from '../../src/core/erasures/request-erasure.ts'
import { untilCompleted } from '../store-contract/completed.ts'
import { postgresRows } from '../support/moving.ts'
import { addTenant } from '../support/rows.ts'
import { stoppedClock } from '../support/setting.ts'
import { opened, overStores, type StoreKind } from '../support/stores.ts'

const PEOPLE = 60
const LOGS_EACH = 20
const ERASED = [0, 7, 30, PEOPLE - 1]
const MINUTE_MS = 60_000
const REWRITE_MS = 10 * MINUTE_MS

/** Texts that belong to one person and occur nowhere else. */
const emailOf = (n: number) => `Person.${n}.of.many@example.com`
const nameOf = (n: number) => `Name ${n} of many`
const secretOf = (n: number, i: number) => `secret ${n} in ${i}!`

/** People with logs, short and long ones in turn, so that pages of the file are split, and each named in another's log. */
const setting = async (t: Test, kind: StoreKind) => {
  const tested = await opened(t, kind)
  const { store } = tested
  const clock = stoppedClock()
  const deps = { store, clock, newId: createNewId() }
  const { tenantId } = await addTenant(store)
  const logAll = logProspectActivities({ ...deps, logProspectActivity: logProspectActivity(deps) })
  const log = (inputs: readonly NewActivity[]) => logAll({ inputs, prepare: (activity) => activity })
  const activityOf = (n: number, i: number) => ({
    tenantId,
    source: 'crm',
    type: 'webhook',
    email: emailOf(n),
    name: nameOf(n),
    payload: { rawJson: JSON.stringify({ secret: secretOf(n, i).repeat(1 + ((n * 7 + i * 13) % 300)) }) },
    idempotencyKey: `${n} ${i}`,
  })
  for (let i = 0; i < LOGS_EACH; i++)
    await log(Array.from({ length: PEOPLE }, (_, n) => activityOf((n * 17) % PEOPLE, i)))
  const [first] = await log([{ ...activityOf(1, LOGS_EACH), email: emailOf(1) }])
  const prospectId = first && 'value' in first ? first.value.prospectId : ''
  for (const n of ERASED) await log([{ ...activityOf(n, 99), prospectId, payload: { rawJson: '{}' } }])
  for (const n of ERASED) await requestErasure(deps)({ tenantId, email: emailOf(n), blockDays: 30 })
  const work = async () => {
    const step = eraseProspects({ store, clock })
    while (await step(AbortSignal.any([])));
  }
  const complete = () => untilCompleted(store.erasures, clock, work)
  const statuses = async () =>
    (await store.erasures.list({ tenantId, beforeId: null, limit: 100 }))?.map(({ status }) => status)
  return { ...tested, clock, work, complete, statuses }
}

const filesOf = (path: string): string =>
  readdirSync(dirname(path))
    .filter((name) => name.startsWith(basename(path)))
    .map((name) => readFileSync(join(dirname(path), name), 'latin1'))
    .join('\n')

/** Which texts of people are in there, wherever it is: found in one pass, as a search for each would take minutes. */
const foundIn = (text: string, people: readonly number[]): string[] => {
  const present = new Set(
    text.match(/person\.\d+\.of\.many@example\.com|Name \d+ of many|secret \d+ in \d+!/gi),
  )
  return people.flatMap((n) => {
    const texts = [
      emailOf(n),
      emailOf(n).toLowerCase(),
      nameOf(n),
      ...Array.from({ length: LOGS_EACH }, (_, i) => secretOf(n, i)),
    ]
    return texts.filter((one) => present.has(one))
  })
}

overStores(
  async (t, kind) => {
    t.test('nothing of an erased person is left in the files of the database', async (t) => {
      const { address, clock, work, statuses } = await setting(t, kind)
      const inFiles = () => filesOf(String(address))
      t.ok(foundIn(inFiles(), ERASED).length > ERASED.length * LOGS_EACH)
      const reader = new DatabaseSync(String(address), { readOnly: true })
      t.teardown(() => reader.isOpen && reader.close())
      const reading = reader.prepare('select email from prospects').iterate()
      reading.next()
      await t.rejects(work(), { message: /Another program reads the database file/ })
      t.strictSame(new Set(await statuses()), new Set(['processing']), 'a reader keeps the journal')
      reader.close()
      clock.advance(REWRITE_MS)
      await work()
      t.strictSame(new Set(await statuses()), new Set(['completed']))
      t.strictSame(foundIn(inFiles(), ERASED), [])
      t.ok(foundIn(inFiles(), [2, 3, 4]).length > 3 * LOGS_EACH, 'the others are there')
    })

    t.test('nor are copies of rows that grew, in one rewrite for all, once it is time', async (t) => {
      const { store, address } = await opened(t, kind)
      const clock = stoppedClock()
      const deps = { store, clock, newId: createNewId() }
      const logAll = logProspectActivities({ ...deps, logProspectActivity: logProspectActivity(deps) })
      const log = (inputs: readonly NewActivity[]) => logAll({ inputs, prepare: (activity) => activity })
      const tenants = [await addTenant(store), await addTenant(store)]
      const people = Array.from({ length: 2_000 }, (_, n) => n)
      const activityOf = (n: number, fields = {}) => ({
        tenantId: tenants[n % 2]?.tenantId ?? '',
        source: 'crm',
        type: 'webhook',
        email: emailOf(n),
        ...fields,
        payload: { rawJson: JSON.stringify({ secret: secretOf(n, n % LOGS_EACH) }) },
      })
      const logEach = async (fieldsOf: (n: number) => object) => {
        for (let from = 0; from < people.length; from += 100)
          await log(people.slice(from, from + 100).map((n) => activityOf(n, fieldsOf(n))))
      }
      await logEach(() => ({}))
      await logEach((n) => ({ name: `${nameOf(n)} ${'y'.repeat((n * 37) % 90)}` }))
      for (let i = 0; i < 4; i++) await logEach(() => ({}))
      const erased = people.filter((n) => n % 4 < 2)
      for (const n of erased) await requestErasure(deps)({ ...activityOf(n), blockDays: 30 })
      const work = async () => {
        const step = eraseProspects({ store, clock })
        while (await step(AbortSignal.any([])));
        return (await store.erasures.backlog(10_000)).count
      }
      t.ok((await work()) > 0, 'those that waited for the others look again at the next full minute')
      clock.advance(MINUTE_MS)
      t.equal(await work(), 0)
      const rest = people.filter((n) => n % 4 >= 2)
      const left = () => foundIn(filesOf(String(address)), erased)
      t.strictSame(left(), [])
      await store.close()
      t.strictSame(left(), [])
      t.ok(foundIn(filesOf(String(address)), rest).length >= 3 * rest.length, 'the others are there')
    })
  },
  ['sqlite'],
)

overStores(
  async (t, kind) => {
    t.test('no row of any table has anything of an erased person', async (t) => {
      const { address, complete, statuses } = await setting(t, kind)
      const dump = async () => JSON.stringify(await postgresRows(String(address)))
      t.ok(foundIn(await dump(), ERASED).length > ERASED.length * LOGS_EACH)
      await complete()
      t.strictSame(new Set(await statuses()), new Set(['completed']))
      t.strictSame(foundIn(await dump(), ERASED), [])
      t.ok(foundIn(await dump(), [2, 3, 4]).length > 3 * LOGS_EACH, 'the others are there')
    })
  },
  ['postgres'],
)
