import type { StoredConflict } from 'prospect-pages/store'
import { equal, like, same } from './assertions.ts'
import { untilCompleted } from './completed.ts'
import { section } from './contract.ts'
import { untilIdle } from './merge-scene.ts'
import { addTenant, at } from './rows.ts'
import { stoppedClock } from './setting.ts'

const MINUTE_MS = 60_000
type Named = { readonly prospectId?: string; readonly externalId?: string; readonly email?: string }

export const prospectConflicts = section(
  'prospect conflicts',
  async ({ core, store, another }) => {
    const clock = stoppedClock()
    const { tenantId } = await addTenant(store)
    const elsewhere = await another()
    const deps = { store, clock, newId: core.createNewId() }
    const logActivity = core.logProspectActivity(deps)
    const create = core.createProspect(deps)
    const list = core.listProspectConflicts({ store })
    /** The ids of prospects with these identifiers, oldest first. */
    const addPeople = async (...people: readonly Named[]) => {
      const ids: string[] = []
      for (const person of people) ids.push((await create({ tenantId, ...person })).value.prospectId)
      return ids
    }
    return {
      clock,
      tenantId,
      elsewhere,
      deps,
      addPeople,
      log: async (named: Named) =>
        (
          await logActivity({
            tenantId,
            source: 'crm',
            type: 'webhook',
            payload: { rawJson: '{}' },
            ...named,
          })
        ).value.prospectId,
      /** The first slice of the list. */
      listed: async (limit = 100, cursor?: string) => (await list({ tenantId, limit, cursor })).value,
      /** The rows that the store keeps, even those that are no longer current. */
      rows: () => store.prospectConflicts.list({ tenantId, before: null, max: 100 }),
      note: (conflict: Partial<StoredConflict> & Pick<StoredConflict, 'prospectId' | 'otherId'>) =>
        store.prospectConflicts.note([{ tenantId, field: 'email', at: at(0), ...conflict }]),
      complete: async () => {
        await untilCompleted(store.merges, clock, () => untilIdle(core.moveMerged(deps)))
        await untilCompleted(store.erasures, clock, () => untilIdle(core.eraseProspects(deps)))
      },
    }
  },
  {
    'an activity that names two people is remembered as a pair, and belongs to the one with the external id':
      async (scene) => {
        const { addPeople, log, listed, clock } = scene
        const [ada = '', bob = ''] = await addPeople({ email: 'ada@x' }, { externalId: '2', email: 'bob@x' })
        equal(await log({ externalId: '2', email: 'ADA@x' }), bob)
        const noted = new Date(clock()).toISOString()
        same(await listed(), {
          items: [{ prospectIds: [ada, bob], field: 'email', at: noted }],
          hasMore: false,
        })
      },

    'an activity whose prospect id names another person than its email or external id is remembered too':
      async (scene) => {
        const { addPeople, log, listed } = scene
        const [ada = '', bob = '', eve = ''] = await addPeople(
          { email: 'ada@x' },
          { email: 'bob@x' },
          { externalId: '3' },
        )
        equal(await log({ prospectId: bob, email: 'ada@x', externalId: '3' }), bob)
        const { items } = await listed()
        same(
          new Set(items.map(({ prospectIds, field }) => [...prospectIds, field].join(' '))),
          new Set([`${ada} ${bob} email`, `${bob} ${eve} externalId`]),
        )
      },

    'a new prospect whose email is that of another one is half of a pair': async (scene) => {
      const { addPeople, log, listed } = scene
      const [ada = ''] = await addPeople({ externalId: '1', email: 'ada@x' })
      const created = await log({ externalId: '2', email: 'ada@x' })
      like(await listed(), { items: [{ prospectIds: [ada, created], field: 'email' }] })
    },

    'activities that name one person, or no one else, are no pairs': async (scene) => {
      const { addPeople, log, listed } = scene
      const [ada = ''] = await addPeople({ externalId: '1', email: 'ada@x' })
      await log({ externalId: '1', email: 'ada@x' })
      await log({ prospectId: ada, email: 'new@x', externalId: 'new' })
      await log({ externalId: '1', email: 'n/a' })
      await log({ email: 'bob@x' })
      await log({})
      same(await listed(), { items: [], hasMore: false })
    },

    'two people are one pair with its last time, which is written every five minutes at most': async (
      scene,
    ) => {
      const { addPeople, log, listed, clock } = scene
      await addPeople({ externalId: '1', email: 'ada@x' }, { externalId: '2', email: 'bob@x' })
      const start = clock()
      const lastTime = async () => {
        const { items } = await listed()
        equal(items.length, 1)
        return Date.parse(items[0]?.at ?? '') - start
      }
      await log({ externalId: '1', email: 'bob@x' })
      equal(await lastTime(), 0)
      clock.advance(5 * MINUTE_MS - 1)
      await log({ externalId: '2', email: 'ada@x' })
      equal(await lastTime(), 0)
      clock.advance(1)
      await log({ externalId: '2', email: 'ada@x' })
      equal(await lastTime(), 5 * MINUTE_MS)
    },

    'pairs are listed newest first, slice by slice, and again in the same order': async (scene) => {
      const { addPeople, listed, note } = scene
      const people = await addPeople(...Array.from({ length: 6 }, (_, n) => ({ externalId: `crm-${n}` })))
      const [first = ''] = people
      // Two of them have the same time.
      for (const [i, otherId] of people.slice(1).entries())
        await note({ prospectId: first, otherId, at: at(i === 0 ? 1 : i) })
      const expected = people.slice(1).toReversed()
      const others: string[] = []
      let cursor: string | undefined
      for (let slices = 0; slices < 3; slices++) {
        const slice = await listed(2, cursor)
        for (const { prospectIds } of slice.items) others.push(prospectIds[1])
        cursor = slice.nextCursor
        equal(slice.hasMore, slices < 2)
      }
      same(others, expected)
    },

    'a pair is gone as soon as either of the two is merged or erased, and no row of it stays': async (
      scene,
    ) => {
      const { addPeople, listed, note, rows, deps, tenantId, complete, elsewhere, core } = scene
      const [a = '', b = '', c = '', d = '', e = ''] = await addPeople(
        ...Array.from({ length: 5 }, (_, n) => ({ externalId: `crm-${n}` })),
      )
      await note({ prospectId: a, otherId: b })
      await note({ prospectId: b, otherId: c, at: at(1) })
      await note({ prospectId: c, otherId: d, at: at(2) })
      await note({ prospectId: a, otherId: e, at: at(3) })
      const pairs = async () => (await listed()).items.map(({ prospectIds }) => prospectIds)
      same(await pairs(), [
        [a, e],
        [c, d],
        [b, c],
        [a, b],
      ])
      await core.mergeProspect({ ...deps, store: elsewhere })({ tenantId, prospectId: b, into: a })
      same(await pairs(), [
        [a, e],
        [c, d],
      ])
      await core.requestErasure(deps)({ tenantId, prospectId: d, blockDays: 0 })
      same(await pairs(), [[a, e]])
      await complete()
      same(
        (await rows()).map(({ prospectId, otherId }) => [prospectId, otherId]),
        [[a, e]],
      )
    },

    'nothing is noted for a prospect that was merged or erased, or does not exist': async (scene) => {
      const { addPeople, note, rows, deps, tenantId, core } = scene
      const [a = '', b = '', c = ''] = await addPeople(
        { externalId: '1' },
        { externalId: '2' },
        { externalId: '3' },
      )
      await core.mergeProspect(deps)({ tenantId, prospectId: b, into: a })
      await core.requestErasure(deps)({ tenantId, prospectId: c, blockDays: 0 })
      for (const otherId of [b, c, deps.newId('prospect')]) await note({ prospectId: a, otherId })
      same(await rows(), [])
    },

    'the conflicts of a prospect are removed a few at a time, on either side': async (scene) => {
      const { addPeople, note, rows, store, tenantId } = scene
      const people = await addPeople(...Array.from({ length: 5 }, (_, n) => ({ externalId: `crm-${n}` })))
      const [, , middle = ''] = people
      for (const id of people) {
        const [prospectId = '', otherId = ''] = [id, middle].toSorted()
        if (id !== middle) await note({ prospectId, otherId })
      }
      let found = 0
      for (let calls = 0; calls < 5; calls++)
        found += await store.prospectConflicts.removeOf({ tenantId, prospectId: middle }, 1)
      equal(found, 4)
      same(await rows(), [])
    },

    'a batch, and a process that remembers both people, note their pairs': async (scene) => {
      const { addPeople, listed, deps, tenantId, core, store } = scene
      await addPeople(
        { externalId: '1', email: 'ada@x' },
        { externalId: '2', email: 'bob@x' },
        { email: 'eve@x' },
      )
      const activities = core.remembering(store.activities, 100)
      const logActivity = core.logProspectActivity({ ...deps, store: { ...store, activities } })
      const logAll = core.logProspectActivities({ ...deps, logProspectActivity: logActivity })
      const activityOf = (named: Named) => ({
        tenantId,
        source: 'crm',
        type: 'webhook',
        payload: { rawJson: '{}' },
        ...named,
      })
      const named = [{ externalId: '1' }, { email: 'bob@x' }, { externalId: '1', email: 'bob@x' }]
      await logAll({ inputs: [...named, ...named, { externalId: '2', email: 'eve@x' }], prepare: activityOf })
      equal((await listed()).items.length, 2)
    },
  },
)
