import { setImmediate } from 'node:timers/promises'
import type { LoggedActivity } from 'prospect-pages'
import type { DomainFailure, Settlement, Store } from 'prospect-pages/store'
import type { NewActivity } from '#use-cases'
import { equal, match, ok, same } from './assertions.ts'
import { type Core, type Subject, section } from './contract.ts'
import { twoProcesses } from './processes.ts'
import { addTenant } from './rows.ts'

const ROUNDS = 5
const DAY_MS = 86_400_000

const settingOf = async (subject: Subject) => {
  const { core, kept } = subject
  const { processes, processAt, clock } = await twoProcesses(subject)
  return {
    processes,
    processAt,
    clock,
    newGroup: async (tenant: { readonly tenantId: string }) =>
      (await core.createPageGroup(processes[0])({ ...tenant, name: 'offers', title: 'Offers' })).value,
    logsOf: async (tenantId: string) => (await kept()).logs.filter((log) => log.tenantId === tenantId),
    prospectsOf: async (tenantId: string) =>
      (await kept()).prospects.filter((prospect) => prospect.tenantId === tenantId),
    /** Two lists, each from both processes at once, forwards and backwards. */
    crossing: async (list: readonly NewActivity[], other = list.toReversed()) => {
      const logs = [...processes, ...processes].map((process) => core.logProspectActivities(process))
      const prepare = (activity: NewActivity) => activity
      const outcomes = await Promise.all(
        logs.map((log, i) => log({ inputs: i < 2 === (i % 2 === 0) ? list : other, prepare })),
      )
      return outcomes.flat()
    },
  }
}

export const concurrency = section('concurrency', settingOf, {
  'fifty equal requests under one idempotency key are one row and fifty equal answers': async (scene) => {
    const { processAt, logsOf, prospectsOf } = scene
    for (let round = 0; round < ROUNDS; round++) {
      const activity = activityOf(await scene.newTenant(), { idempotencyKey: `round ${round}` })
      const answers = await Promise.all(times(50, (i) => processAt(i).logProspectActivity(activity)))
      equal(new Set(answers.map(({ value }) => JSON.stringify(value))).size, 1)
      equal(answers.filter(({ replayed }) => replayed).length, 49)
      equal((await logsOf(activity.tenantId)).length, 1)
      equal((await prospectsOf(activity.tenantId)).length, 1)
    }
  },

  'fifty requests that differ in how their payloads are written are one row and fifty equal answers': async (
    scene,
  ) => {
    const { processAt, logsOf } = scene
    const payloads = [
      '{"a":1,"b":["é"]}',
      '{ "b":["\\u00e9"], "a":1 }',
      '{"\\u0061":1,"b":[ "é" ]}',
      '{"a":0,"b":["é"],"a":1}',
    ]
    for (let round = 0; round < ROUNDS; round++) {
      const tenantId = await scene.newTenant()
      const answers = await Promise.all(
        times(50, (i) => {
          const payload = { rawJson: payloads[i % payloads.length] ?? '' }
          return processAt(i).logProspectActivity(activityOf(tenantId, { idempotencyKey: 'one', payload }))
        }),
      )
      equal(new Set(answers.map(({ value }) => JSON.stringify(value))).size, 1)
      equal(answers.filter(({ replayed }) => replayed).length, 49)
      equal((await logsOf(tenantId)).length, 1)
    }
  },

  'of fifty deliveries of a body at once one is stored, and a day later one takes the key over': async (
    scene,
  ) => {
    const { processAt, logsOf, clock } = scene
    for (let round = 0; round < ROUNDS; round++) {
      const tenantId = await scene.newTenant()
      const delivered = {
        idempotencyKey: 'hash',
        keyScope: 'hook',
        isKeyOfBody: true,
        isVerified: true,
      } as const
      const deliver = async () => {
        const answers = await Promise.all(
          times(50, (i) => processAt(i).logProspectActivity(activityOf(tenantId, delivered))),
        )
        equal(answers.filter(({ replayed }) => !replayed).length, 1)
        equal(new Set(answers.map(({ value }) => value.prospectLogId)).size, 1)
        return answers[0]?.value.prospectLogId
      }
      const replayed = async () =>
        (await processAt(1).logProspectActivity(activityOf(tenantId, delivered))).replayed
      const ids = [await deliver()]
      for (let day = 1; day <= 3; day++) {
        clock.advance(DAY_MS - 1)
        equal(await replayed(), true)
        clock.advance(1)
        ids.push(await deliver())
        equal(await replayed(), true)
      }
      const logs = await logsOf(tenantId)
      same(logs.map(({ prospectLogId }) => prospectLogId).toSorted(), ids.toSorted())
    }
  },

  'of different requests under one idempotency key one wins, and the others are refused with its id': async (
    scene,
  ) => {
    const { core, processAt, logsOf } = scene
    for (let round = 0; round < ROUNDS; round++) {
      const tenantId = await scene.newTenant()
      const outcomes = await settledAll(
        core,
        times(50, (i) =>
          processAt(i).logProspectActivity(
            activityOf(tenantId, { idempotencyKey: 'one', payload: { rawJson: `{"kind":${i % 5}}` } }),
          ),
        ),
      )
      const answers = outcomes.filter(
        (outcome) => !(outcome instanceof core.DomainFailure),
      ) as LoggedActivity[]
      const refused = outcomes.filter((outcome) => outcome instanceof core.DomainFailure)
      const [log] = await logsOf(tenantId)
      equal((await logsOf(tenantId)).length, 1)
      equal(answers.length, 10)
      equal(answers.filter(({ replayed }) => !replayed).length, 1)
      ok(answers.every(({ value }) => value.prospectLogId === log?.prospectLogId))
      ok(refused.every(({ kind }) => kind === 'idempotency_key_reused'))
      ok(refused.every(({ facts }) => facts.prospectLogId === log?.prospectLogId))
    }
  },

  'of fifty first writers of one email exactly one creates the prospect': async (scene) => {
    const { processAt, logsOf, prospectsOf } = scene
    for (let round = 0; round < ROUNDS; round++) {
      const activity = activityOf(await scene.newTenant(), {
        email: ` Ada.${round}@Example.com`,
        name: 'Ada',
      })
      const answers = await Promise.all(times(50, (i) => processAt(i).logProspectActivity(activity)))
      equal(answers.filter(({ value }) => value.createdProspect).length, 1)
      equal(new Set(answers.map(({ value }) => value.prospectId)).size, 1)
      equal(new Set(answers.map(({ value }) => value.prospectLogId)).size, 50)
      equal((await prospectsOf(activity.tenantId)).length, 1)
      equal((await logsOf(activity.tenantId)).length, 50)
    }
  },

  'of fifty writers that fill one blank email exactly one does, and none fails': async (scene) => {
    const { processes, processAt, logsOf, prospectsOf } = scene
    for (let round = 0; round < ROUNDS; round++) {
      const tenantId = await scene.newTenant()
      const { prospectId } = (await processes[0].logProspectActivity(activityOf(tenantId))).value
      const answers = await Promise.all(
        times(50, (i) =>
          processAt(i).logProspectActivity(activityOf(tenantId, { prospectId, email: `${i}@x` })),
        ),
      )
      ok(answers.every((answer) => answer.value.prospectId === prospectId))
      const [prospect, ...others] = await prospectsOf(tenantId)
      match(String(prospect?.email), /^\d+@x$/)
      same(others, [])
      equal((await logsOf(tenantId)).length, 51)
    }
  },

  'fifty equal page creations under one idempotency key are one page': async (scene) => {
    const { store, processes, processAt, newGroup } = scene
    const tenant = await addTenant(store)
    for (let round = 0; round < ROUNDS; round++) {
      const group = await newGroup(tenant)
      const wanted = { ...parentOf(group), customName: 'Mine', idempotencyKey: 'one' }
      const answers = await Promise.all(times(50, (i) => processAt(i).createPageWithVersion(wanted)))
      equal(new Set(answers.map(({ value }) => JSON.stringify(value))).size, 1)
      equal(answers.filter(({ replayed }) => replayed).length, 49)
      equal((await store.pageGroups.find(group))?.pagesCount, 1)
      const { items } = (await processes[1].listPages({ ...parentOf(group), limit: 100 })).value
      same(
        items.map(({ pageId }) => pageId),
        [answers[0]?.value.pageId],
      )
    }
  },

  'the count of pages is exact after hundreds of creations in two processes at once': async (scene) => {
    const { store, processes, processAt, newGroup } = scene
    const tenant = await addTenant(store)
    const groups = [await newGroup(tenant), await newGroup(tenant), await newGroup(tenant)]
    await Promise.all(
      times(600, async (i) => {
        // Some callers wait for others, so that lists of all lengths come about.
        if (i % 3 === 0) await processAt(i).listPages({ ...parentOf(groups[0]), limit: 1 })
        await processAt(i).createPageWithVersion(parentOf(groups[i % 4 === 0 ? 1 : i % 3]))
      }),
    )
    const { items } = (await processes[1].listPageGroups({ ...tenant, limit: 100 })).value
    const counts = new Map(items.map(({ pageGroupId, pagesCount }) => [pageGroupId, pagesCount]))
    let sum = 0
    for (const group of groups) {
      const rows = await store.pages.list({ ...parentOf(group), beforeId: null, limit: 1_000 })
      equal(counts.get(group.pageGroupId), rows?.length)
      sum += rows?.length ?? 0
    }
    equal(sum, 600)
  },

  'two publishers at once publish every version exactly once, while pages are created': async (scene) => {
    const { core, store, processes, processAt, clock, newGroup } = scene
    const tenant = await addTenant(store)
    const group = await newGroup(tenant)
    const total = 200
    const named: string[] = []
    const settled: Settlement[] = []
    const publishers = processes.map(({ store, newId }) =>
      core.publishVersions({
        newId,
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
      const { value: page } = await processAt(i).createPageWithVersion({
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

    equal(settled.length, total)
    ok(settled.every(({ status, attempt }) => status === 'published' && attempt === 1))
    equal(new Set(settled.map(({ versionId }) => versionId)).size, total)
    same(named.sort(), times(total, (i) => `context ${i}`).sort())
    const read = await Promise.all(pages.map((page, i) => processAt(i).getPage(page)))
    same(
      read.map(({ value }) => value.computedName),
      times(total, (i) => `Name of context ${i}`),
    )
    same(
      read.map(({ value }) => value.publishedVersion?.versionId),
      read.map(({ value }) => value.latestVersion.versionId),
    )
  },

  'lists with the same new emails in opposite orders all succeed': async (scene) => {
    const { core, logsOf, prospectsOf, crossing } = scene
    for (let round = 0; round < ROUNDS; round++) {
      const tenantId = await scene.newTenant()
      const list = times(100, (i) => activityOf(tenantId, { email: `${i}@crossing`, name: `${i}` }))
      const outcomes = await crossing(list)
      equal(outcomes.filter((outcome) => outcome instanceof core.DomainFailure).length, 0)
      const created = (outcomes as LoggedActivity[]).filter(({ value }) => value.createdProspect)
      equal(created.length, 100)
      equal((await prospectsOf(tenantId)).length, 100)
      equal((await logsOf(tenantId)).length, 400)
    }
  },

  'lists with the same idempotency keys in opposite orders all succeed': async ({
    newTenant,
    logsOf,
    crossing,
  }) => {
    for (let round = 0; round < ROUNDS; round++) {
      const tenantId = await newTenant()
      const list = times(100, (i) => activityOf(tenantId, { idempotencyKey: `${i}` }))
      const outcomes = (await crossing(list)) as LoggedActivity[]
      equal(outcomes.filter(({ replayed }) => !replayed).length, 100)
      equal((await logsOf(tenantId)).length, 100)
    }
  },

  'lists that fill the same prospects with the same emails crosswise all succeed': async (scene) => {
    const { core, processAt, prospectsOf, crossing } = scene
    for (let round = 0; round < 2; round++) {
      const tenantId = await scene.newTenant()
      const blanks = await Promise.all(
        times(20, (i) => processAt(i).logProspectActivity(activityOf(tenantId))),
      )
      const list = blanks.map(({ value: { prospectId } }, i) =>
        activityOf(tenantId, { prospectId, email: `${i}@crosswise` }),
      )
      const turned = blanks.map(({ value: { prospectId } }, i) =>
        activityOf(tenantId, { prospectId, email: `${19 - i}@crosswise` }),
      )
      const outcomes = await crossing(list, turned)
      equal(outcomes.filter((outcome) => outcome instanceof core.DomainFailure).length, 0)
      const emails = (await prospectsOf(tenantId)).map(({ email }) => email)
      equal(new Set(emails).size, 20)
      ok(!emails.includes(null))
    }
  },
})

export const times = <Made>(count: number, make: (i: number) => Made): Made[] =>
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

export const settledAll = <Answer>(
  core: Core,
  calls: readonly Promise<Answer>[],
): Promise<(Answer | DomainFailure)[]> =>
  Promise.all(
    calls.map((call) =>
      call.catch((no) => {
        if (no instanceof core.DomainFailure) return no
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
