import type { AssumedIdentifier, IdentifierKind, Recorded } from 'prospect-pages/store'
import { type ActivityScene, activitySetting, erasedBy, mergedBy, ROUNDS, raceTo } from './activity-scene.ts'
import { equal, same } from './assertions.ts'
import { section } from './contract.ts'
import {
  assumedTo,
  at,
  changeOf,
  emailIdentifier,
  externalIdentifier,
  fillOf,
  identifiersOf,
  keyFields,
  logChangeOf,
  newId,
  type SomeProspect,
  someLog,
  someProspect,
} from './rows.ts'

export const activityIdentifiers = section('activities', activitySetting, {
  'a change that adds an identifier which was added meanwhile is overtaken, and leaves nothing': async (
    scene,
  ) => {
    const { expectOvertaken, addProspect } = scene
    const own = { email: 'own@x', externalId: 'own' }
    for (const taken of [{ email: 'taken@x' }, { externalId: 'taken' }]) {
      const tenantId = await scene.newTenant()
      await addProspect(tenantId, taken)
      const blank = await addProspect(tenantId)
      const late = someProspect(tenantId, { ...own, ...taken })
      // Even if it adds the identifier without a word about where it led.
      for (const change of [
        changeOf(late, someLog(late, keyFields('one'))),
        fillOf(blank, { ...own, ...taken }, someLog(blank, keyFields('one'))),
      ])
        await expectOvertaken(change, { ...change, assumed: [] })
    }
  },

  'an identifier is taken within its tenant only': async ({ keptOf, addProspect, newTenant }) => {
    const fields = { email: 'both@example.com', externalId: '1' }
    await addProspect(await newTenant(), fields)
    const other = await addProspect(await newTenant(), fields)
    equal((await keptOf(other.tenantId)).prospects.length, 1)
  },

  'a change that assumes where an email leads is overtaken if it leads elsewhere': (scene) =>
    testAssumptions(scene, 'email'),

  'a change that assumes where an external id leads is overtaken if it leads elsewhere': (scene) =>
    testAssumptions(scene, 'externalId'),

  'a blocked identifier cannot be added': async ({
    blockIdentifier,
    expectOvertaken,
    addProspect,
    newTenant,
  }) => {
    const tenantId = await newTenant()
    await blockIdentifier(emailIdentifier(tenantId, 'gone@x'))
    const blank = await addProspect(tenantId)
    const added = someProspect(tenantId, { email: 'gone@x' })
    for (const change of [
      changeOf(added, someLog(added)),
      fillOf(blank, { email: 'gone@x' }, someLog(blank)),
    ])
      await expectOvertaken(change, { ...change, assumed: [] })
  },

  'an identifier that was released leads where it is added next': async (scene) => {
    const { activities, recall, addProspect, releaseIdentifiers } = scene
    const tenantId = await scene.newTenant()
    const first = await addProspect(tenantId, { email: 'ada@x', externalId: '1' })
    await releaseIdentifiers(first)
    const second = await addProspect(tenantId, { email: 'ada@x' })
    // The first prospect may get its external id back, too.
    const blank = { ...first, email: null, externalId: null, updatedAt: at(1) }
    equal(await activities.record(fillOf(blank, { externalId: '1' }, someLog(first))), 'recorded')
    const { identifiers } = await recall({ tenantId, identifiers: identifiersOf(first) })
    same(Object.fromEntries(identifiers.map(({ kind, prospectId }) => [kind, prospectId])), {
      email: second.prospectId,
      externalId: first.prospectId,
    })
  },

  'of writers in two processes that add one email at once, exactly one is recorded': async (scene) => {
    for (let round = 0; round < ROUNDS; round++) await raceTo(scene, { email: `${round}@x` })
  },

  'of writers in two processes that add one external id at once, exactly one is recorded': async (scene) => {
    for (let round = 0; round < ROUNDS; round++) await raceTo(scene, { externalId: `${round}` })
  },

  'an identifier that is added while its prospect is erased leads to a living prospect or to none': (scene) =>
    raceToFill(scene, (person) => erasedBy(scene.elsewhere, person)),

  'an identifier that is added while its prospect is merged leads to a living prospect or to none': (scene) =>
    raceToFill(scene, (person, survivor) => mergedBy(scene.elsewhere, person, survivor)),
})

const testAssumptions = async (scene: ActivityScene, kind: IdentifierKind): Promise<void> => {
  const { activities, blockIdentifier, erase, merge, expectOvertaken, addProspect, releaseIdentifiers } =
    scene
  const tenantId = await scene.newTenant()
  const identifierOf = kind === 'email' ? emailIdentifier : externalIdentifier
  const identifier = identifierOf(tenantId, 'ada@x')
  const fields = { [kind]: 'ada@x' }
  const recordAssuming = async (prospectId: string | null) => {
    for (const change of await changesAssuming(scene, assumedTo(identifier, prospectId)))
      equal(await activities.record(change), 'recorded')
  }
  const overtakenAssuming = async (prospectId: string | null, assumed = identifier) =>
    expectOvertaken(...(await changesAssuming(scene, assumedTo(assumed, prospectId))))

  const bystander = await addProspect(tenantId, { name: 'Bystander' })
  await recordAssuming(null)
  await overtakenAssuming(bystander.prospectId)

  const first = await addProspect(tenantId, fields)
  await recordAssuming(first.prospectId)
  await overtakenAssuming(null)
  await overtakenAssuming(bystander.prospectId)

  await releaseIdentifiers(first)
  await overtakenAssuming(first.prospectId)
  await recordAssuming(null)

  const second = await addProspect(tenantId, fields)
  const survivor = await addProspect(tenantId)
  await merge(second, survivor)
  await overtakenAssuming(second.prospectId)
  await recordAssuming(survivor.prospectId)

  await erase({ ...survivor, updatedAt: at(1) })
  await overtakenAssuming(null)
  await overtakenAssuming(survivor.prospectId)

  const blocked = identifierOf(tenantId, 'gone@x')
  await blockIdentifier(blocked)
  await overtakenAssuming(null, blocked)
  await overtakenAssuming(bystander.prospectId, blocked)
}

/** A new prospect, a log and a fill, each with an identifier of the other kind, under this assumption. */
const changesAssuming = async ({ addProspect }: ActivityScene, assumption: AssumedIdentifier) => {
  const { tenantId, kind } = assumption
  const isByEmail = kind === 'email'
  const newFields = () => ({ [isByEmail ? 'externalId' : 'email']: newId('prospect') })
  const unknown = (isByEmail ? externalIdentifier : emailIdentifier)(tenantId, 'unknown@x')
  const added = someProspect(tenantId, newFields())
  const logging = await addProspect(tenantId)
  const filled = await addProspect(tenantId)
  const changes = [
    changeOf(added, someLog(added, keyFields(newId('prospectlog')))),
    logChangeOf(logging, someLog(logging, keyFields(newId('prospectlog'))), {
      assumed: [assumedTo(unknown, null)],
    }),
    fillOf(filled, newFields(), someLog(filled)),
  ]
  return changes.map((change) => ({ ...change, assumed: [...change.assumed, assumption] }))
}

/** Fills a prospect while another process erases or merges it. Whichever is slower finds the prospect changed. */
const raceToFill = async (
  { activities, keptOf, newTenant, recall, addProspect }: ActivityScene,
  end: (person: SomeProspect, survivor: SomeProspect) => Promise<Recorded>,
): Promise<void> => {
  for (let round = 0; round < ROUNDS; round++) {
    const tenantId = await newTenant()
    const person = await addProspect(tenantId)
    const survivor = await addProspect(tenantId)
    const fill = fillOf(person, { email: 'ada@x', externalId: '1' }, someLog(person))
    const endingFirst = round % 2 === 0 ? undefined : end(person, survivor)
    const filling = activities.record(fill)
    const ending = endingFirst ?? end(person, survivor)
    const isFilled = (await filling) === 'recorded'
    equal(await ending, isFilled ? 'overtaken' : 'recorded')
    const { identifiers } = await recall({ tenantId, identifiers: fill.identifiers })
    same(
      new Set(identifiers.map(({ prospectId }) => prospectId)),
      new Set(isFilled ? [person.prospectId] : []),
    )
    const { logs } = await keptOf(tenantId)
    equal(logs.length, isFilled ? 3 : 2)
  }
}
