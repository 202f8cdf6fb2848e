import type { FoundProspect, Identifier, ProspectCorrected, ProspectsQuery } from 'prospect-pages/store'
import { equal, same } from './assertions.ts'
import { section } from './contract.ts'
import {
  AWKWARD_TEXTS,
  at,
  changeOf,
  emailIdentifier,
  externalIdentifier,
  fillOf,
  foundProspect,
  identifiersOf,
  logChangeOf,
  newId,
  only,
  readEach,
  recordAll,
  scribbleOn,
  sha256,
  someErasure,
  someLog,
  someProspect,
} from './rows.ts'
import { START_MS } from './setting.ts'

/** Identifiers as a list names them. */
const byEmail = (text: string) => ({ kind: 'email', hash: sha256(text) }) as const
const byExternalId = (text: string) => ({ kind: 'externalId', hash: sha256(text) }) as const

/** The new values of a prospect. */
type Values = Partial<Pick<FoundProspect, 'email' | 'externalId' | 'name' | 'updatedAt'>>
/** What a correction says besides; `released` as identifiers alone. */
type Besides = Partial<Pick<ProspectCorrected, 'added'>> & { readonly released?: readonly Identifier[] }

export const prospects = section(
  'prospects',
  async ({ store, another, core }) => {
    const { activities, prospects } = store
    const elsewhere = await another()
    const recorded = async (tenantId: string, fields: Parameters<typeof someProspect>[1] = {}) => {
      const prospect = someProspect(tenantId, fields)
      await recordAll(activities, [prospect], [someLog(prospect, { createdProspect: true })])
      return foundProspect(prospect)
    }
    const found = async (want: { tenantId: string; prospectId: string }): Promise<FoundProspect> => {
      const prospect = await prospects.find(want)
      if (!prospect) throw new Error('not found')
      return prospect
    }
    const listed = async (tenantId: string, want: Partial<ProspectsQuery> = {}) => {
      const slice = await prospects.list({ tenantId, identifier: null, beforeId: null, limit: 100, ...want })
      if (slice instanceof Error) throw slice
      return slice
    }
    /** Corrects a prospect as a use case does: what it is shown with no longer is released. */
    const correct = (before: FoundProspect, values: Values, besides: Besides = {}, on = prospects) => {
      const after = { ...before, updatedAt: at(Date.parse(before.updatedAt) - START_MS + 1), ...values }
      const { prospectId } = before
      const added = identifiersOf(after)
      const kept = new Set(added.map(({ kind, hash }) => `${kind} ${hash}`))
      const released = besides.released
        ? besides.released.map((identifier) => ({ ...identifier, value: 'former', prospectId }))
        : identifiersOf(before).filter(({ kind, hash }) => !kept.has(`${kind} ${hash}`))
      return on.correct({ before, after, added, ...besides, released })
    }
    /** Where each of these identifiers leads; undefined if to no one. */
    const leadsOf = async (...identifiers: readonly Identifier[]) => {
      const known = await readEach(
        activities.recall,
        identifiers.map((identifier) => ({ tenantId: identifier.tenantId, identifiers: [identifier] })),
      )
      return known.map(({ identifiers: [found] }) => found?.prospectId)
    }
    const erase = async (prospect: FoundProspect) => {
      const { tenantId, prospectId } = prospect
      const erasure = someErasure(tenantId, { prospectId })
      const outcome = await store.erasures.record({
        tenantId,
        now: at(1),
        until: at(1e9),
        prospects: await prospects.findWithMerged(prospect),
        identifier: null,
        erasures: [erasure],
      })
      equal(outcome, 'recorded')
      return erasure
    }
    /** Merges one prospect into another, which keeps its fields. */
    const merge = async (before: FoundProspect, survivor: FoundProspect) => {
      const { tenantId, prospectId } = before
      const intoId = survivor.prospectId
      const outcome = await store.merges.record({
        merge: { tenantId, mergeId: newId('merge'), prospectId, intoId, requestedAt: at(1) },
        merged: { before, after: { ...before, name: null, mergedInto: intoId, updatedAt: at(1) } },
        survivor: { before: survivor, after: { ...survivor, updatedAt: at(1) } },
      })
      equal(outcome, 'recorded')
    }
    const searched = (tenantId: string, search: string, limit = 100) =>
      prospects.search({ tenantId, limit, ...core.searchKeysOf(search) })
    return {
      activities,
      prospects,
      elsewhere,
      recorded,
      found,
      listed,
      correct,
      leadsOf,
      erase,
      merge,
      searched,
    }
  },
  {
    'a prospect is found by its id, with every field': async ({ recorded, found, newTenant }) => {
      const fields = { email: 'ada@x', name: 'Ada', createdAt: at(2), updatedAt: at(2) }
      const prospect = await recorded(await newTenant(), fields)
      same(await found(prospect), prospect)
    },

    'unset fields are null, and an unknown prospect is null': async ({ prospects, recorded, newTenant }) => {
      const one = await recorded(await newTenant())
      const unknown = { tenantId: one.tenantId, prospectId: newId('prospect') }
      same(await readEach(prospects.find, [unknown, one, { ...one, tenantId: await newTenant() }, one]), [
        null,
        one,
        null,
        one,
      ])
      same([one.email, one.name], [null, null])
    },

    'every text of an email and a name is found as it is': async ({ prospects, recorded, newTenant }) => {
      const tenantId = await newTenant()
      const all: FoundProspect[] = []
      for (const text of AWKWARD_TEXTS) all.push(await recorded(tenantId, { email: text, name: text }))
      same(await readEach(prospects.find, all), all)
    },

    'prospects are listed newest first, one more than the limit, and go on before an id': async (scene) => {
      const { recorded, listed } = scene
      const tenantId = await scene.newTenant()
      const all: FoundProspect[] = []
      for (let i = 0; i < 5; i++) all.unshift(await recorded(tenantId))
      await recorded(await scene.newTenant())
      same(await listed(tenantId), { rows: all, resume: null })
      same((await listed(tenantId, { limit: 2 }))?.rows, all.slice(0, 3))
      same((await listed(tenantId, { beforeId: all[1]?.prospectId ?? null }))?.rows, all.slice(2))
      same(await listed(await scene.newTenant()), { rows: [], resume: null })
    },

    'prospects are listed oldest first after an id; large ones shorten the list': async (scene) => {
      const { prospects, recorded } = scene
      const tenantId = await scene.newTenant()
      const all: FoundProspect[] = []
      for (let i = 0; i < 5; i++) all.push(await recorded(tenantId))
      await recorded(await scene.newTenant())
      const list = (afterId = '', limit = 100) => prospects.listOldest({ tenantId, afterId, limit })
      same(await list(), all)
      same(await list('', 2), all.slice(0, 2))
      same(await list(all[1]?.prospectId), all.slice(2))
      same(await list(all[4]?.prospectId), [])
      for (let i = 0; i < 4; i++) all.push(await recorded(tenantId, { email: `${i}${'x'.repeat(700_000)}` }))
      same(await list(all[4]?.prospectId), all.slice(5, 8))
    },

    'a list ends once the texts of all its rows but the last fill a slice': async ({
      recorded,
      listed,
      newTenant,
    }) => {
      const tenantId = await newTenant()
      const all: FoundProspect[] = []
      for (let i = 0; i < 5; i++)
        all.unshift(await recorded(tenantId, { email: `${i}${'x'.repeat(400_000)}` }))
      const rows = (await listed(tenantId))?.rows ?? []
      equal(rows.length, 4)
      same(
        rows.map(({ prospectId }) => prospectId),
        all.slice(0, 4).map(({ prospectId }) => prospectId),
      )
    },

    'the prospect that an identifier leads to is found, within its tenant': async (scene) => {
      const { recorded, listed } = scene
      const ada = await recorded(await scene.newTenant(), { email: 'ada@x', externalId: '1' })
      const other = await recorded(await scene.newTenant(), { email: 'ada@x', externalId: '2' })
      await recorded(ada.tenantId, { email: 'grace@x' })
      const rowsBy = async (tenantId: string, identifier: ProspectsQuery['identifier']) => {
        const slice = await listed(tenantId, { identifier })
        equal(slice?.resume, null)
        return slice?.rows
      }
      same(await rowsBy(ada.tenantId, byEmail('ada@x')), [ada])
      same(await rowsBy(ada.tenantId, byExternalId('1')), [ada])
      same(await rowsBy(other.tenantId, byEmail('ada@x')), [other])
      same(await rowsBy(other.tenantId, byEmail('grace@x')), [])
      same(await rowsBy(ada.tenantId, byExternalId('2')), [])
      // An email is not an external id.
      same(await rowsBy(ada.tenantId, byExternalId('ada@x')), [])
      same(await rowsBy(ada.tenantId, { kind: 'email', hash: 'none' }), [])
    },

    'an identifier finds whom it leads to now, and no one once it is released or blocked': async (scene) => {
      const { recorded, listed, correct, erase, merge } = scene
      const tenantId = await scene.newTenant()
      const email = byEmail('ada@x')
      const found = async () => (await listed(tenantId, { identifier: email }))?.rows
      const ada = await recorded(tenantId, { email: 'ada@x', name: 'Ada' })
      const survivor = await recorded(tenantId, { name: 'Grace' })
      await merge(ada, survivor)
      const kept = { ...survivor, updatedAt: at(1) }
      same(await found(), [kept])
      same((await listed(tenantId, {}))?.rows, [kept])
      equal(await correct(kept, {}, { released: [{ ...email, tenantId }] }), 'recorded')
      same(await found(), [])
      const second = await recorded(tenantId, { email: 'ada@x' })
      same(await found(), [second])
      await erase(second)
      same(await found(), [])
      const tombstone = { ...second, email: null, updatedAt: at(1), erasedAt: at(1) }
      same(await scene.prospects.find(second), tombstone)
    },

    'the prospect that an identifier leads to is in a list only before the position': async (scene) => {
      const { recorded, listed } = scene
      const older = newId('prospect')
      const ada = await recorded(await scene.newTenant(), { email: 'ada@x', externalId: 'ada' })
      const newer = newId('prospect')
      for (const identifier of identifiersOf(ada)) {
        const before = async (beforeId: string) =>
          (await listed(ada.tenantId, { identifier, beforeId }))?.rows
        for (const beforeId of [older, ada.prospectId]) same(await before(beforeId), [])
        same(await before(newer), [ada])
      }
    },

    'many lists at once are each answered in their place': async ({ prospects, recorded, newTenant }) => {
      const ada = await recorded(await newTenant(), { email: 'ada@x' })
      const other = await recorded(await newTenant(), { email: 'ada@x' })
      const want = (tenantId: string, identifier: ProspectsQuery['identifier'] = null) => ({
        tenantId,
        identifier,
        beforeId: null,
        limit: 9,
      })
      const slices = await readEach(prospects.list, [
        want(other.tenantId),
        want(await newTenant()),
        want(ada.tenantId, byEmail('ada@x')),
        want(ada.tenantId, byExternalId('ada@x')),
        want(ada.tenantId),
      ])
      same(
        slices.map((slice) => ('rows' in slice ? slice.rows : slice)),
        [[other], [], [ada], [], [ada]],
      )
    },

    'people are searched for by the beginning of an email, a name or its last word': async (scene) => {
      const { recorded, searched } = scene
      const tenantId = await scene.newTenant()
      const all: Record<string, FoundProspect> = {}
      for (const name of [
        'Ada King Lovelace',
        'Ádám  Lovász',
        'Élodie Žižka',
        'Иван Чехов',
        '  Lova ',
        '50% Off_er',
      ])
        all[name] = await recorded(tenantId, { name })
      all['mail'] = await recorded(tenantId, { email: 'lova+x@example.com' })
      all['both'] = await recorded(tenantId, { email: 'zoe@example.com', name: 'Zoe Zoeller' })
      await recorded(await scene.newTenant(), { name: 'Ada Lovelace' })
      for (const [search, ...names] of [
        ['LOV', 'mail', '  Lova ', 'Ádám  Lovász', 'Ada King Lovelace'],
        ['ada', 'Ádám  Lovász', 'Ada King Lovelace'],
        ['ÁDA', 'Ádám  Lovász', 'Ada King Lovelace'],
        ['A\u0301da\u0301m', 'Ádám  Lovász'],
        ['ada king lo', 'Ada King Lovelace'],
        ['King'],
        ['vela'],
        ['elo', 'Élodie Žižka'],
        ['zizk', 'Élodie Žižka'],
        ['ИВА', 'Иван Чехов'],
        ['чех', 'Иван Чехов'],
        ['Lova+X@', 'mail'],
        ['example'],
        ['50%', '50% Off_er'],
        ['off_', '50% Off_er'],
        ['5%'],
        ['l_v'],
        [`'; --`],
        [' zo ', 'both'],
      ] as const)
        same(
          await searched(tenantId, search),
          names.map((name) => all[name]),
        )
      same((await searched(tenantId, 'lo', 2)).length, 2)
      for (const search of ['  ', '\u0301\u0301', 'x'.repeat(100)]) same(await searched(tenantId, search), [])
    },

    'a long name, a long email and their ends are searched for': async ({
      recorded,
      searched,
      newTenant,
    }) => {
      const name = `${'é'.repeat(120)} ${'ő'.repeat(130)}`
      const one = await recorded(await newTenant(), { email: `${'ü'.repeat(900)}@example.com`, name })
      for (const search of ['e'.repeat(100), 'É'.repeat(100), 'o'.repeat(100), 'ü'.repeat(100)])
        same(await searched(one.tenantId, search), [one])
      same(await searched(one.tenantId, 'a'.repeat(100)), [])
    },

    'a search follows what fills, corrects and clears a name': async (scene) => {
      const { activities, recorded, searched, found, correct } = scene
      const grace = await recorded(await scene.newTenant(), { email: 'grace@x' })
      const { tenantId } = grace
      const count = async (search: string) => (await searched(tenantId, search)).length
      equal(await activities.record(fillOf(grace, { name: 'Grace Hopper' })), 'recorded')
      equal(await activities.record(fillOf(grace, { name: 'Not This' })), 'overtaken')
      same([await count('hop'), await count('gra'), await count('not')], [1, 1, 0])
      await correct(await found(grace), { name: 'Grace Murray' })
      same([await count('hop'), await count('mur')], [0, 1])
      await correct(await found(grace), { name: null, email: 'new@x' })
      same([await count('mur'), await count('gra'), await count('new')], [0, 0, 1])
    },

    'of many who share a beginning the newest are found': async ({ activities, searched, newTenant }) => {
      const tenantId = await newTenant()
      const ids: string[] = []
      const prospects = Array.from({ length: 2_500 }, (_, i) => {
        const prospect = someProspect(tenantId, { name: `Same ${9_000 - i} Name` })
        ids.unshift(prospect.prospectId)
        return prospect
      })
      await Promise.all(prospects.map((prospect) => activities.record(changeOf(prospect))))
      const found = await searched(tenantId, 'same')
      same(
        found.map(({ prospectId }) => prospectId),
        ids.slice(0, 100),
      )
    },

    'a correction sets the new values, and identifiers follow': async (scene) => {
      const { recorded, found, correct, listed, leadsOf } = scene
      const ada = await recorded(await scene.newTenant(), { email: 'ada@x', externalId: '1', name: 'Ada' })
      const { tenantId, prospectId } = ada
      equal(await correct(ada, { name: 'Grace' }), 'recorded')
      const renamed = { ...ada, name: 'Grace', updatedAt: at(1) }
      same(await found(ada), renamed)
      equal(await correct(renamed, { email: 'grace@x', updatedAt: at(6) }), 'recorded')
      const moved = { ...renamed, email: 'grace@x', updatedAt: at(6) }
      same(await found(ada), moved)
      const [oldEmail, newEmail] = ['ada@x', 'grace@x'].map((email) => emailIdentifier(tenantId, email))
      const all = [oldEmail, newEmail, externalIdentifier(tenantId, '1')] as Identifier[]
      same(await leadsOf(...all), [undefined, prospectId, prospectId])
      same((await listed(tenantId, { identifier: newEmail ?? null }))?.rows, [moved])
      same((await listed(tenantId, { identifier: oldEmail ?? null }))?.rows, [])
      const blank = { email: null, externalId: null, name: null }
      equal(await correct(moved, { ...blank, updatedAt: at(7) }), 'recorded')
      same(await found(ada), { ...moved, ...blank, updatedAt: at(7) })
      same(await leadsOf(...all), [undefined, undefined, undefined])
    },

    'an identifier that was released is free for another prospect, and for the same one again': async (
      scene,
    ) => {
      const { recorded, found, correct, leadsOf } = scene
      const ada = await recorded(await scene.newTenant(), { email: 'ada@x', externalId: '1' })
      const { tenantId } = ada
      const second = await recorded(tenantId)
      const identifiers = identifiersOf(ada)
      equal(await correct(ada, { email: 'grace@x', externalId: null }), 'recorded')
      same(await leadsOf(...identifiers), [undefined, undefined])
      equal(await correct(second, { email: 'ada@x' }), 'recorded')
      same(await leadsOf(...identifiers), [second.prospectId, undefined])
      equal(await correct(await found(ada), { externalId: '1' }), 'recorded')
      same(await leadsOf(...identifiers), [second.prospectId, ada.prospectId])
    },

    'an identifier that leads to the prospect already may be added, and stays': async (scene) => {
      const { recorded, found, correct, leadsOf, merge } = scene
      const tenantId = await scene.newTenant()
      const merged = await recorded(tenantId, { email: 'old@x' })
      const ada = await recorded(tenantId)
      await merge(merged, ada)
      // The email of the one that was merged into it.
      equal(await correct({ ...ada, updatedAt: at(1) }, { email: 'old@x' }), 'recorded')
      const before = await found(ada)
      equal(await correct(before, { name: 'Ada' }), 'recorded')
      same(await leadsOf(emailIdentifier(tenantId, 'old@x')), [ada.prospectId])
      same(only([await found(ada)], 'email', 'name'), [{ email: 'old@x', name: 'Ada' }])
    },

    'releasing an identifier that leads elsewhere leaves it there': async (scene) => {
      const { recorded, correct, leadsOf } = scene
      const tenantId = await scene.newTenant()
      const ada = await recorded(tenantId)
      const grace = await recorded(tenantId, { email: 'grace@x' })
      const released = [emailIdentifier(tenantId, 'grace@x'), emailIdentifier(tenantId, 'unknown@x')]
      equal(await correct(ada, { name: 'Ada' }, { released }), 'recorded')
      same(await leadsOf(...released), [grace.prospectId, undefined])
    },

    'a correction with an identifier that leads to another prospect, or is blocked, is overtaken': async (
      scene,
    ) => {
      const { recorded, found, correct, leadsOf, erase } = scene
      const tenantId = await scene.newTenant()
      const ada = await recorded(tenantId, { email: 'ada@x', externalId: '1' })
      const grace = await recorded(tenantId, { email: 'grace@x', externalId: '2', name: 'Grace' })
      const gone = await recorded(tenantId, { email: 'gone@x', externalId: '3' })
      await erase(gone)
      const taken = [{ email: 'ada@x' }, { externalId: '1' }, { email: 'gone@x' }, { externalId: '3' }]
      for (const values of taken) {
        // Nothing of it is saved: neither the name, nor what is free, nor what is released.
        const free = { email: 'free@x', externalId: 'free' }
        equal(await correct(grace, { ...free, name: 'Ada', ...values }), 'overtaken')
        same([await found(ada), await found(grace)], [ada, grace])
        same(await leadsOf(...identifiersOf(grace)), [grace.prospectId, grace.prospectId])
        same(await leadsOf(...identifiersOf({ ...grace, ...free })), [undefined, undefined])
      }
      const other = await recorded(await scene.newTenant())
      equal(await correct(other, { email: 'ada@x', externalId: '3' }), 'recorded', 'elsewhere they are free')
    },

    'a correction of a prospect that is not as it was before is overtaken': async (scene) => {
      const { activities, recorded, found, correct, leadsOf, erase, merge } = scene
      const tenantId = await scene.newTenant()
      const ada = await recorded(tenantId, { name: 'Ada', email: 'ada@x' })
      for (const stale of [
        { ...ada, name: 'Eve' },
        { ...ada, name: null },
        { ...ada, email: 'eve@x' },
        { ...ada, email: null },
        { ...ada, externalId: '1' },
        { ...ada, updatedAt: at(1) },
        { ...ada, prospectId: newId('prospect') },
        { ...ada, tenantId: await scene.newTenant() },
      ])
        equal(await correct(stale, { name: 'Late', email: 'late@x' }), 'overtaken')
      same(await found(ada), ada)
      same(await leadsOf(emailIdentifier(tenantId, 'late@x'), emailIdentifier(tenantId, 'ada@x')), [
        undefined,
        ada.prospectId,
      ])
      // An activity has filled a blank.
      equal(await activities.record(fillOf(ada, { externalId: '1' })), 'recorded')
      equal(await correct(ada, { externalId: '2' }), 'overtaken')
      const merged = await recorded(tenantId)
      const erased = await recorded(tenantId)
      await merge(merged, await found(ada))
      await erase(erased)
      for (const gone of [merged, erased]) {
        equal(await correct(gone, { name: 'Late' }), 'overtaken')
        equal(await correct(await found(gone), { name: 'Late' }), 'overtaken')
      }
    },

    'the time of a change is that of the correction, and a fill has its own': async (scene) => {
      const { activities, recorded, found, correct } = scene
      const ada = await recorded(await scene.newTenant(), { createdAt: at(998), updatedAt: at(998) })
      equal(await correct(ada, { name: 'Ada', updatedAt: at(999) }), 'recorded')
      const renamed = { ...ada, name: 'Ada', updatedAt: at(999) }
      same(await found(ada), renamed)
      const fills = { email: 'ada@x', updatedAt: at(1_003) }
      equal(await activities.record(fillOf(renamed, fills)), 'recorded')
      same(await found(ada), { ...renamed, ...fills })
    },

    'of two corrections to one email at once, exactly one is overtaken': async (scene) => {
      const { prospects, elsewhere, recorded, correct, listed, leadsOf } = scene
      for (let round = 0; round < 5; round++) {
        const tenantId = await scene.newTenant()
        const both = [await recorded(tenantId), await recorded(tenantId)]
        const outcomes = await Promise.all(
          both.map((before, i) =>
            correct(before, { email: 'ada@x' }, {}, i === 0 ? prospects : elsewhere.prospects),
          ),
        )
        same(outcomes.toSorted(), ['overtaken', 'recorded'])
        const owner = both[outcomes.indexOf('recorded')]
        const identifier = emailIdentifier(tenantId, 'ada@x')
        same(await leadsOf(identifier), [owner?.prospectId])
        same(only((await listed(tenantId, { identifier }))?.rows ?? [], 'prospectId', 'email'), [
          { prospectId: owner?.prospectId, email: 'ada@x' },
        ])
        same((await listed(tenantId))?.rows.map(({ email }) => email).toSorted(), ['ada@x', null])
      }
    },

    'of a correction and an activity that want one email at once, exactly one gets it': async (scene) => {
      const { elsewhere, recorded, correct, leadsOf } = scene
      for (let round = 0; round < 5; round++) {
        const tenantId = await scene.newTenant()
        const corrected = await recorded(tenantId)
        const added = someProspect(tenantId, { email: 'ada@x' })
        const outcomes = await Promise.all([
          correct(corrected, { email: 'ada@x' }),
          recordAll(elsewhere.activities, [added], [someLog(added)]),
        ])
        same(outcomes.toSorted(), ['overtaken', 'recorded'])
        const owner = outcomes[0] === 'recorded' ? corrected : added
        same(await leadsOf(emailIdentifier(tenantId, 'ada@x')), [owner.prospectId])
      }
    },

    'of a correction and an activity that fill one blank at once, exactly one does': async (scene) => {
      const { elsewhere, recorded, correct, found, leadsOf } = scene
      for (let round = 0; round < 5; round++) {
        const before = await recorded(await scene.newTenant())
        const outcomes = await Promise.all([
          correct(before, { email: 'correct@x' }),
          elsewhere.activities.record(fillOf(before, { email: 'fill@x' }, someLog(before))),
        ])
        same(outcomes.toSorted(), ['overtaken', 'recorded'])
        const { email } = await found(before)
        equal(email, outcomes[0] === 'recorded' ? 'correct@x' : 'fill@x')
        const all = ['correct@x', 'fill@x'].map((text) => emailIdentifier(before.tenantId, text))
        same(
          (await leadsOf(...all)).map((prospectId) => prospectId === before.prospectId),
          ['correct@x', 'fill@x'].map((text) => text === email),
        )
      }
    },

    'an identifier released at once with a log that assumes it leads to no one afterwards': async (scene) => {
      const { elsewhere, recorded, correct, leadsOf } = scene
      for (let round = 0; round < 5; round++) {
        const ada = await recorded(await scene.newTenant(), { email: 'ada@x' })
        const log = () => elsewhere.activities.record(logChangeOf(ada, someLog(ada)))
        const [outcome] = await Promise.all([correct(ada, { email: null }), log()])
        equal(outcome, 'recorded')
        same(await leadsOf(...identifiersOf(ada)), [undefined])
        equal(await log(), 'overtaken')
      }
    },

    'more identifiers than are kept with their texts are released': async (scene) => {
      const { recorded, found, correct, leadsOf, erase } = scene
      const ada = await recorded(await scene.newTenant(), { email: '0@x' })
      const emails = Array.from({ length: 30 }, (_, i) => `${i % 25}@x`)
      for (const email of emails.slice(1)) equal(await correct(await found(ada), { email }), 'recorded')
      const { tenantId } = ada
      const all = [...new Set(emails)].map((email) => emailIdentifier(tenantId, email))
      same(
        await leadsOf(...all),
        all.map((_, i) => (i === 4 ? ada.prospectId : undefined)),
      )
      // Each of them is blocked, whether or not its text was kept.
      await erase(await found(ada))
      same(
        await leadsOf(...all),
        all.map(() => null),
      )
    },

    'a caller that changes what was found or listed changes nothing in the store': async (scene) => {
      const { recorded, found, listed, searched, prospects } = scene
      const ada = await recorded(await scene.newTenant(), { email: 'ada@x', name: 'Ada' })
      const { tenantId } = ada
      scribbleOn(await found(ada))
      scribbleOn(await listed(tenantId))
      scribbleOn(await listed(tenantId, { identifier: emailIdentifier(tenantId, 'ada@x') }))
      scribbleOn(await searched(tenantId, 'ada'))
      scribbleOn(await prospects.findWithMerged(ada))
      scribbleOn(await prospects.listOldest({ tenantId, afterId: '', limit: 9 }))
      same(await found(ada), ada)
    },

    'a caller that changes what it corrected changes nothing in the store': async (scene) => {
      const { prospects, recorded, found, leadsOf } = scene
      const before = await recorded(await scene.newTenant(), { email: 'ada@x' })
      const after = { ...before, email: 'new@x', updatedAt: at(1) }
      const added = identifiersOf(after)
      const released = identifiersOf(before)
      const all = structuredClone({ after, added, released })
      equal(await prospects.correct({ before, after, added, released }), 'recorded')
      scribbleOn({ before, after, added, released })
      same(await found(all.after), all.after)
      same(await leadsOf(...all.added, ...all.released), [all.after.prospectId, undefined])
    },
  },
)
