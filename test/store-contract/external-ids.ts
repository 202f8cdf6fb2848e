import type { DomainFailure, Store } from 'prospect-pages/store'
import type { NewActivity } from '#use-cases'
import { equal, like, ok, same } from './assertions.ts'
import { untilCompleted } from './completed.ts'
import { section } from './contract.ts'
import { twoProcesses } from './processes.ts'
import { addTenant, logKey, newId, sha256 } from './rows.ts'

const HOUR_MS = 3_600_000
const ADA = 'ada@example.com'
const BOB = 'bob@example.com'
const NEVER_ABORTED = new AbortController().signal

type Named = { readonly prospectId?: string; readonly externalId?: string; readonly email?: string }

export const externalIds = section(
  'external ids',
  async (subject) => {
    const { core, kept } = subject
    const { processes, clock, processAt } = await twoProcesses(subject)
    const { tenantId } = await addTenant(subject.store)
    const [here] = processes
    const activityOf = (fields: Named): NewActivity => ({
      tenantId,
      source: 'crm',
      type: 'webhook',
      payload: { rawJson: '{}' },
      ...fields,
    })
    /** What a use case returned, or the kind of its refusal. */
    const orKind = <Answer>(answer: Answer) => {
      if (answer instanceof core.DomainFailure) return answer.kind
      if (answer instanceof Error) throw answer
      return answer as Exclude<Answer, Error>
    }
    const prospects = async () =>
      (await kept()).prospects.filter((prospect) => prospect.tenantId === tenantId)
    const { erasures } = subject.store
    const eraseAll = () => {
      const step = core.eraseProspects(here)
      return untilCompleted(erasures, clock, async () => {
        while (await step(NEVER_ABORTED));
      })
    }
    return {
      processes,
      here,
      clock,
      processAt,
      tenantId,
      prospects,
      activityOf,
      eraseAll,
      /** Logs activities in one list. Returns the prospect of each, or the kind of the refusal. */
      log: async (...list: readonly Named[]): Promise<(string | undefined)[]> => {
        const logProspectActivity = core.logProspectActivity(here)
        const logAll = core.logProspectActivities({ ...here, logProspectActivity })
        const ids: (string | undefined)[] = []
        for (const answer of await logAll({ inputs: list, prepare: activityOf })) {
          const logged = orKind(answer)
          ids.push(typeof logged === 'object' ? logged.value.prospectId : logged)
        }
        return ids
      },
      /** Creates a prospect. Returns it, or the kind of the refusal. */
      create: async (fields: Named & { name?: string }) => {
        const creating = core.createProspect(here)({ tenantId, ...fields })
        return orKind(await creating.catch((error: Error) => error))
      },
      /** Corrects a prospect. Returns it, or the kind and the facts of the refusal. */
      correct: async (prospectId: string, fields: { externalId?: string | null; email?: string | null }) => {
        const correcting = core.updateProspect(here)({ tenantId, prospectId, ...fields })
        return correcting.then(
          ({ value }) => value,
          ({ kind, facts }: DomainFailure) => ({ kind, ...facts }),
        )
      },
      /** Requests an erasure. Returns it, or the kind of the refusal. */
      erase: async (person: Named) => {
        const requesting = core.requestErasure(here)({ tenantId, blockDays: 1, ...person })
        return requesting.then(
          ({ value }) => value,
          ({ kind }: DomainFailure) => kind,
        )
      },
      /** The external id and the email of each prospect. */
      people: async () =>
        (await prospects()).map(({ email, externalId }) => `${externalId} ${email}`).toSorted(),
    }
  },
  {
    'an external id finds the prospect before the email does, and nothing is overwritten': async (scene) => {
      const { log, people } = scene
      const [ada] = await log({ email: 'a@x' })
      // The prospect of the email has no external id.
      same(await log({ externalId: '1', email: 'a@x' }), [ada])
      // It has another one: a new prospect without the email.
      const [bob] = await log({ externalId: '2', email: 'a@x' })
      same(await log({ externalId: '2', email: 'b@x' }), [bob])
      // Both are known, of two people.
      same(await log({ externalId: '1', email: 'b@x' }), [ada])
      const [carol] = await log({ externalId: '3' })
      const [dan] = await log({ email: 'c@x' })
      // Both are known, of two people, and each lacks what the other one has.
      same(await log({ externalId: '3', email: 'c@x' }), [carol])
      equal(new Set([ada, bob, carol, dan]).size, 4)
      same(await people(), ['1 a@x', '2 b@x', '3 null', 'null c@x'])
    },

    'activities in one list find the same prospects as one after the other': async (scene) => {
      const { log, people, kept } = scene
      const [ada, second, third, bob, fifth, carol, dan, eighth] = await log(
        { email: 'a@x' },
        { externalId: '1', email: 'a@x' },
        { externalId: '2', email: 'a@x' },
        { externalId: '2', email: 'b@x' },
        { externalId: '1', email: 'b@x' },
        { externalId: '3' },
        { email: 'c@x' },
        { externalId: '3', email: 'c@x' },
      )
      same([second, third, fifth, eighth], [ada, bob, ada, carol])
      equal(new Set([ada, bob, carol, dan]).size, 4)
      same(await people(), ['1 a@x', '2 b@x', '3 null', 'null c@x'])
      // Each log keeps what was sent.
      const logs = (await kept()).logs.filter(({ externalId }) => externalId === '1')
      same(logs.map(({ email }) => email).toSorted(), ['a@x', 'b@x'])
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

    'an external id is compared exactly': async ({ log }) => {
      const [lower, upper, leading, trailing, accented, decomposed, repeated] = await log(
        { externalId: 'a' },
        { externalId: 'A' },
        { externalId: ' a' },
        { externalId: 'a ' },
        { externalId: 'á' },
        { externalId: 'a\u0301' },
        { externalId: 'a' },
      )
      equal(new Set([lower, upper, leading, trailing, accented, decomposed]).size, 6)
      equal(repeated, lower)
    },

    'a placeholder of an external id identifies nobody': async ({ log }) => {
      const ids = await log(...['N/A', ' null', '0', '--'].map((externalId) => ({ externalId })))
      equal(new Set(ids).size, 4)
      const [first, second] = await log({ externalId: 'N/A', email: ADA }, { externalId: '0', email: ADA })
      equal(second, first)
      ok(!ids.includes(first))
    },

    'a request with an external id is another request than one without': async (scene) => {
      const { here, activityOf } = scene
      const occurredAt = '2026-01-01T00:00:00.000Z'
      const keyed = { ...activityOf({ email: ADA }), idempotencyKey: 'one', occurredAt }
      const outcomeOf = (fields: object) =>
        here.logProspectActivity({ ...keyed, ...fields }).then(
          ({ replayed }) => (replayed ? 'replayed' : 'logged'),
          ({ kind }: DomainFailure) => kind,
        )
      equal(await outcomeOf({}), 'logged')
      equal(await outcomeOf({}), 'replayed')
      equal(await outcomeOf({ externalId: '1' }), 'idempotency_key_reused')
      // Nor is the text of one field taken for another field.
      equal(await outcomeOf({ externalId: occurredAt, occurredAt: undefined }), 'idempotency_key_reused')
    },

    'the hash of a request has an external id only if one was sent': async (scene) => {
      const { here, activityOf, tenantId, store } = scene
      const occurredAt = '2026-01-01T00:00:00.000Z'
      const key = { source: 'crm', idempotencyKey: 'one' }
      await here.logProspectActivity({ ...activityOf({ email: ADA }), ...key, occurredAt })
      const { receipt } = await store.activities.recall({ tenantId, identifiers: [], key: logKey('one') })
      const fields = JSON.stringify({ type: 'webhook', email: ADA, occurredAt })
      equal(receipt?.requestHash, `1:${sha256(fields)}:${sha256('{}')}`)
    },

    'of many activities of one person in two processes at once one creates the prospect': async (scene) => {
      const { processAt, activityOf, prospects } = scene
      for (let round = 0; round < 5; round++) {
        const named = { externalId: `x${round}`, email: `${round}@example.com` }
        const answers = await Promise.all(
          Array.from({ length: 40 }, (_, i) => {
            const isWithoutEmail = i % 3 === 1
            const fields = isWithoutEmail ? { externalId: named.externalId } : named
            return processAt(i).logProspectActivity(activityOf(fields))
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
      const { processAt, activityOf, tenantId, prospects } = scene
      const people = Array.from({ length: 30 }, (_, i) => ({
        externalId: `x${i}`,
        email: `${i}@example.com`,
      }))
      const created = await Promise.all(
        [...people, ...people.toReversed()].map((named, i) =>
          processAt(i % 4 < 2 ? 0 : 1).createProspect({ tenantId, ...named }),
        ),
      )
      const logged = people.map((named, i) => processAt(i).logProspectActivity(activityOf(named)))
      equal((await Promise.all(logged)).filter(({ value }) => value.createdProspect).length, 0)
      equal(created.filter(({ created }) => created).length, 30)
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
        value: { email: null, conflicts: [{ field: 'email', reason: 'taken', prospectId: ada }] },
      })
      const conflictsOf = async (fields: Named) => {
        const created = await create({ externalId: '1', ...fields })
        return typeof created === 'string' ? created : created.value.conflicts
      }
      for (const fields of [{}, { email: ADA }, { email: ' ' }]) same(await conflictsOf(fields), [])
      same(await conflictsOf({ email: BOB }), [{ field: 'email', reason: 'different' }])
      same(await conflictsOf({ email: 'Berlin' }), [{ field: 'email', reason: 'unusable' }])
      same(await conflictsOf({ externalId: 'guest', email: ADA }), [
        { field: 'externalId', reason: 'unusable' },
      ])
      same(
        (await people()).filter((person) => person !== 'null null'),
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
      const { core, processes, log, activityOf, tenantId, prospects, processAt } = scene
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
          processAt(i).logProspectActivity(activityOf({ prospectId, externalId })),
        )
        await Promise.all(logged)
        const outcomes = await Promise.all(corrected)
        const owners = (await prospects()).filter((prospect) => prospect.externalId === externalId)
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

    'an erasure by external id blocks all that named the person': async (scene) => {
      const { log, create, correct, erase, eraseAll } = scene
      const [other = ''] = await log({ externalId: 'other' })
      const [prospectId = ''] = await log({ externalId: '1', email: ADA })
      const erasure = await erase({ externalId: '1' })
      like(erasure, { prospectId, status: 'processing' })
      same(await erase({ email: ADA }), erasure)

      const blocked = [{ externalId: '1' }, { email: ADA }, { externalId: '2', email: ADA }]
      const logsOfBlocked = [...blocked, { prospectId: other, externalId: '1' }]
      for (const named of logsOfBlocked) same(await log(named), ['prospect_erased'])
      for (const named of blocked) equal(await create(named), 'prospect_erased')
      like(await correct(other, { externalId: '1' }), { kind: 'prospect_erased' })

      await eraseAll()
      equal(await erase({ prospectId }), 'prospect_erased')
      for (const named of logsOfBlocked) same(await log(named), ['prospect_erased'])
    },

    'an erasure by what named an erased person blocks it once more': async ({ log, erase, eraseAll }) => {
      await log({ externalId: '1', email: ADA })
      await erase({ externalId: '1' })
      await eraseAll()
      for (const named of [{ externalId: '1' }, { email: ADA }]) {
        const erasure = await erase(named)
        like(erasure, { prospectId: null, status: 'processing' })
        same(await erase(named), erasure)
      }
      await eraseAll()
      same(await log({ externalId: '1' }, { email: ADA }), ['prospect_erased', 'prospect_erased'])
    },

    'a person may return once all blocks have ended, and the tombstone stays blank': async (scene) => {
      const { here, clock, tenantId, log, erase, prospects, eraseAll } = scene
      const [erasedId] = await log({ externalId: '1', email: ADA })
      await erase({ externalId: '1' })
      await eraseAll()
      await erase({ externalId: '1' })
      await erase({ email: ADA })
      await eraseAll()
      clock.advance(25 * HOUR_MS)
      const now = new Date(clock()).toISOString()
      await here.store.erasures.expire({ tenantId, now, beforeLogId: null, max: 100 })
      const [returnedId] = await log({ externalId: '1', email: ADA })
      ok(returnedId?.startsWith('prospect_') && returnedId !== 'prospect_erased')
      ok(returnedId !== erasedId)
      const tombstone = (await prospects()).find(({ prospectId }) => prospectId === erasedId)
      like(tombstone, { email: null, externalId: null })
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
