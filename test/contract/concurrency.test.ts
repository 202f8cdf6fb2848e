import { setImmediate } from 'node:timers/promises'
import { createPageGroup } from '../../src/core/create-page-group.ts'
import { DomainFailure } from '../../src/core/failures.ts'
import { type LoggedActivity, logProspectActivities } from '../../src/core/log-prospect-activity.ts'
import type { NewActivity } from '../../src/core/new-log.ts'
import type { Store } from '../../src/core/ports/store.ts'
import type { Settlement } from '../../src/core/ports/versions.ts'
import { publishVersions } from '../../src/core/publish-versions.ts'
import { runChild, sourceUrl } from '../support/children.ts'
import { addTenant, newId as newRowId } from '../support/rows.ts'
import { EVERY_STORE, opened, overStores } from '../support/stores.ts'
import { twoProcesses } from '../support/two-processes.ts'

const ROUNDS = 5

overStores(async (t, kind) => {
  const { processes, turnOf, clock, kept } = await twoProcesses(t, kind)
  const [{ store, newId }] = processes
  const newGroup = async (tenant: { tenantId: string }) =>
    createPageGroup({ store, clock, newId })({ ...tenant, name: 'offers', title: 'Offers' })
  const logsOf = async (tenantId: string) => (await kept()).logs.filter((log) => log.tenantId === tenantId)
  const prospectsOf = async (tenantId: string) =>
    (await kept()).prospects.filter((prospect) => prospect.tenantId === tenantId)

  t.test('fifty equal requests under one idempotency key are one row and fifty equal answers', async (t) => {
    for (let round = 0; round < ROUNDS; round++) {
      const activity = activityOf(newRowId('tenant'), { idempotencyKey: `round ${round}` })
      const answers = await Promise.all(times(50, (i) => turnOf(i).logProspectActivity(activity)))
      t.equal(new Set(answers.map(({ receipt }) => JSON.stringify(receipt))).size, 1)
      t.equal(answers.filter(({ replayed }) => replayed).length, 49)
      t.equal((await logsOf(activity.tenantId)).length, 1)
      t.equal((await prospectsOf(activity.tenantId)).length, 1)
    }
  })

  t.test(
    'of different requests under one idempotency key one wins, and the others learn which',
    async (t) => {
      for (let round = 0; round < ROUNDS; round++) {
        const tenantId = newRowId('tenant')
        const outcomes = await settledAll(
          times(50, (i) =>
            turnOf(i).logProspectActivity(
              activityOf(tenantId, { idempotencyKey: 'one', payload: { rawJson: `{"kind":${i % 5}}` } }),
            ),
          ),
        )
        const answers = outcomes.filter((outcome) => !(outcome instanceof DomainFailure)) as LoggedActivity[]
        const refused = outcomes.filter((outcome) => outcome instanceof DomainFailure)
        const [log] = await logsOf(tenantId)
        t.equal((await logsOf(tenantId)).length, 1)
        t.equal(answers.length, 10)
        t.equal(answers.filter(({ replayed }) => !replayed).length, 1)
        t.ok(answers.every(({ receipt }) => receipt.prospectLogId === log?.prospectLogId))
        t.ok(refused.every(({ kind }) => kind === 'idempotency_key_reused'))
        t.ok(refused.every(({ facts }) => facts.prospectLogId === log?.prospectLogId))
      }
    },
  )

  t.test('of fifty first writers of one email exactly one creates the prospect', async (t) => {
    for (let round = 0; round < ROUNDS; round++) {
      const activity = activityOf(newRowId('tenant'), { email: ` Ada.${round}@Example.com`, name: 'Ada' })
      const answers = await Promise.all(times(50, (i) => turnOf(i).logProspectActivity(activity)))
      t.equal(answers.filter(({ receipt }) => receipt.createdProspect).length, 1)
      t.equal(new Set(answers.map(({ receipt }) => receipt.prospectId)).size, 1)
      t.equal(new Set(answers.map(({ receipt }) => receipt.prospectLogId)).size, 50)
      t.equal((await prospectsOf(activity.tenantId)).length, 1)
      t.equal((await logsOf(activity.tenantId)).length, 50)
    }
  })

  t.test('of fifty who fill one blank email exactly one does, and nobody fails', async (t) => {
    for (let round = 0; round < ROUNDS; round++) {
      const tenantId = newRowId('tenant')
      const { receipt } = await processes[0].logProspectActivity(activityOf(tenantId))
      const { prospectId } = receipt
      const answers = await Promise.all(
        times(50, (i) =>
          turnOf(i).logProspectActivity(activityOf(tenantId, { prospectId, email: `${i}@x` })),
        ),
      )
      t.ok(answers.every((answer) => answer.receipt.prospectId === prospectId))
      const [prospect, ...others] = await prospectsOf(tenantId)
      t.match(prospect?.email, /^\d+@x$/)
      t.strictSame(others, [])
      t.equal((await logsOf(tenantId)).length, 51)
    }
  })

  t.test('fifty equal page creations under one idempotency key are one page', async (t) => {
    const tenant = await addTenant(store)
    for (let round = 0; round < ROUNDS; round++) {
      const group = await newGroup(tenant)
      const wanted = { ...parentOf(group), customName: 'Mine', idempotencyKey: 'one' }
      const answers = await Promise.all(times(50, (i) => turnOf(i).createPageWithVersion(wanted)))
      t.equal(new Set(answers.map(({ page }) => JSON.stringify(page))).size, 1)
      t.equal(answers.filter(({ replayed }) => replayed).length, 49)
      t.equal((await store.pageGroups.find(group.pageGroupId))?.pagesCount, 1)
      const { items } = await processes[1].listPages({ ...parentOf(group), limit: 100 })
      t.strictSame(
        items.map(({ pageId }) => pageId),
        [answers[0]?.page.pageId],
      )
    }
  })

  t.test('the count of pages is exact after hundreds of creations in two processes at once', async (t) => {
    const tenant = await addTenant(store)
    const groups = [await newGroup(tenant), await newGroup(tenant), await newGroup(tenant)]
    await Promise.all(
      times(600, async (i) => {
        // Some callers wait for others, so that lists of all lengths come about.
        if (i % 3 === 0) await turnOf(i).listPages({ ...parentOf(groups[0]), limit: 1 })
        await turnOf(i).createPageWithVersion(parentOf(groups[i % 4 === 0 ? 1 : i % 3]))
      }),
    )
    const { items } = await processes[1].listPageGroups({ ...tenant, limit: 100 })
    const counts = new Map(items.map(({ pageGroupId, pagesCount }) => [pageGroupId, pagesCount]))
    let sum = 0
    for (const group of groups) {
      const [rows] = await store.pages.list([{ ...parentOf(group), beforeId: null, limit: 1_000 }])
      t.equal(counts.get(group.pageGroupId), rows?.length)
      sum += rows?.length ?? 0
    }
    t.equal(sum, 600)
  })

  t.test('two publishers at once publish every version exactly once, while pages are created', async (t) => {
    // On a database of its own: a publisher takes whatever waits.
    const { processes, turnOf, clock } = await twoProcesses(t, kind)
    const [{ store, newId }] = processes
    const tenant = await addTenant(store)
    const group = await createPageGroup({ store, clock, newId })({ ...tenant, name: 'o', title: 'O' })
    const total = 200
    const named: string[] = []
    const settled: Settlement[] = []
    const publishers = processes.map(({ store }) =>
      publishVersions({
        store: { versions: countingSettlements(store, settled) },
        clock,
        namer: async ({ supplementaryContext }) => {
          named.push(String(supplementaryContext))
          return `Name of ${supplementaryContext}`
        },
        claimMax: 7,
        leaseMs: 60_000,
      }),
    )
    const create = async (i: number) => {
      clock.advance(1)
      const { page } = await turnOf(i).createPageWithVersion({
        ...parentOf(group),
        supplementaryContext: `context ${i}`,
      })
      return page
    }
    const publish = async (publishSome: (typeof publishers)[number]) => {
      while (settled.length < total) {
        await publishSome(new AbortController().signal)
        // The memory store answers within the turn: the creations get theirs.
        await setImmediate()
      }
    }
    const [pages] = await Promise.all([Promise.all(times(total, create)), ...publishers.map(publish)])

    t.equal(settled.length, total)
    t.ok(settled.every(({ status, attempt }) => status === 'published' && attempt === 1))
    t.equal(new Set(settled.map(({ versionId }) => versionId)).size, total)
    t.strictSame(named.sort(), times(total, (i) => `context ${i}`).sort())
    const read = await Promise.all(pages.map((page, i) => turnOf(i).getPage(page)))
    t.strictSame(
      read.map(({ computedName }) => computedName),
      times(total, (i) => `Name of context ${i}`),
    )
    t.strictSame(
      read.map(({ publishedVersion }) => publishedVersion?.versionId),
      read.map(({ latestVersion }) => latestVersion.versionId),
    )
  })

  t.test('lists that want the same new emails in opposite orders all succeed', async (t) => {
    for (let round = 0; round < ROUNDS; round++) {
      const tenantId = newRowId('tenant')
      const list = times(100, (i) => activityOf(tenantId, { email: `${i}@crossing`, name: `${i}` }))
      const outcomes = await crossing(list)
      t.equal(outcomes.filter((outcome) => outcome instanceof DomainFailure).length, 0)
      const created = (outcomes as LoggedActivity[]).filter(({ receipt }) => receipt.createdProspect)
      t.equal(created.length, 100)
      t.equal((await prospectsOf(tenantId)).length, 100)
      t.equal((await logsOf(tenantId)).length, 400)
    }
  })

  t.test('lists that want the same idempotency keys in opposite orders all succeed', async (t) => {
    for (let round = 0; round < ROUNDS; round++) {
      const tenantId = newRowId('tenant')
      const list = times(100, (i) => activityOf(tenantId, { idempotencyKey: `${i}` }))
      const outcomes = (await crossing(list)) as LoggedActivity[]
      t.equal(outcomes.filter(({ replayed }) => !replayed).length, 100)
      t.equal((await logsOf(tenantId)).length, 100)
    }
  })

  t.test('lists that fill the same prospects with the same emails crosswise all succeed', async (t) => {
    for (let round = 0; round < 2; round++) {
      const tenantId = newRowId('tenant')
      const blanks = await Promise.all(times(20, (i) => turnOf(i).logProspectActivity(activityOf(tenantId))))
      const list = blanks.map(({ receipt: { prospectId } }, i) =>
        activityOf(tenantId, { prospectId, email: `${i}@crosswise` }),
      )
      const turned = blanks.map(({ receipt: { prospectId } }, i) =>
        activityOf(tenantId, { prospectId, email: `${19 - i}@crosswise` }),
      )
      const outcomes = await crossing(list, turned)
      t.equal(outcomes.filter((outcome) => outcome instanceof DomainFailure).length, 0)
      const emails = (await prospectsOf(tenantId)).map(({ email }) => email)
      t.equal(new Set(emails).size, 20)
      t.notOk(emails.includes(null))
    }
  })

  t.test(
    'real processes that log the same activities keep each of them once',
    { skip: kind.name === 'memory' && 'nothing of it is shared between processes' },
    async (t) => {
      const { address, kept, store } = await opened(t, kind)
      const { tenantId } = await addTenant(store)
      const outs = await Promise.all(
        times(3, (i) => runChild(LOG_HUNDRED, kind.name, String(address), tenantId, String(i))),
      )
      t.equal(
        outs.map(Number).reduce((sum, replays) => sum + replays),
        200,
      )
      const { logs, prospects } = await kept()
      t.strictSame([logs.length, prospects.length], [100, 10])
    },
  )

  /** Two lists, each from both processes at once, forwards and backwards. */
  const crossing = async (list: readonly NewActivity[], other = list.toReversed()) => {
    const logs = [...processes, ...processes].map(logProspectActivities)
    const outcomes = await Promise.all(logs.map((log, i) => log(i < 2 === (i % 2 === 0) ? list : other)))
    return outcomes.flat()
  }
}, EVERY_STORE)

/** A process that logs a hundred activities one after another, from a place of its own, and says how many it replayed. */
const LOG_HUNDRED = `
  const { createRuntime } = await import('${sourceUrl('compose/service.ts')}')
  const { composeUseCases } = await import('${sourceUrl('compose/use-cases.ts')}')
  const { readConfig } = await import('${sourceUrl('config/config.ts')}')
  const { createLog } = await import('${sourceUrl('adapters/log.ts')}')
  const [kind, address, tenantId, first] = process.argv.slice(1)
  const config = readConfig({ DATABASE_URL: kind === 'sqlite' ? 'sqlite:' + address : address })
  const world = createRuntime(config, createLog('silent'))
  const { logProspectActivity } = composeUseCases({ ...world, requireIdentity: false, prospectsRememberedMax: 3, listsInFlightMax: 1 })
  let replays = 0
  for (let i = 0; i < 100; i++) {
    const n = (i + Number(first) * 33) % 100
    const payload = { rawJson: JSON.stringify({ n }) }
    const email = n % 10 + '@example.com'
    const activity = { tenantId, source: 'crm', type: 'webhook', payload, email, idempotencyKey: 'key ' + n }
    if ((await logProspectActivity(activity)).replayed) replays++
  }
  await world.store.close()
  console.log(replays)`

const times = <Made>(count: number, make: (i: number) => Made): Made[] =>
  Array.from({ length: count }, (_, i) => make(i))

const activityOf = (tenantId: string, fields: Partial<NewActivity> = {}): NewActivity => ({
  tenantId,
  source: 'crm',
  type: 'webhook',
  payload: { rawJson: '{"a":[1,2]}' },
  ...fields,
})

type Parent = { readonly tenantId: string; readonly pageGroupId: string }
const parentOf = (group: Parent | undefined): Parent => {
  if (group === undefined) throw new Error('no group')
  return { tenantId: group.tenantId, pageGroupId: group.pageGroupId }
}

const settledAll = <Answer>(calls: readonly Promise<Answer>[]): Promise<(Answer | DomainFailure)[]> =>
  Promise.all(
    calls.map((call) =>
      call.catch((no) => {
        if (no instanceof DomainFailure) return no
        throw no
      }),
    ),
  )

const countingSettlements = ({ versions }: Store, settled: Settlement[]): Store['versions'] => ({
  ...versions,
  settle: async (tenantId, settlements) => {
    const saved = await versions.settle(tenantId, settlements)
    settled.push(...settlements)
    return saved
  },
})
