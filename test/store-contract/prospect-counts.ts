import type { NewLog, NewPageRow, ProspectCount, ProspectDay } from 'prospect-pages/store'
import { equal, same } from './assertions.ts'
import { section } from './contract.ts'
import {
  AWKWARD_TEXTS,
  addTenant,
  at,
  newId,
  recordAll,
  type SomeProspect,
  someErasure,
  someGroup,
  someLog,
  somePage,
  someProspect,
} from './rows.ts'

/** A day, as the number of days since 1970. */
const TODAY = 20_454
/** After every id of a log. */
const TO_END = 'prospectlog_~'

const ofSource = (fields: Partial<ProspectCount> = {}): ProspectCount => ({
  kind: 'source',
  day: TODAY,
  name: 'crm',
  daysSince: 32,
  count: 1,
  newProspects: 0,
  ...fields,
})

export const prospectCounts = section(
  'prospect counts',
  async (subject) => {
    const { store } = subject
    const { counts, prospectCounts } = store
    const tenant = await addTenant(store)
    const { tenantId } = tenant
    await counts.markRead(tenantId, at(0))
    let position = ''
    /** Saves counts and days of prospects. */
    const add = async (addProspects: readonly ProspectCount[], addDays: readonly ProspectDay[] = []) => {
      const to = `${position}a`
      const change = { tenantId, from: position, to, removeFrom: null, add: [], addProspects, addDays }
      equal(await counts.record(change), 'recorded')
      position = to
    }
    const removeFrom = async (time: string) => {
      equal(await counts.record({ tenantId, from: position, to: '', removeFrom: time }), 'recorded')
      position = ''
    }
    const addPerson = async () => {
      const prospect = someProspect(tenantId)
      equal(await recordAll(store.activities, [prospect]), 'recorded')
      return prospect
    }
    const addLog = async (prospect: SomeProspect, fields: Partial<NewLog> = {}) => {
      const log = someLog(prospect, fields)
      equal(await recordAll(store.activities, [], [log]), 'recorded')
      return log.prospectLogId
    }
    const addPage = async (): Promise<NewPageRow> => {
      const group = someGroup(tenant)
      await store.pageGroups.add(group)
      const page = somePage(group)
      equal(await store.pages.record(page), 'recorded')
      return page
    }
    /** What the logs between two ids add, as texts: `page page_… prospect_… 2 1`. */
    const tally = async (query: object = {}) => {
      const all = { tenantId, afterId: '', toId: TO_END, day: TODAY, ...query }
      const found = await prospectCounts.tally(all)
      return found
        .map((row) =>
          [row.kind, row.name, row.prospectId, row.count, row.newProspects, row.lastDay].join(' '),
        )
        .toSorted()
    }
    /** The pages that the logs name, with how many do. */
    const pagesNamed = async () =>
      (await prospectCounts.tally({ tenantId, afterId: '', toId: TO_END, day: TODAY }))
        .filter(({ kind }) => kind === 'page')
        .map(({ name, count }) => `${name} ${count}`)
        .toSorted()
    const list = (query: object = {}) =>
      prospectCounts.list({
        tenantId,
        kind: 'source',
        since: TODAY - 30,
        until: TODAY + 1,
        firstDay: null,
        ...query,
      })
    /** The last day on which a prospect of a log in `crm` was there. */
    const lastDayOf = async ({ prospectId }: SomeProspect, day = TODAY) => {
      const found = await prospectCounts.tally({ tenantId, afterId: '', toId: TO_END, day })
      return found.find((row) => row.prospectId === prospectId && row.name === 'crm')?.lastDay
    }
    const dayOf = ({ prospectId }: SomeProspect, day = TODAY): ProspectDay => {
      return { kind: 'source', name: 'crm', day, prospectId }
    }
    const scene = { tenantId, add, removeFrom, addPerson, addLog, addPage, tally, pagesNamed, list }
    return { ...scene, prospectCounts, lastDayOf, dayOf }
  },
  {
    'logs of a time are tallied by source and prospect, and how many created theirs': async (scene) => {
      const { addPerson, addLog, tally } = scene
      const ada = await addPerson()
      const bob = await addPerson()
      const first = await addLog(ada, { createdProspect: true })
      const second = await addLog(ada)
      await addLog(ada, { source: 'shop' })
      const last = await addLog(bob, { createdProspect: true })
      same(await tally(), [
        `source crm ${ada.prospectId} 2 1 `,
        `source crm ${bob.prospectId} 1 1 `,
        `source shop ${ada.prospectId} 1 0 `,
      ])
      same(await tally({ afterId: first, toId: second }), [`source crm ${ada.prospectId} 1 0 `])
      same(await tally({ afterId: last }), [])
      const stranger = await scene.newTenant()
      same(await tally({ tenantId: stranger }), [])
    },

    'the page of a log is the `pageId` at the top of its payload, if the tenant has it': async (scene) => {
      const { store, addPerson, addLog, addPage, pagesNamed } = scene
      const ada = await addPerson()
      const { pageId } = await addPage()
      const { pageId: other } = await addPage()
      const theirs = somePage(someGroup(await addTenant(store)))
      const name = JSON.stringify(pageId)
      for (const rawJson of [
        `{"pageId":${name}}`,
        ` { "a" : [{}] ,\n "pageId" : ${name} , "n": 1e999 }`,
        `{"pageId":"${other}","pageId":${name}}`,
        `{"nul":"\\u0000","lone":"\\ud800","\\ud83d\\ude00":"\\\\u0000","pageId":${name},"end":"\\\\"}`,
        `{"texts":${JSON.stringify(AWKWARD_TEXTS)},"pageId":${name}}`,
        `{"pageId":${name},"nested":{"pageId":"${other}"},"list":[{"pageId":"${other}"}]}`,
        `{"pageId":${name},"long":"${'x'.repeat(65_000)}"}`,
        // Without a page.
        `{"page":{"pageId":${name}}}`,
        `{"text":${JSON.stringify(`"pageId":${name}`)}}`,
        `{"pageId":${name},"pageId":null}`,
        `{"pageId":[${name}]}`,
        `{"pageId":{"pageId":${name}}}`,
        `{"PageId":${name},"pageid":${name}}`,
        `{"pageId":"${newId('page')}"}`,
        `{"pageId":"${theirs.pageId}"}`,
        '{"pageId":7}',
        '{"pageId":""}',
        `{"pageId":${name},"long":"${'x'.repeat(65_536)}"}`,
      ])
        await addLog(ada, { payload: { rawJson } })
      same(await pagesNamed(), [`${pageId} 7`])
    },

    'counts are added, and summed by name on each day, of one kind and some days': async (scene) => {
      const { add, list, prospectCounts, tenantId } = scene
      await add([ofSource({ count: 2, newProspects: 1 }), ofSource({ daysSince: 0, count: 5 })])
      await add([
        ofSource({ count: 3, newProspects: 2 }),
        ofSource({ name: 'shop', daysSince: 1 }),
        ofSource({ day: TODAY - 1, name: 'shop' }),
        ofSource({ kind: 'page', name: 'page_1' }),
      ])
      const crm = { day: TODAY, name: 'crm', count: 10, prospects: 5, newProspects: 3 }
      const shop = { day: TODAY, name: 'shop', count: 1, prospects: 1, newProspects: 0 }
      same(await list(), [{ ...shop, day: TODAY - 1 }, crm, shop])
      same(await list({ since: TODAY }), [crm, shop])
      same(await list({ until: TODAY }), [{ ...shop, day: TODAY - 1 }])
      same(await list({ kind: 'page' }), [{ ...shop, name: 'page_1' }])
      same(await list({ tenantId: await scene.newTenant() }), [])
      const names = await prospectCounts.namesOn(tenantId, TODAY)
      same(names.map(({ kind, name }) => `${kind} ${name}`).toSorted(), [
        'page page_1',
        'source crm',
        'source shop',
      ])
      same(await prospectCounts.namesOn(tenantId, TODAY + 1), [])
    },

    'a prospect counts on its first day since some day, or on each day': async (scene) => {
      const { add, list } = scene
      for (const daysSince of [0, 1, 2, 3, 32]) await add([ofSource({ daysSince })])
      const people = async (firstDay: number | null) => (await list({ firstDay }))[0]?.prospects
      equal(await people(null), 4)
      equal(await people(TODAY), 4)
      equal(await people(TODAY - 1), 3, 'one was there the day before')
      equal(await people(TODAY - 2), 2)
      equal(await people(TODAY - 30), 1)
    },

    'names are kept exactly': async ({ add, list }) => {
      await add(AWKWARD_TEXTS.map((name) => ofSource({ name })))
      const found = await list()
      same(found.map(({ name }) => name).toSorted(), AWKWARD_TEXTS.toSorted())
    },

    'a tally knows the last day on which each prospect was at each place': async (scene) => {
      const { add, addPerson, addLog, tally, lastDayOf, dayOf } = scene
      const ada = await addPerson()
      const bob = await addPerson()
      await addLog(ada)
      await addLog(ada, { source: 'shop' })
      await addLog(bob)
      await add([], [dayOf(ada, TODAY - 3), dayOf(ada, TODAY - 9), { ...dayOf(bob), kind: 'page' }])
      await add([], [dayOf(ada, TODAY - 3)])
      same(await tally(), [
        `source crm ${ada.prospectId} 1 0 ${TODAY - 3}`,
        `source crm ${bob.prospectId} 1 0 `,
        `source shop ${ada.prospectId} 1 0 `,
      ])
      await add([], [dayOf(ada)])
      equal(await lastDayOf(ada), TODAY)
      equal(await lastDayOf(ada, TODAY - 1), TODAY - 3, 'up to the day of the logs')
    },

    'nothing is added if the position has moved': async (scene) => {
      const { store, tenantId, add, addPerson, addLog, list, lastDayOf, dayOf } = scene
      const ada = await addPerson()
      await addLog(ada)
      await add([ofSource()])
      const [addProspects, addDays] = [[ofSource()], [dayOf(ada)]]
      const late = { tenantId, from: '', to: 'b', removeFrom: null, add: [], addProspects, addDays }
      equal(await store.counts.record(late), 'overtaken')
      equal(await store.counts.record({ tenantId, from: '', to: 'b', removeFrom: at(0) }), 'overtaken')
      equal((await list())[0]?.count, 1)
      equal(await lastDayOf(ada), null)
    },

    'counts and days from a day on are removed with the other counts': async (scene) => {
      const { add, addPerson, addLog, removeFrom, list, lastDayOf, dayOf } = scene
      const ada = await addPerson()
      await addLog(ada)
      const days = [TODAY - 2, TODAY - 1, TODAY]
      await add(
        days.map((day) => ofSource({ day })),
        days.map((day) => dayOf(ada, day)),
      )
      await removeFrom(new Date((TODAY - 1) * 86_400_000).toISOString())
      same(
        (await list()).map(({ day }) => day),
        [TODAY - 2],
      )
      equal(await lastDayOf(ada), TODAY - 2)
    },

    'logs of an erased prospect are not tallied, and no day of it is added or stays': async (scene) => {
      const { store, tenantId, add, addPerson, addLog, tally, list, dayOf, prospectCounts } = scene
      const ada = await addPerson()
      const bob = await addPerson()
      for (const person of [ada, bob]) await addLog(person)
      await add([ofSource({ count: 2 })], [dayOf(ada, TODAY - 1), dayOf(ada, TODAY - 2), dayOf(bob)])
      const erased = await store.prospects.find(ada)
      if (erased === null) throw new Error('There is no Ada.')
      const erasures = [someErasure(tenantId, { prospectId: ada.prospectId })]
      const erasure = { tenantId, prospects: [erased], identifier: null, erasures, until: at(9), now: at(5) }
      equal(await store.erasures.record(erasure), 'recorded')
      same(await tally(), [`source crm ${bob.prospectId} 1 0 ${TODAY}`])

      await add([], [dayOf(ada), dayOf(bob)])
      equal(await prospectCounts.removeOf(ada, 1), 1)
      equal(await prospectCounts.removeOf(ada, 9), 1, 'no day was added after the erasure')
      equal(await prospectCounts.removeOf(ada, 9), 0)
      equal((await list())[0]?.count, 2, 'what was counted stays')
    },

    'days expire before a day, and those that no later count needs': async (scene) => {
      const { add, addPerson, dayOf, prospectCounts, tenantId } = scene
      const ada = await addPerson()
      const expire = (before: number, max: number) => prospectCounts.expire({ tenantId, before, max })
      equal(await expire(TODAY, 9), false)
      const days = [0, 20, 39, 40, 41, 50].map((daysAgo) => dayOf(ada, TODAY - daysAgo))
      await add([], days)
      equal(await expire(0, 1), true, 'a few at a time')
      equal(await expire(0, 2), false, 'the two of more than forty days ago')
      equal(await expire(TODAY - 39, 9), false, 'the one of forty days ago')
      equal(await expire(0, 9), false)
      equal(await prospectCounts.removeOf(ada, 9), 3)
    },
  },
)
