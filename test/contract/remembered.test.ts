import { setTimeout } from 'node:timers/promises'
import type { Test } from 'tap'
import { createNewId } from '../../src/adapters/ids.ts'
import { eraseProspects } from '../../src/core/erasures/erase-prospects.ts'
import type { Store } from '../../src/core/ports/store.ts'
import { moveMerged } from '../../src/core/prospects/move-merged.ts'
import { updatePlaceholders } from '../../src/core/tenants/update-placeholders.ts'
import { createService } from '../../src/entry/index.ts'
import { untilCompleted } from '../store-contract/completed.ts'
import { passTime, stoppedClock } from '../support/setting.ts'
import { opened, overStores, type StoreKind } from '../support/stores.ts'

const ON = new AbortController().signal
const ACTIVITY = { source: 'crm', payload: { rawJson: '{}' } }

/** A store whose process can be stopped right before it sends a write of activities. */
const stoppable = (store: Store) => {
  const held: (() => void)[] = []
  let isStopped = false
  const holding =
    <Input extends readonly unknown[], Answer>(write: (...input: Input) => Promise<Answer>) =>
    async (...input: Input) => {
      if (isStopped) await new Promise<void>((go) => held.push(go))
      return write(...input)
    }
  const activities = { ...store.activities, record: holding(store.activities.record) }
  /** Begins a write, and lets it go on when others have done this. */
  const stopWhile = async <Answer>(begin: () => Promise<Answer>, others: () => Promise<unknown>) => {
    isStopped = true
    const begun = begin()
    while (held.length === 0) await setTimeout(0)
    await others()
    isStopped = false
    for (const go of held.splice(0)) go()
    return begun
  }
  return { store: { ...store, activities }, stopWhile }
}

/** Two processes on one database. The one here hears nothing of what the other one does. */
const setting = async (t: Test, kind: StoreKind) => {
  const { store, another } = await opened(t, kind)
  const deps = { clock: stoppedClock(), newId: createNewId() }
  const { stopWhile, store: deaf } = stoppable({ ...store, watch: () => () => {} })
  const here = createService({ ...deps, store: deaf, background: 'elsewhere' })
  const there = createService({ ...deps, store: await another(), background: 'elsewhere' })
  const { tenantId } = await there.createTenant({ name: 'Acme' })
  const logThere = async (fields: object) =>
    (await there.logProspectActivity({ tenantId, ...ACTIVITY, ...fields })).value
  /** The receipt, or the kind of the refusal. */
  const log = async (fields: object) =>
    here.logProspectActivity({ tenantId, ...ACTIVITY, ...fields }).then(
      ({ value }) => value,
      ({ kind }) => ({ kind, prospectId: '' }),
    )
  const logAll = (some: readonly object[]) =>
    here.logProspectActivities(some.map((fields) => ({ tenantId, ...ACTIVITY, ...fields })))
  /** Erasures and merges. */
  const complete = async () => {
    const erase = eraseProspects({ store, ...deps })
    const move = moveMerged({ store, ...deps })
    await untilCompleted(store.erasures, deps.clock, async () => {
      while (await erase(ON));
    })
    await untilCompleted(store.merges, deps.clock, async () => {
      while (await move(ON));
    })
  }
  const logsOf = async (prospectId: string) =>
    (await there.listTimeline({ tenantId, prospectId, limit: 100 })).value.items.length
  /** Lists values that identify no one. */
  const list = (...values: string[]) =>
    updatePlaceholders({ store, clock: deps.clock })(tenantId, { values, isRemoved: false })
  const logs = async () => (await there.listProspectLogs({ tenantId, limit: 100 })).value.items
  return { tenantId, there, log, logAll, logThere, complete, list, logs, logsOf, stopWhile }
}

overStores(
  async (t, kind) => {
    for (const [how, identify] of [
      ['an email', (name: string) => ({ email: `${name}@example.com` })],
      ['an external id', (name: string) => ({ externalId: `crm-${name}` })],
      ['both', (name: string) => ({ email: `${name}@example.com`, externalId: `crm-${name}` })],
    ] as const) {
      t.test(`a person remembered by ${how} whom another process corrected is found anew`, async (t) => {
        const { tenantId, there, log, logThere } = await setting(t, kind)
        const { prospectId } = await log(identify('ada'))
        await there.updateProspect({ tenantId, prospectId, ...identify('lovelace') })
        const stranger = await log(identify('ada'))
        t.match(stranger, { createdProspect: true }, 'what was given up identifies no one')
        t.match(await log(identify('lovelace')), { prospectId })
        const bob = (await logThere(identify('bob'))).prospectId
        const blank = { tenantId, prospectId: stranger.prospectId, email: null, externalId: null }
        await there.updateProspect(blank)
        await there.updateProspect({ tenantId, prospectId: bob, ...identify('ada') })
        t.match(await log(identify('ada')), { prospectId: bob }, 'and now identifies another one')
      })

      t.test(`a person remembered by ${how} whom another process merged is the survivor`, async (t) => {
        const { tenantId, there, log, logThere, complete, logsOf } = await setting(t, kind)
        const { prospectId } = await log(identify('ada'))
        const activities = [identify('ada'), { prospectId }, { prospectId, ...identify('ada') }]
        for (const fields of activities) t.match(await log(fields), { prospectId })
        const into = (await logThere(identify('bob'))).prospectId
        await there.mergeProspect({ tenantId, prospectId, into })
        for (const fields of [...activities, ...activities])
          t.match(await log(fields), { prospectId: into, createdProspect: false })
        await complete()
        t.equal(await logsOf(into), 4 + 1 + 6)
      })

      t.test(`a person remembered by ${how} whom another process erased is refused`, async (t) => {
        const { tenantId, there, log, logThere, complete, logs } = await setting(t, kind)
        const { prospectId } = await log(identify('ada'))
        const bob = (await logThere({ email: 'bob@example.com' })).prospectId
        const activities = [
          identify('ada'),
          { prospectId },
          { prospectId, ...identify('ada') },
          { prospectId: bob, ...identify('ada') },
        ]
        for (const fields of activities) t.match(await log(fields), { createdProspect: false })
        await there.eraseProspect({ tenantId, prospectId })
        for (const isCompleted of [false, true]) {
          if (isCompleted) await complete()
          for (const fields of activities) t.match(await log(fields), { kind: 'prospect_erased' })
          t.match(await log({ prospectId: bob }), { prospectId: bob })
        }
        t.strictSame(
          (await logs()).map((stored) => [stored.prospectId, stored.email, stored.externalId]),
          [
            [bob, null, null],
            [bob, null, null],
            [bob, null, null],
            [bob, 'bob@example.com', null],
          ],
          'nothing that is left names them',
        )
      })
    }

    t.test('a remembered name that another process cleared is filled', async (t) => {
      const { tenantId, there, log } = await setting(t, kind)
      const ada = { email: 'ada@example.com', name: 'Ada' }
      const { prospectId } = await log(ada)
      await there.updateProspect({ tenantId, prospectId, name: null })
      t.match(await log({ ...ada, name: 'Lovelace' }), { prospectId })
      t.match((await there.getProspect({ tenantId, prospectId })).value, { name: 'Lovelace' })
    })

    t.test('of a batch only the activities whose people have changed are decided again', async (t) => {
      const { tenantId, there, logAll, logs } = await setting(t, kind)
      const people = ['corrected', 'merged', 'erased', 'unchanged'].map((name) => ({
        email: `${name}@example.com`,
      }))
      const [corrected, merged, erased, unchanged] = (await logAll(people)).map((outcome) =>
        'value' in outcome ? outcome.value.prospectId : '',
      ) as [string, string, string, string]
      await there.updateProspect({ tenantId, prospectId: corrected, email: null })
      await there.mergeProspect({ tenantId, prospectId: merged, into: unchanged })
      await there.eraseProspect({ tenantId, prospectId: erased })
      t.match(await logAll(people), [
        { value: { createdProspect: true } },
        { value: { prospectId: unchanged, createdProspect: false } },
        { kind: 'prospect_erased' },
        { value: { prospectId: unchanged, createdProspect: false } },
      ])
      t.equal((await logs()).length, 4 + 3, 'each once')
    })

    t.test('after many new people, those whom another process knows are found', async (t) => {
      const { tenantId, there, log, logThere, complete, list } = await setting(t, kind)
      const email = (name: string) => ({ email: `${name}@example.com` })
      let strangers = 0
      const meetStrangers = async () => {
        for (const last = strangers + 20; strangers < last; strangers++) await log(email(`new-${strangers}`))
      }
      const ada = await logThere({ ...email('ada'), idempotencyKey: 'first' })
      const { prospectId } = await logThere(email('erased'))
      await there.eraseProspect({ tenantId, prospectId })
      await complete()
      await list('@pos.example')
      for (const [fields, expected] of [
        [email('ada'), { prospectId: ada.prospectId, createdProspect: false }],
        [{ ...email('ada'), idempotencyKey: 'first' }, { prospectLogId: ada.prospectLogId }],
        [email('erased'), { kind: 'prospect_erased' }],
        [{ email: 'till@pos.example' }, { createdProspect: true }],
        [{ email: 'till@pos.example' }, { createdProspect: true }],
      ] as const) {
        await meetStrangers()
        t.match(await log(fields), expected)
      }
    })

    // A remembered person, one that is looked up as a blank is filled, and one that is created.
    for (const [whom, before, activity] of [
      ['a remembered person', true, { email: 'ada@example.com' }],
      ['a person whose name it fills', true, { email: 'ada@example.com', name: 'Ada' }],
      ['a person it creates', false, { email: 'ada@example.com' }],
    ] as const)
      t.test(`a write for ${whom} that stood still during an erasure stores nothing`, async (t) => {
        const { tenantId, there, log, complete, logs, stopWhile } = await setting(t, kind)
        if (before) await log({ email: 'ada@example.com' })
        const late = await stopWhile(
          () => log(activity),
          async () => {
            await there.eraseProspect({ tenantId, email: 'ada@example.com' })
            await complete()
            passTime(t, 110_000)
          },
        )
        t.match(late, { kind: 'prospect_erased' })
        t.strictSame(await logs(), [])
        t.strictSame((await there.listProspects({ tenantId })).value.items, [])
      })

    for (const [whom, name] of [
      ['a remembered person', undefined],
      ['a person whose name it fills', 'Ada'],
    ] as const)
      t.test(`a write for ${whom} that stood still during a merge is the survivor’s`, async (t) => {
        const { tenantId, there, log, logThere, complete, logsOf, stopWhile } = await setting(t, kind)
        const { prospectId } = await log({ email: 'ada@example.com' })
        const into = (await logThere({ email: 'bob@example.com' })).prospectId
        const late = await stopWhile(
          () => log({ email: 'ada@example.com', name }),
          async () => {
            await there.mergeProspect({ tenantId, prospectId, into })
            await complete()
            passTime(t, 110_000)
          },
        )
        t.match(late, { prospectId: into, createdProspect: false })
        t.equal(await logsOf(into), 3)
      })
  },
  ['sqlite', 'postgres'],
)
