import { activitySetting, changesTo, ROUNDS } from './activity-scene.ts'
import { equal, same } from './assertions.ts'
import { section } from './contract.ts'
import {
  at,
  emailIdentifier,
  fillOf,
  identifiersOf,
  logChangeOf,
  newId,
  only,
  readEach,
  type SomeProspect,
  someLog,
  someProspect,
} from './rows.ts'

export const activityFills = section('activities', activitySetting, {
  'a change whose prospect was changed since is overtaken, and leaves nothing': async (scene) => {
    const { activities, erase, merge, expectOvertaken, addProspect, releaseIdentifiers } = scene
    const tenantId = await scene.newTenant()
    const person = () => addProspect(tenantId, { externalId: newId('prospect') })
    const fill = async (prospect: SomeProspect) => {
      equal(await activities.record(fillOf(prospect, { name: 'Ada' })), 'recorded')
    }
    const changed = async (change: (prospect: SomeProspect) => Promise<void>) => {
      const prospect = await person()
      await change(prospect)
      await expectOvertaken(...changesTo(prospect))
      return { ...prospect, updatedAt: at(1) }
    }
    const filled = await changed(fill)
    const released = await changed(releaseIdentifiers)
    const survivor = await changed(async (prospect) => merge(await person(), prospect))
    for (const prospect of [filled, released, survivor])
      equal(await activities.record(logChangeOf(prospect, someLog(prospect))), 'recorded')
    // An erased, merged or missing prospect takes no activities, even if the change knows its last state.
    const erased = await changed(erase)
    const merged = await changed(async (prospect) => merge(prospect, await person()))
    for (const gone of [erased, merged, someProspect(tenantId)]) await expectOvertaken(...changesTo(gone))
    const unchanged = await person()
    for (const ms of [-1, 1]) await expectOvertaken(...changesTo({ ...unchanged, updatedAt: at(ms) }))
  },

  'a change fills blanks with what identifies the prospect': async (scene) => {
    const { activities, keptOf, recall, addProspect } = scene
    const blank = await addProspect(await scene.newTenant(), { name: 'Ada' })
    const { tenantId, prospectId } = blank
    const fills = { email: 'ada@example.com', externalId: 'crm 1', updatedAt: at(5_000) }
    const fill = fillOf(blank, fills, someLog(blank))
    equal(await activities.record(fill), 'recorded')
    same((await keptOf(tenantId)).prospects, [{ ...blank, ...fills }])
    const { identifiers } = await recall({ tenantId, identifiers: fill.identifiers })
    same(identifiers.map((found) => [found.kind, found.prospectId]).toSorted(), [
      ['email', prospectId],
      ['externalId', prospectId],
    ])
  },

  'filling a blank that another writer filled is overtaken, and leaves nothing': async (scene) => {
    const { activities, expectOvertaken, addProspect } = scene
    for (const [first, second] of [
      [{ email: 'first@x' }, { email: 'second@x' }],
      [{ externalId: '1' }, { externalId: '2' }],
      [{ name: 'Ada' }, { name: 'Grace' }],
      [{ name: 'Ada' }, { email: 'second@x' }],
    ] as const) {
      const blank = await addProspect(await scene.newTenant())
      equal(await activities.record(fillOf(blank, first, someLog(blank))), 'recorded')
      await expectOvertaken(fillOf(blank, second, someLog(blank)))
    }
  },

  'a name fills a blank, and leaves what identifies the prospect alone': async (scene) => {
    const { activities, keptOf, recall, addProspect } = scene
    const nameless = await addProspect(await scene.newTenant(), { email: 'ada@example.com', externalId: '1' })
    const { tenantId, prospectId } = nameless
    equal(await activities.record(fillOf(nameless, { name: 'Ada' }, someLog(nameless))), 'recorded')
    same((await keptOf(tenantId)).prospects, [{ ...nameless, name: 'Ada', updatedAt: at(1) }])
    const { identifiers } = await recall({ tenantId, identifiers: identifiersOf(nameless) })
    same(only(identifiers, 'prospectId'), [{ prospectId }, { prospectId }])
  },

  'of two writers that fill one blank with two emails at once, exactly one is recorded': async (scene) => {
    const { activities, elsewhere, keptOf, recall, addProspect } = scene
    for (let round = 0; round < ROUNDS; round++) {
      const blank = await addProspect(await scene.newTenant())
      const { tenantId } = blank
      const emails = ['one@x', 'two@x']
      const outcomes = await Promise.all(
        emails.map((email, i) =>
          (i === round % 2 ? activities : elsewhere.activities).record(
            fillOf(blank, { email }, someLog(blank)),
          ),
        ),
      )
      same(outcomes.toSorted(), ['overtaken', 'recorded'])
      const { prospects, logs } = await keptOf(tenantId)
      same(only(prospects, 'email'), [{ email: emails[outcomes.indexOf('recorded')] }])
      equal(logs.length, 2)
      const lookups = emails.map((email) => ({ tenantId, identifiers: [emailIdentifier(tenantId, email)] }))
      same(
        (await readEach(recall, lookups)).map(({ identifiers }) => identifiers.length),
        outcomes.map((outcome) => (outcome === 'recorded' ? 1 : 0)),
      )
    }
  },
})
