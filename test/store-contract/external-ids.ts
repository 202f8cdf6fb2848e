import type { DomainFailure, Store } from 'prospect-pages/store'
import type { NewActivity } from '#use-cases'
import { equal, like, ok, same } from './assertions.ts'
import { untilCompleted } from './completed.ts'
import { section } from './contract.ts'
import { twoProcesses } from './processes.ts'
import { addTenant, newId, sha256 } from './rows.ts'

const HOUR_MS = 3_600_000
const ADA = 'ada@example.com'
const BOB = 'bob@example.com'
const ON = new AbortController().signal

type Named = { readonly prospectId?: string; readonly externalId?: string; readonly email?: string }

export const externalIds = section(
  'external ids',
  async (subject) => {
    const { core, kept } = subject
    const { processes, clock, turnOf } = await twoProcesses(subject)
    const { tenantId } = await addTenant(subject.store)
    const [here] = processes
    const activityOf = (fields: Named): NewActivity => ({
      tenantId,
      source: 'crm',
      type: 'webhook',
      payload: { rawJson: '{}' },
      ...fields,
    })
    const orKind = <Answer>(answer: Answer) => {
      if (answer instanceof core.DomainFailure) return answer.kind
      if (answer instanceof Error) throw answer
      return answer as Exclude<Answer, Error>
    }
    const prospects = async () => (await kept()).prospects.filter((one) => one.tenantId === tenantId)
    const { erasures } = subject.store
    const eraseAll = () => {
      const step = core.eraseProspects(here)
      return untilCompleted(erasures, clock, async () => {
        while (await step(ON));
      })
    }
    return {
      processes,
      here,
      clock,
      turnOf,
      tenantId,
      prospects,
      activityOf,
      eraseAll,
      /** The prospects of activities in one list, or why there is none. */
      log: async (...list: readonly Named[]) =>
        (
          await core.logProspectActivities({ ...here, logProspectActivity: core.logProspectActivity(here) })({
            inputs: list,
            prepare: activityOf,
          })
        )
          .map(orKind)
          .map((one) => (typeof one === 'object' ? one.value.prospectId : one)),
      create: async (fields: Named & { name?: string }) =>
        orKind(
          await core
            .createProspect(here)({ tenantId, ...fields })
            .catch((why: Error) => why),
        ),
      correct: (prospectId: string, fields: { externalId?: string | null; email?: string | null }) =>
        core
          .updateProspect(here)({ tenantId, prospectId, ...fields })
          .then(
            ({ value }) => value,
            ({ kind, facts }: DomainFailure) => ({ kind, ...facts }),
          ),
      erase: (whom: Named) =>
        core
          .requestErasure(here)({ tenantId, blockDays: 1, ...whom })
          .then(
            ({ value }) => value,
            (why: DomainFailure) => why.kind,
          ),
      /** Who has what, without their ids. */
      people: async () =>
        (await prospects()).map(({ email, externalId }) => `${externalId} ${email}`).toSorted(),
    }
  },
  {
    'an external id finds the prospect before the email does, and nothing is overwritten': async (scene) => {
      const { log, people, kept } = scene
      for (const inOneList of [true, false]) {
        const [x, y, z] = inOneList ? ['1', '2', '3'] : ['4', '5', '6']
        const a = `a${x}@x`
        const b = `b${x}@x`
        const c = `c${x}@x`
        const activities = [
          { email: a },
          // The prospect of the email has no external id.
          { externalId: x, email: a },
          // It has another one: a new prospect without the email.
          { externalId: y, email: a },
          { externalId: y, email: b },
          // Both are known, of two people.
          { externalId: x, email: b },
          { externalId: z },
          { email: c },
          // Both are known, of two people, and each lacks what the other one has.
          { externalId: z, email: c },
        ]
        const ids: unknown[] = inOneList ? await log(...activities) : []
        if (!inOneList) for (const one of activities) ids.push(...(await log(one)))
        const [ada, , bob, , , carol, dan] = ids
        same(ids, [ada, ada, bob, bob, ada, carol, dan, carol])
        equal(new Set(ids).size, 4)
        const its = (await people()).filter((who) => who.endsWith(`${x}@x`) || who.startsWith(z))
        same(its, [`${x} ${a}`, `${y} ${b}`, `${z} null`, `null ${c}`].toSorted())
      }
      const sent = (await kept()).logs.filter(({ externalId }) => externalId === '1')
      same(sent.map(({ email }) => email).toSorted(), ['a1@x', 'b1@x'])
    },

    'an id comes before both, which fill its blanks if they are free': async ({ log, people }) => {
      const [prospectId = ''] = await log({})
      const [other] = await log({ externalId: '1', email: ADA })
      ok(prospectId !== other)
      same(await log({ prospectId, externalId: '1', email: ADA }), [prospectId])
      same(await people(), [`1 ${ADA}`, 'null null'].toSorted())
      same(await log({ prospectId, externalId: '2', email: ADA }), [prospectId])
      same(await log({ prospectId, externalId: '3', email: BOB }), [prospectId])
      same(await people(), [`1 ${ADA}`, `2 ${BOB}`])
      same(await log({ prospectId: newId('prospect'), externalId: '1' }), ['prospect_not_found'])
    },

    'it is compared exactly, and placeholders identify nobody': async ({ log, prospects }) => {
      const sent = ['a', 'A', ' a', 'a ', 'á', 'a\u0301', 'a']
      const ids = await log(...sent.map((externalId) => ({ externalId })))
      equal(new Set(ids).size, 6)
      equal(ids[6], ids[0])
      const nobody = await log(...['N/A', ' null', '0', '--'].map((externalId) => ({ externalId })))
      equal(new Set(nobody).size, 4)
      same(await log({ externalId: 'N/A', email: ADA }, { externalId: '0', email: ADA }), [
        ...Array(2).fill((await prospects()).at(-1)?.prospectId),
      ])
    },

    'the hash of a request has an external id only if one was sent': async (scene) => {
      const { here, activityOf, tenantId, store } = scene
      const at = '2026-01-01T00:00:00.000Z'
      const keyed = { source: 'crm', idempotencyKey: 'one', email: ADA, occurredAt: at }
      const outcomeOf = async (fields: object) => {
        const answer = here.logProspectActivity({ ...activityOf({}), ...keyed, ...fields })
        return answer.then(({ replayed }) => replayed).catch(({ kind }: DomainFailure) => kind)
      }
      equal(await outcomeOf({}), false)
      equal(await outcomeOf({}), true)
      equal(await outcomeOf({ externalId: '1' }), 'idempotency_key_reused')
      equal(await outcomeOf({ externalId: at, occurredAt: undefined }), 'idempotency_key_reused')
      const key = { source: 'crm', idempotencyKey: 'one' }
      const { receipt } = await store.activities.recall({ tenantId, identifiers: [], key })
      const fields = JSON.stringify({ type: 'webhook', email: ADA, occurredAt: at })
      equal(receipt?.requestHash, `1:${sha256(fields)}:${sha256('{}')}`)
    },

    'of many activities of one person in two processes at once one creates the prospect': async (scene) => {
      const { turnOf, activityOf, prospects } = scene
      for (let round = 0; round < 5; round++) {
        const named = { externalId: `x${round}`, email: `${round}@example.com` }
        const answers = await Promise.all(
          Array.from({ length: 40 }, (_, i) => {
            const only = [named, { externalId: named.externalId }, named][i % 3]
            return turnOf(i).logProspectActivity(activityOf(only ?? named))
          }),
        )
        equal(new Set(answers.map(({ value }) => value.prospectId)).size, 1)
        equal(answers.filter(({ value }) => value.createdProspect).length, 1)
        like(
          (await prospects()).filter(({ externalId }) => externalId === named.externalId),
          [named],
        )
      }
    },

    'prospects that two processes create and log for at once are created once': async (scene) => {
      const { turnOf, activityOf, tenantId, prospects } = scene
      const people = Array.from({ length: 30 }, (_, i) => ({
        externalId: `x${i}`,
        email: `${i}@example.com`,
      }))
      const created = await Promise.all(
        [...people, ...people.toReversed()].map((one, i) =>
          turnOf(i % 4 < 2 ? 0 : 1).createProspect({ tenantId, ...one }),
        ),
      )
      const logged = people.map((one, i) => turnOf(i).logProspectActivity(activityOf(one)))
      equal((await Promise.all(logged)).filter(({ value }) => value.createdProspect).length, 0)
      equal(created.filter((one) => one.created).length, 30)
      equal((await prospects()).length, 30)
    },

    'lists that take emails and external ids crosswise settle, and each has one owner': async (scene) => {
      const { core, processes, activityOf, prospects } = scene
      for (let round = 0; round < 10; round++) {
        // Each list is sorted by email, so that its external ids come in opposite orders.
        const lists = [0, 1].map((side) =>
          Array.from({ length: 10 }, (_, i) => ({
            email: `${round}-${i}-${side}@example.com`,
            externalId: `x${round}-${side === 0 ? i : 9 - i}`,
          })),
        )
        const outcomes = await Promise.all(
          lists.map((list, i) =>
            core.logProspectActivities(processes[i === 0 ? 0 : 1])({ inputs: list, prepare: activityOf }),
          ),
        )
        for (const outcome of outcomes.flat()) ok('value' in outcome, JSON.stringify(outcome))
      }
      const taken = (await prospects()).flatMap(({ externalId }) => externalId ?? [])
      equal(taken.length, 100)
      equal(new Set(taken).size, 100)
    },

    'an activity of a remembered external id needs no look-up, until a blank can be filled': async (
      scene,
    ) => {
      const { core, store, here, activityOf, prospects } = scene
      let lookUps = 0
      const counting: Store['activities'] = {
        ...store.activities,
        recall: (want) => {
          lookUps++
          return store.activities.recall(want)
        },
      }
      const logAny = core.logProspectActivity({
        ...here,
        store: { activities: core.remembering(counting, 100) },
      })
      const log = (fields: Named) => logAny(activityOf(fields))
      for (const fields of [{ externalId: '1' }, { externalId: '1', email: ADA }, { email: ADA }]) {
        const before = lookUps
        await log(fields)
        equal(lookUps, before + 1)
        await log(fields)
        equal(lookUps, before + 1, JSON.stringify(fields))
      }
      await log({ externalId: '2', email: ADA })
      like(await prospects(), [
        { externalId: '1', email: ADA },
        { externalId: '2', email: null },
      ])
    },

    'creating a prospect finds the one that exists, and fills what it lacks': async (scene) => {
      const { create, tenantId, people } = scene
      const first = await create({ externalId: '1' })
      like(first, { created: true, value: { tenantId, externalId: '1', email: null, name: null } })
      like(await create({ externalId: '1', email: ADA, name: 'Ada' }), {
        created: false,
        value: { externalId: '1', email: ADA, name: 'Ada' },
      })
      const filled = await create({ email: ` ${ADA}`, name: 'Eve' })
      like(filled, { created: false, value: { externalId: '1', email: ADA, name: 'Ada' } })
      like(await create({ externalId: '2', email: ADA }), { created: true, value: { email: null } })
      for (const nobody of [{}, { email: 'n/a' }, { externalId: ' ' }, { name: 'Ada' }])
        equal(await create(nobody), 'invalid_request')
      same(await people(), [`1 ${ADA}`, '2 null'])
    },

    'a placeholder or a text that is no address joins nobody, and a conflict names the owner': async (
      scene,
    ) => {
      const { log, create, people } = scene
      const nobodies: Named[] = [
        ...['[object Object]', '{{email}}', '*|EMAIL|*', 'Berlin', '#N/A', 'guest'].map((email) => ({
          email,
        })),
        ...['[object Object]', '{{id}}', '(not set)', 'NaN', 'guest'].map((externalId) => ({ externalId })),
      ]
      const ids = await log(...nobodies, ...nobodies)
      equal(new Set(ids).size, 2 * nobodies.length)
      const [ada] = await log({ externalId: '1', email: ADA })
      // Not what the email or the id of another person is filled with.
      same(await log({ externalId: '1', email: 'Berlin' }, { externalId: 'guest', email: ADA }), [ada, ada])
      like(await create({ externalId: '2', email: `<${ADA}>` }), {
        created: true,
        value: { email: null, emailTakenBy: ada },
      })
      like(await create({ externalId: '1', email: ADA }), { value: { emailTakenBy: null } })
      like(await create({ externalId: '1', email: BOB }), { value: { email: ADA, emailTakenBy: null } })
      same(
        (await people()).filter((one) => one !== 'null null'),
        [`1 ${ADA}`, '2 null'],
      )
    },

    'a correction takes a free external id, and is refused one of somebody else': async (scene) => {
      const { log, correct, people } = scene
      const [ada = '', bob = ''] = await log({ externalId: '1', email: ADA }, { externalId: '2', email: BOB })
      same(await correct(bob, { externalId: '1' }), { kind: 'external_id_taken', prospectId: ada })
      same(await correct(bob, { externalId: '1', email: ADA }), { kind: 'email_taken', prospectId: ada })
      same(await correct(bob, { externalId: '1', email: null }), {
        kind: 'external_id_taken',
        prospectId: ada,
      })
      like(await correct(bob, { externalId: 'N/A' }), { kind: 'invalid_request' })
      like(await correct(ada, { externalId: null }), { externalId: null, email: ADA })
      like(await correct(bob, { externalId: '1' }), { externalId: '1', email: BOB })
      same(await log({ externalId: '1' }, { externalId: '2', email: ADA }), [bob, ada])
      same(await people(), [`1 ${BOB}`, `2 ${ADA}`])
    },

    'of corrections and activities that take one external id at once, one gets it': async (scene) => {
      const { core, processes, log, activityOf, tenantId, prospects, turnOf } = scene
      for (let round = 0; round < 5; round++) {
        const ids = await log({}, {}, {}, {})
        const externalId = `x${round}`
        const corrected = ids.map((prospectId = '', i) =>
          core
            .updateProspect(processes[i % 2 === 0 ? 0 : 1])({ tenantId, prospectId, externalId })
            .then(() => 'corrected')
            .catch((why: DomainFailure) => why.kind),
        )
        const logged = ids.map((prospectId = '', i) =>
          turnOf(i).logProspectActivity(activityOf({ prospectId, externalId })),
        )
        await Promise.all(logged)
        const outcomes = await Promise.all(corrected)
        const owners = (await prospects()).filter((one) => one.externalId === externalId)
        equal(owners.length, 1)
        for (const outcome of outcomes) ok(['corrected', 'external_id_taken'].includes(outcome), outcome)
      }
    },

    'what a correction replaced identifies no one, until it is given again': async (scene) => {
      const { log, create, correct, people } = scene
      const [ada = ''] = await log({ externalId: '1', email: ADA })
      like(await correct(ada, { externalId: '2', email: BOB }), { externalId: '2', email: BOB })
      same(await log({ externalId: '2' }, { email: BOB }), [ada, ada])
      const [second] = await log({ email: ADA })
      ok(second !== ada)
      like(await create({ externalId: '1' }), { created: true })
      // Neither can be taken back while it leads to another person.
      like(await correct(ada, { externalId: '1' }), { kind: 'external_id_taken' })
      like(await correct(ada, { email: ADA }), { kind: 'email_taken', prospectId: second })
      like(await correct(String(second), { email: null }), { email: null })
      like(await correct(ada, { email: ADA }), { email: ADA })
      same(await log({ email: ADA }), [ada])
      same(await people(), ['1 null', `2 ${ADA}`, 'null null'].toSorted())
    },

    'an activity fills what it brings, and never what was cleared while it was logged': async (scene) => {
      const { core, here, log, correct, activityOf, prospects, store } = scene
      const [ada = ''] = await log({ externalId: '1', email: ADA })
      let isFirst = true
      const recall: Store['activities']['recall'] = async (want) => {
        const known = await store.activities.recall(want)
        if (isFirst) await correct(ada, { email: null, externalId: null })
        isFirst = false
        return known
      }
      const slow = { ...store, activities: { ...store.activities, recall } }
      const named = { ...activityOf({ prospectId: ada }), name: 'Ada' }
      equal((await core.logProspectActivity({ ...here, store: slow })(named)).value.prospectId, ada)
      like(await prospects(), [{ email: null, externalId: null, name: 'Ada' }])
      const [second] = await log({ email: ADA })
      ok(second !== ada)
    },

    'an erasure by external id blocks all that named the person, until it ends': async (scene) => {
      const { here, clock, log, create, correct, erase, prospects, eraseAll } = scene
      const [other = ''] = await log({ externalId: 'other' })
      const [prospectId] = await log({ externalId: '1', email: ADA })
      const erasure = await erase({ externalId: '1' })
      like(erasure, { prospectId, status: 'processing' })
      same(await erase({ email: ADA }), erasure)
      const blocked = [{ externalId: '1' }, { email: ADA }, { externalId: '2', email: ADA }]
      const all = [...blocked, { prospectId: other, externalId: '1' }]
      same(await log(...all), Array(4).fill('prospect_erased'))
      for (const one of blocked) equal(await create(one), 'prospect_erased')
      like(await correct(other, { externalId: '1' }), { kind: 'prospect_erased' })
      await eraseAll()
      equal(await erase({ prospectId: String(prospectId) }), 'prospect_erased')
      // The person is erased, so these block what they name once more.
      for (const named of [{ externalId: '1' }, { email: ADA }]) {
        const again = await erase(named)
        like(again, { prospectId: null, status: 'processing' })
        same(await erase(named), again)
      }
      await eraseAll()
      same(await log(...all), Array(4).fill('prospect_erased'))
      clock.advance(25 * HOUR_MS)
      const now = new Date(clock()).toISOString()
      await here.store.erasures.expire({ tenantId: scene.tenantId, now, beforeLogId: null, max: 100 })
      ok((await log({ externalId: '1', email: ADA }))[0]?.startsWith('prospect_'))
      for (const one of await prospects())
        if (one.prospectId === prospectId) like(one, { email: null, externalId: null })
    },

    'an erasure blocks what the person had before corrections, unless it leads to another one': async (
      scene,
    ) => {
      const { log, correct, create, erase, eraseAll, prospects } = scene
      const [ada = ''] = await log({ externalId: '1', email: ADA })
      await correct(ada, { externalId: '2', email: 'second@x' })
      await correct(ada, { externalId: null, email: 'third@x' })
      const [bob] = await log({ externalId: '1', email: BOB })
      await erase({ prospectId: ada })
      for (const named of [
        { email: ADA },
        { email: 'second@x' },
        { email: 'third@x' },
        { externalId: '2' },
      ]) {
        same(await log(named), ['prospect_erased'])
        equal(await create(named), 'prospect_erased')
        like(await correct(String(bob), named), { kind: 'prospect_erased' })
      }
      same(await log({ externalId: '1' }, { email: BOB }), [bob, bob])
      await eraseAll()
      same(await log({ email: ADA }, { externalId: '1' }), ['prospect_erased', bob])
      like(
        (await prospects()).filter(({ prospectId }) => prospectId === bob),
        [{ externalId: '1', email: BOB }],
      )
    },

    'an external id that no one has is blocked, and cleaned from the activities of others': async (scene) => {
      const { here, kept, log, erase, eraseAll, tenantId } = scene
      const [prospectId = ''] = await log({ externalId: '1', email: ADA })
      await log({ prospectId, externalId: 'gone', email: BOB })
      like(await erase({ externalId: 'gone' }), { prospectId: null })
      await eraseAll()
      const logs = (await kept()).logs.map(({ externalId, email }) => ({ externalId, email }))
      same(logs, [
        { externalId: '1', email: ADA },
        { externalId: null, email: null },
      ])
      same(await log({ externalId: 'gone' }), ['prospect_erased'])
      like(await erase({ prospectId, externalId: '1' }), 'invalid_request')
      like(await here.store.prospects.find({ tenantId, prospectId }), { externalId: '1' })
    },
  },
)
