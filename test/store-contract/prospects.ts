import type { FoundProspect, ProspectsWant, ProspectUpdate } from 'prospect-pages'
import { equal, ok, same } from './assertions.ts'
import { section } from './contract.ts'
import { AWKWARD_TEXTS, at, emailFields, newId, scribbleOn, sha256, someLog, someProspect } from './rows.ts'

export const prospects = section(
  'prospects',
  ({ store, core }) => {
    const { activities, prospects } = store
    const recorded = async (tenantId: string, fields: Parameters<typeof someProspect>[1] = {}) => {
      const { emailHash, externalIdHash, ...prospect } = someProspect(tenantId, fields)
      await activities.record({
        prospects: [{ ...prospect, emailHash, externalIdHash }],
        logs: [someLog(prospect, { createdProspect: true })],
      })
      return { ...prospect, erasedAt: null, mergedInto: null }
    }
    const found = async (want: { tenantId: string; prospectId: string }) => (await prospects.find([want]))[0]
    const listed = async (tenantId: string, want: Partial<ProspectsWant> = {}) => {
      const [slice] = await prospects.list([
        { tenantId, emailHash: null, externalIdHash: null, beforeId: null, limit: 100, ...want },
      ])
      if (slice instanceof Error) throw slice
      return slice
    }
    const update = (want: { tenantId: string; prospectId: string }, fields: Partial<ProspectUpdate>) =>
      prospects.update({
        ...{ tenantId: want.tenantId, prospectId: want.prospectId },
        ...{ email: undefined, externalId: undefined, name: undefined, updatedAt: at(5), ...fields },
      })
    const searched = (tenantId: string, search: string, limit = 100) =>
      prospects.search({ tenantId, limit, ...core.searchKeysOf(search) })
    const hashOf = (email: string) => emailFields(email).emailHash
    return { activities, prospects, recorded, found, listed, searched, update, hashOf }
  },
  {
    'a prospect is found by its id, with every field': async ({ recorded, found }) => {
      const fields = { ...emailFields('ada@x'), name: 'Ada', createdAt: at(1), updatedAt: at(2) }
      const prospect = await recorded(newId('tenant'), fields)
      same(await found(prospect), prospect)
    },

    'unset fields are null, and an unknown prospect is null': async ({ prospects, recorded }) => {
      const one = await recorded(newId('tenant'))
      const unknown = { tenantId: one.tenantId, prospectId: newId('prospect') }
      same(await prospects.find([unknown, one, { ...one, tenantId: newId('tenant') }, one]), [
        null,
        one,
        null,
        one,
      ])
      same([one.email, one.name], [null, null])
      same(await prospects.find([]), [])
    },

    'every text of an email and a name is found as it is': async ({ prospects, recorded }) => {
      const tenantId = newId('tenant')
      const all: FoundProspect[] = []
      for (const text of AWKWARD_TEXTS)
        all.push(await recorded(tenantId, { ...emailFields(text), name: text }))
      same(await prospects.find(all), all)
    },

    'prospects are listed newest first, one more than the limit, and go on before an id': async (given) => {
      const { recorded, listed } = given
      const tenantId = newId('tenant')
      const all: FoundProspect[] = []
      for (let i = 0; i < 5; i++) all.unshift(await recorded(tenantId))
      await recorded(newId('tenant'))
      same(await listed(tenantId), { rows: all, resume: null })
      same((await listed(tenantId, { limit: 2 }))?.rows, all.slice(0, 3))
      same((await listed(tenantId, { beforeId: all[1]?.prospectId ?? null }))?.rows, all.slice(2))
      same(await listed(newId('tenant')), { rows: [], resume: null })
    },

    'prospects are listed oldest first after an id; large ones shorten the list': async (given) => {
      const { prospects, recorded } = given
      const tenantId = newId('tenant')
      const all: FoundProspect[] = []
      for (let i = 0; i < 5; i++) all.push(await recorded(tenantId))
      await recorded(newId('tenant'))
      const list = (afterId = '', limit = 100) => prospects.listOldest({ tenantId, afterId, limit })
      same(await list(), all)
      same(await list('', 2), all.slice(0, 2))
      same(await list(all[1]?.prospectId), all.slice(2))
      same(await list(all[4]?.prospectId), [])
      for (let i = 0; i < 4; i++)
        all.push(await recorded(tenantId, emailFields(`${i}${'x'.repeat(700_000)}`)))
      same(await list(all[4]?.prospectId), all.slice(5, 8))
    },

    'a list ends once the texts of all its rows but the last fill a slice': async ({ recorded, listed }) => {
      const tenantId = newId('tenant')
      const all: FoundProspect[] = []
      for (let i = 0; i < 5; i++)
        all.unshift(await recorded(tenantId, emailFields(`${i}${'x'.repeat(400_000)}`)))
      const rows = (await listed(tenantId))?.rows ?? []
      equal(rows.length, 4)
      same(
        rows.map(({ prospectId }) => prospectId),
        all.slice(0, 4).map(({ prospectId }) => prospectId),
      )
    },

    'the prospect with an email is found by its hash, within its tenant': async (given) => {
      const { recorded, listed, hashOf } = given
      const one = await recorded(newId('tenant'), emailFields('ada@x'))
      const other = await recorded(newId('tenant'), emailFields('ada@x'))
      await recorded(one.tenantId, emailFields('grace@x'))
      same(await listed(one.tenantId, { emailHash: hashOf('ada@x') }), { rows: [one], resume: null })
      same((await listed(other.tenantId, { emailHash: hashOf('ada@x') }))?.rows, [other])
      same((await listed(other.tenantId, { emailHash: hashOf('grace@x') }))?.rows, [])
      same((await listed(one.tenantId, { emailHash: 'nobody' }))?.rows, [])
    },

    'the prospect with an email or an external id is in a list only before the position': async (given) => {
      const { recorded, listed } = given
      const older = newId('prospect')
      const ids = { ...emailFields('ada@x'), externalId: 'ada', externalIdHash: sha256('ada') }
      const one = await recorded(newId('tenant'), ids)
      const newer = newId('prospect')
      for (const hashes of [{ emailHash: ids.emailHash }, { externalIdHash: ids.externalIdHash }]) {
        const before = async (beforeId: string) => (await listed(one.tenantId, { ...hashes, beforeId }))?.rows
        for (const beforeId of [older, one.prospectId]) same(await before(beforeId), [])
        same(await before(newer), [one])
      }
    },

    'many lists at once are each answered in their place': async ({ prospects, recorded, hashOf }) => {
      const one = await recorded(newId('tenant'), emailFields('ada@x'))
      const two = await recorded(newId('tenant'), emailFields('ada@x'))
      const want = (tenantId: string, emailHash: string | null = null) => ({
        ...{ tenantId, emailHash, externalIdHash: null },
        ...{ beforeId: null, limit: 9 },
      })
      const answers = await prospects.list([
        want(two.tenantId),
        want(newId('tenant')),
        want(one.tenantId, hashOf('ada@x')),
        want(one.tenantId),
      ])
      same(
        answers.map((answer) => ('rows' in answer ? answer.rows : answer)),
        [[two], [], [one], [one]],
      )
    },

    'people are searched for by the beginning of an email, a name or its last word': async (given) => {
      const { recorded, searched } = given
      const tenantId = newId('tenant')
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
      all['mail'] = await recorded(tenantId, emailFields('lova+x@example.com'))
      all['both'] = await recorded(tenantId, { ...emailFields('zoe@example.com'), name: 'Zoe Zoeller' })
      await recorded(newId('tenant'), { name: 'Ada Lovelace' })
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

    'a long name, a long email and their ends are searched for': async ({ recorded, searched }) => {
      const name = `${'é'.repeat(120)} ${'ő'.repeat(130)}`
      const one = await recorded(newId('tenant'), { ...emailFields(`${'ü'.repeat(900)}@example.com`), name })
      for (const search of ['e'.repeat(100), 'É'.repeat(100), 'o'.repeat(100), 'ü'.repeat(100)])
        same(await searched(one.tenantId, search), [one])
      same(await searched(one.tenantId, 'a'.repeat(100)), [])
    },

    'a search follows what fills, corrects and clears a name': async (given) => {
      const { activities, recorded, searched, update } = given
      const one = await recorded(newId('tenant'), emailFields('grace@x'))
      const { tenantId } = one
      const count = async (search: string) => (await searched(tenantId, search)).length
      const { emailHash = null } = emailFields('grace@x')
      const fill = async (name: string) => {
        const { erasedAt, mergedInto, ...prospect } = { ...one, emailHash, externalIdHash: null, name }
        equal(await activities.record({ prospects: [prospect], logs: [] }), 'recorded')
      }
      await fill('Grace Hopper')
      await fill('Not This')
      same([await count('hop'), await count('gra'), await count('not')], [1, 1, 0])
      await update(one, { name: 'Grace Murray' })
      same([await count('hop'), await count('mur')], [0, 1])
      await update(one, { name: null, email: emailFields('new@x') })
      same([await count('mur'), await count('gra'), await count('new')], [0, 0, 1])
    },

    'of many who share a beginning the newest are found': async ({ activities, searched }) => {
      const tenantId = newId('tenant')
      const ids: string[] = []
      const prospects = Array.from({ length: 2_500 }, (_, i) => {
        const prospect = someProspect(tenantId, { name: `Same ${9_000 - i} Name` })
        ids.unshift(prospect.prospectId)
        return prospect
      })
      await activities.record({ prospects, logs: [] })
      const found = await searched(tenantId, 'same')
      same(
        found.map(({ prospectId }) => prospectId),
        ids.slice(0, 100),
      )
    },

    'an update sets what is given and leaves the rest': async (given) => {
      const { recorded, found, update, listed, hashOf } = given
      const before = await recorded(newId('tenant'), { ...emailFields('ada@x'), name: 'Ada' })
      const renamed = { ...before, name: 'Grace', updatedAt: at(5) }
      same(await update(before, { name: 'Grace' }), renamed)
      const moved = { ...renamed, email: 'grace@x', updatedAt: at(6) }
      same(await update(before, { email: emailFields('grace@x'), updatedAt: at(6) }), moved)
      same(await found(before), moved)
      same((await listed(before.tenantId, { emailHash: hashOf('grace@x') }))?.rows, [moved])
      same((await listed(before.tenantId, { emailHash: hashOf('ada@x') }))?.rows, [])
      const cleared = { ...moved, email: null, name: null, updatedAt: at(7) }
      same(
        await update(before, { email: { email: null, emailHash: null }, name: null, updatedAt: at(7) }),
        cleared,
      )
      same(await found(before), cleared)
      same((await listed(before.tenantId, { emailHash: hashOf('grace@x') }))?.rows, [])
    },

    'an email that was given up is free for another prospect': async (given) => {
      const { activities, recorded, update, hashOf } = given
      const first = await recorded(newId('tenant'), emailFields('ada@x'))
      const second = await recorded(first.tenantId)
      await update(first, { email: emailFields('grace@x') })
      ok((await update(second, { email: emailFields('ada@x') })) !== 'overtaken')
      const emails = ['ada@x', 'grace@x'].map((email) => ({ ...first, emailHash: hashOf(email) }))
      const known = await activities.recall({ prospects: [], emails, externalIds: [], keys: [] })
      same(known.prospects.map(({ prospectId }) => prospectId).sort(), [first.prospectId, second.prospectId])
    },

    'an update with the email of another prospect is overtaken and changes nothing': async (given) => {
      const { recorded, found, update } = given
      const ada = await recorded(newId('tenant'), emailFields('ada@x'))
      const grace = await recorded(ada.tenantId, emailFields('grace@x'))
      equal(await update(grace, { email: emailFields('ada@x'), name: 'Ada' }), 'overtaken')
      same([await found(ada), await found(grace)], [ada, grace])
      const other = await recorded(newId('tenant'))
      ok(
        (await update(other, { email: emailFields('ada@x') })) !== 'overtaken',
        'in another tenant it is free',
      )
    },

    'of two updates to one email at once, exactly one is overtaken': async (given) => {
      const { recorded, update, listed, hashOf } = given
      const tenantId = newId('tenant')
      const two = [await recorded(tenantId), await recorded(tenantId)]
      const email = emailFields('ada@x')
      const outcomes = await Promise.all(two.map((one) => update(one, { email })))
      equal(outcomes.filter((outcome) => outcome === 'overtaken').length, 1)
      equal((await listed(tenantId, { emailHash: hashOf('ada@x') }))?.rows.length, 1)
    },

    'an update may repeat what the prospect has': async ({ recorded, update }) => {
      const ada = await recorded(newId('tenant'), { ...emailFields('ada@x'), name: 'Ada' })
      same(await update(ada, { email: emailFields('ada@x'), name: 'Ada' }), { ...ada, updatedAt: at(5) })
    },

    'each change is later than the one before, even if the clock is not': async (given) => {
      const { activities, recorded, found, update } = given
      const ada = await recorded(newId('tenant'), { updatedAt: at(998) })
      const renamed = { ...ada, name: 'Ada', updatedAt: at(999) }
      same(await update(ada, { name: 'Ada', updatedAt: at(998) }), renamed)
      const filled = someProspect(ada.tenantId, { ...renamed, ...emailFields('ada@x'), updatedAt: at(3) })
      equal(await activities.record({ prospects: [filled], logs: [] }), 'recorded')
      const last = { ...renamed, email: 'ada@x', updatedAt: at(1_000) }
      same(await found(ada), last)
      same(await update(ada, { name: 'Ada', updatedAt: at(0) }), { ...last, updatedAt: at(1_001) })
    },

    'an update of an unknown prospect, or by another tenant, answers null and changes nothing': async (
      given,
    ) => {
      const { recorded, found, update } = given
      const ada = await recorded(newId('tenant'), { ...emailFields('ada@x'), name: 'Ada' })
      equal(await update({ ...ada, tenantId: newId('tenant') }, { name: 'Theirs' }), null)
      equal(await update({ ...ada, prospectId: newId('prospect') }, { name: 'Nobody' }), null)
      same(await found(ada), ada)
    },

    'a caller that changes what was found or listed changes nothing in the store': async (given) => {
      const { recorded, found, listed, update } = given
      const ada = await recorded(newId('tenant'), { ...emailFields('ada@x'), name: 'Ada' })
      scribbleOn(await found(ada))
      scribbleOn(await listed(ada.tenantId))
      scribbleOn(await update(ada, { name: 'Ada' }))
      same(await found(ada), { ...ada, updatedAt: at(5) })
    },
  },
)
