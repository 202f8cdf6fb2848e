import type { DomainFailure, Store } from 'prospect-pages'
import type { NewActivity } from '#use-cases'
import { equal, like, ok, same } from './assertions.ts'
import { section } from './contract.ts'
import { twoProcesses } from './processes.ts'
import { addTenant, newId, sha256, someLog, someProspect } from './rows.ts'

const HOUR_MS = 3_600_000
const [ADA, BOB] = ['ada@example.com', 'bob@example.com']
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
      ...{ tenantId, source: 'crm', type: 'webhook', payload: { rawJson: '{}' } },
      ...fields,
    })
    const orKind = <Answer>(answer: Answer | DomainFailure | undefined) =>
      answer instanceof core.DomainFailure ? answer.kind : answer
    const prospects = async () => (await kept()).prospects.filter((one) => one.tenantId === tenantId)
    return {
      ...{ processes, here, clock, turnOf, tenantId, prospects, activityOf },
      /** The prospects of activities in one list, or why there is none. */
      log: async (...list: readonly Named[]) =>
        (await core.logProspectActivities(here)(list.map(activityOf)))
          .map(orKind)
          .map((one) => (typeof one === 'object' ? one.receipt.prospectId : one)),
      create: async (fields: Named & { name?: string }) => {
        const [outcome] = await core.createProspects(here)([{ tenantId, ...fields }])
        return orKind(outcome)
      },
      correct: (prospectId: string, fields: { externalId?: string | null; email?: string | null }) =>
        core
          .updateProspect(here)({ tenantId, prospectId, ...fields })
          .catch(({ kind, facts }: DomainFailure) => ({ kind, ...facts })),
      erase: (whom: Named) =>
        core
          .requestErasure(here)({ tenantId, blockDays: 1, ...whom })
          .catch((why: DomainFailure) => why.kind),
      /** Who has what, without their ids. */
      people: async () =>
        (await prospects()).map(({ email, externalId }) => `${externalId} ${email}`).toSorted(),
    }
  },
  {
    'an external id finds the prospect before the email does, and nothing is overwritten': async (given) => {
      const { log, people, kept } = given
      for (const inOneList of [true, false]) {
        const [x, y, z] = inOneList ? ['1', '2', '3'] : ['4', '5', '6']
        const [a, b, c] = [`a${x}@x`, `b${x}@x`, `c${x}@x`]
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

    'the hash of a request has an external id only if one was sent': async (given) => {
      const { here, activityOf, tenantId, store } = given
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
      const key = { tenantId, source: 'crm', idempotencyKey: 'one' }
      const known = await store.activities.recall({ prospects: [], emails: [], externalIds: [], keys: [key] })
      const fields = JSON.stringify(['webhook', null, ADA, null, at])
      equal(known.receipts[0]?.requestHash, `1:${sha256(`${fields}{}`)}`)
    },

    'of many activities of one person in two processes at once one creates the prospect': async (given) => {
      const { turnOf, activityOf, prospects } = given
      for (let round = 0; round < 5; round++) {
        const named = { externalId: `x${round}`, email: `${round}@example.com` }
        const answers = await Promise.all(
          Array.from({ length: 40 }, (_, i) => {
            const only = [named, { externalId: named.externalId }, named][i % 3]
            return turnOf(i).logProspectActivity(activityOf(only ?? named))
          }),
        )
        equal(new Set(answers.map(({ receipt }) => receipt.prospectId)).size, 1)
        equal(answers.filter(({ receipt }) => receipt.createdProspect).length, 1)
        like(
          (await prospects()).filter(({ externalId }) => externalId === named.externalId),
          [named],
        )
      }
    },

    'prospects that two processes create and log for at once are created once': async (given) => {
      const { turnOf, activityOf, tenantId, prospects } = given
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
      equal((await Promise.all(logged)).filter(({ receipt }) => receipt.createdProspect).length, 0)
      equal(created.filter((one) => one.created).length, 30)
      equal((await prospects()).length, 30)
    },

    'lists that take emails and external ids crosswise settle, and each has one owner': async (given) => {
      const { core, processes, activityOf, prospects } = given
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
            core.logProspectActivities(processes[i === 0 ? 0 : 1])(list.map(activityOf)),
          ),
        )
        for (const outcome of outcomes.flat()) ok('receipt' in outcome, JSON.stringify(outcome))
      }
      const taken = (await prospects()).flatMap(({ externalId }) => externalId ?? [])
      equal(taken.length, 100)
      equal(new Set(taken).size, 100)
    },

    'an activity of a remembered external id needs no look-up, until a blank can be filled': async (
      given,
    ) => {
      const { core, store, here, activityOf, prospects } = given
      let lookUps = 0
      const counting: Pick<Store, 'activities'> = {
        activities: {
          ...store.activities,
          recall: (wants) => {
            if (Object.values(wants).flat().length > 0) lookUps++
            return store.activities.recall(wants)
          },
        },
      }
      const remembered = core.rememberProspects(100, () => 0)
      const logAll = core.logProspectActivities({ ...here, store: counting, remembered })
      const log = (fields: Named) => {
        const activity = activityOf(fields)
        return logAll([{ ...activity, rememberedId: remembered.locate(activity).rememberedId }])
      }
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

    'creating a prospect finds the one that exists, and fills what it lacks': async (given) => {
      const { create, tenantId, people } = given
      const first = await create({ externalId: '1' })
      like(first, { created: true, prospect: { tenantId, externalId: '1', email: null, name: null } })
      like(await create({ externalId: '1', email: ADA, name: 'Ada' }), {
        created: false,
        prospect: { externalId: '1', email: ADA, name: 'Ada' },
      })
      const filled = await create({ email: ` ${ADA}`, name: 'Eve' })
      like(filled, { created: false, prospect: { externalId: '1', email: ADA, name: 'Ada' } })
      like(await create({ externalId: '2', email: ADA }), { created: true, prospect: { email: null } })
      for (const nobody of [{}, { email: 'n/a' }, { externalId: ' ' }, { name: 'Ada' }])
        equal(await create(nobody), 'invalid_request')
      same(await people(), [`1 ${ADA}`, '2 null'])
    },

    'a placeholder or a text that is no address joins nobody, and a conflict names the owner': async (
      given,
    ) => {
      const { log, create, people } = given
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
        prospect: { email: null, emailTakenBy: ada },
      })
      like(await create({ externalId: '1', email: ADA }), { prospect: { emailTakenBy: null } })
      like(await create({ externalId: '1', email: BOB }), { prospect: { email: ADA, emailTakenBy: null } })
      same(
        (await people()).filter((one) => one !== 'null null'),
        [`1 ${ADA}`, '2 null'],
      )
    },

    'people and blocks of 0.1.0 are found by the hashes that it gave their emails': async (given) => {
      const { store, core, here, log, create, correct, erase, tenantId, clock } = given
      const addedBy010 = async (email: string) => {
        const prospect = someProspect(tenantId, { email, emailHash: sha256(email) })
        await store.activities.record({ prospects: [prospect], logs: [someLog(prospect, { email })] })
        return prospect.prospectId
      }
      const munich = await addedBy010('info@münchen.example')
      const mailto = await addedBy010(`mailto:${ADA}`)
      const berlin = await addedBy010('berlin')
      const bob = await addedBy010(BOB)
      const sent = ['INFO@münchen.example', ` MailTo:${ADA}`, `<${BOB}>`].map((email) => ({ email }))
      same(await log(...sent), [munich, mailto, bob])
      ok((await log({ email: 'Berlin' }))[0] !== berlin)
      like(await create({ email: 'info@münchen.example', name: 'Info' }), {
        created: false,
        prospect: { prospectId: munich, email: 'info@münchen.example', name: 'Info' },
      })
      like(await correct(bob, { email: 'info@münchen.example' }), { kind: 'email_taken', prospectId: munich })
      const doubles = [await addedBy010('eve@x'), await addedBy010('mailto:eve@x')]
      await erase({ email: 'mailto:eve@x' })
      for (const prospectId of doubles) same(await log({ prospectId }), ['prospect_erased'])
      same(await log({ email: 'eve@x' }, { email: 'mailto:eve@x' }), ['prospect_erased', 'prospect_erased'])
      await addedBy010('mailto:dan@x')
      for (const email of ['mailto:dan@x', 'mailto:dan@x', 'mailto:nobody@x']) await erase({ email })
      same(await log({ email: 'dan@x' }, { email: 'mailto:dan@x' }), ['prospect_erased', 'prospect_erased'])
      const [list] = await core.listProspects(here)([{ tenantId, limit: 2, email: `mailto:${ADA}` }])
      like(list, { items: [{ prospectId: mailto }], hasMore: false })

      like(await erase({ email: `mailto:${ADA}` }), { prospectId: mailto })
      same(await log({ email: `mailto:${ADA}` }), ['prospect_erased'])
      equal(await create({ email: `mailto:${ADA}` }), 'prospect_erased')
      like(await correct(bob, { email: `mailto:${ADA}` }), { kind: 'prospect_erased' })
      await log({ prospectId: bob, email: 'Info@münchen.example' })
      like(await erase({ prospectId: munich }), { prospectId: munich })
      const step = core.eraseProspects({ ...here, settleMs: 0 })
      while (await step(ON));
      clock.advance(HOUR_MS)
      const { logs } = await given.kept()
      same(
        logs
          .filter(({ prospectId, email }) => prospectId === bob && email !== BOB && email !== `<${BOB}>`)
          .map(({ email }) => email),
        [null],
      )
    },

    'a correction takes a free external id, and is refused one of somebody else': async (given) => {
      const { log, correct, people } = given
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

    'of corrections and activities that take one external id at once, one gets it': async (given) => {
      const { core, processes, log, activityOf, tenantId, prospects, turnOf } = given
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

    'an erasure by external id blocks all that named the person, until it ends': async (given) => {
      const { core, here, clock, log, create, correct, erase, prospects } = given
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
      const step = core.eraseProspects({ ...here, settleMs: 0 })
      while (await step(ON));
      equal(await erase({ prospectId: String(prospectId) }), 'prospect_erased')
      const again = await erase({ externalId: '1' })
      like(again, { prospectId: null, status: 'processing' })
      same(await erase({ email: ADA }), again)
      while (await step(ON));
      clock.advance(25 * HOUR_MS)
      const now = new Date(clock()).toISOString()
      await here.store.erasures.expire({ tenantId: given.tenantId, now, beforeLogId: null, max: 100 })
      ok((await log({ externalId: '1', email: ADA }))[0]?.startsWith('prospect_'))
      for (const one of await prospects())
        if (one.prospectId === prospectId) like(one, { externalId: null, externalIdHash: null })
    },

    'one that nobody has is blocked, and cleaned from the activities of others': async (given) => {
      const { core, here, kept, log, erase, tenantId } = given
      const [prospectId = ''] = await log({ externalId: '1', email: ADA })
      await log({ prospectId, externalId: 'gone', email: BOB })
      like(await erase({ externalId: 'gone' }), { prospectId: null })
      const step = core.eraseProspects({ ...here, settleMs: 0 })
      while (await step(ON));
      const logs = (await kept()).logs.map(({ externalId, email }) => ({ externalId, email }))
      same(logs, [
        { externalId: '1', email: ADA },
        { externalId: null, email: null },
      ])
      same(await log({ externalId: 'gone' }), ['prospect_erased'])
      like(await erase({ prospectId, externalId: '1' }), 'invalid_request')
      like(await here.store.prospects.find([{ tenantId, prospectId }]), [{ externalId: '1' }])
    },

    'a change that fills a blank external id is overtaken by one that filled it, or took it': async (
      given,
    ) => {
      const { activities } = given.store
      const { tenantId } = given
      const blank = someProspect(tenantId)
      await activities.record({ prospects: [blank], logs: [someLog(blank)] })
      const taking = (externalId: string, of = blank) => {
        const change = { ...of, externalId, externalIdHash: `${externalId}`.padEnd(43, '.') }
        return activities.record({ prospects: [change], logs: [someLog(change)] })
      }
      equal(await taking('1'), 'recorded')
      equal(await taking('1'), 'recorded')
      equal(await taking('2'), 'overtaken')
      equal(await taking('1', someProspect(tenantId)), 'overtaken')
      equal(await taking('2', someProspect(tenantId)), 'recorded')
      equal(await taking('1', someProspect(newId('tenant'))), 'recorded')
    },
  },
)
