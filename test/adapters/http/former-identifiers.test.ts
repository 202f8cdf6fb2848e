import t from 'tap'
import { eraseProspects } from '../../../src/core/erasures/erase-prospects.ts'
import { idOf } from '../../support/setting.ts'
import { NO_OTHERS, openAdaScene } from './prospect-scene.ts'

const CONTRADICTION = 'The changes contradict each other.'
const NOBODY = 'This identifies no one.'

const openPeople = async () => {
  const scene = await openAdaScene()
  const { call, get, log } = scene
  return {
    ...scene,
    create: async (json: object) => String((await call('POST /v0/prospects', { json })).json['prospectId']),
    read: async (id: string) => (await get(`/v0/prospects/${id}`)).json,
    eraseBy: (json: object) => call('POST /v0/erasures', { json }),
    /** Works on erasures until they are completed. */
    complete: async () => {
      const step = eraseProspects(scene)
      while (await step(AbortSignal.any([])));
    },
    /** The statuses of activities with these emails. */
    statusesOf: (...emails: readonly string[]) =>
      Promise.all(
        emails.map(
          async (email) =>
            (await call('POST /v0/prospect_logs', { json: { source: 'crm', payload: {}, email } })).status,
        ),
      ),
    ownerOf: async (fields: object) => (await log(fields)).prospectId,
  }
}

t.test('200: a former email is shown, and identifies no one', async (t) => {
  const { ada, correctAda, read, get, ownerOf } = await openPeople()
  t.same((await correctAda({ email: 'ada@new', externalId: '1' })).json['formerEmails'], undefined)
  await correctAda({ email: 'ada@newer', externalId: null })
  t.match(await read(ada.prospectId), {
    ...NO_OTHERS,
    email: 'ada@newer',
    formerEmails: ['ada@new', 'ada@x'],
    formerExternalIds: ['1'],
  })
  const [listed] = (await get('/v0/prospects')).json['items'] as [object]
  t.notOk('formerEmails' in listed)
  t.not(await ownerOf({ email: 'ada@x' }), ada.prospectId)
})

t.test('200: an email that returns is no former one any more', async (t) => {
  const { ada, correctAda, read } = await openPeople()
  await correctAda({ email: 'ada@new' })
  await correctAda({ email: 'ada@x' })
  t.match(await read(ada.prospectId), { email: 'ada@x', formerEmails: ['ada@new'], otherEmails: [] })
})

t.test('200: the texts of the newest twenty are shown, and the export has them, too', async (t) => {
  const { ada, correctAda, call, read } = await openPeople()
  for (let i = 0; i < 22; i++) await correctAda({ email: `${i}@new` })
  const newest = Array.from({ length: 20 }, (_, i) => `${20 - i}@new`)
  const shown = await read(ada.prospectId)
  t.strictSame(shown['formerEmails'], newest)
  const { body } = await call(`GET /v0/prospects/${ada.prospectId}/export`)
  t.strictSame(JSON.parse(body.split('\n')[0] ?? ''), { prospect: shown })
})

t.test(
  '200: a merged prospect’s emails are other ones of the survivor, and former ones former',
  async (t) => {
    const { ada, create, correct, merge, read } = await openPeople()
    const eve = await create({ email: 'eve@old', externalId: 'eve' })
    await correct(eve, { email: 'eve@x' })
    await merge(eve, { into: ada.prospectId })
    const expected = {
      email: 'ada@x',
      externalId: 'eve',
      otherEmails: ['eve@x'],
      otherExternalIds: [],
      formerEmails: ['eve@old'],
      formerExternalIds: [],
    }
    t.match(await read(ada.prospectId), expected)
    t.match(await read(eve), expected)
    // The survivor takes over what the merged one had.
    await correct(ada.prospectId, { email: 'eve@old' })
    t.match(await read(ada.prospectId), {
      email: 'eve@old',
      otherEmails: ['eve@x'],
      formerEmails: ['ada@x'],
    })
  },
)

for (const [name, value, kept] of [
  ['Email', 'ada@new', 'ada@x'],
  ['ExternalId', 'crm 2', 'crm 1'],
] as const)
  t.test(`200: a kept ${name} goes on leading to its prospect, until it is dropped`, async (t) => {
    const { ada, correctAda, get, read, create, correct, log } = await openPeople()
    await correctAda({ externalId: 'crm 1' })
    const member = name === 'Email' ? 'email' : 'externalId'
    const change = { [member]: value, [`keepFormer${name}`]: true }
    // A retry keeps nothing more.
    for (let i = 0; i < 2; i++) t.match(await correctAda(change), { status: 200, json: { [member]: value } })
    t.match(await read(ada.prospectId), { [`other${name}s`]: [kept], [`former${name}s`]: [] })
    for (const fields of [{ [member]: kept }, { [member]: value }])
      t.match(await log(fields), { prospectId: ada.prospectId, createdProspect: false })
    t.match((await get(`/v0/prospects?${member}=${encodeURIComponent(kept)}`)).json, {
      items: [{ prospectId: ada.prospectId, [member]: value }],
    })
    const bob = await create({ email: 'bob@x' })
    t.match((await correct(bob, { [member]: kept })).json, { prospectId: ada.prospectId })

    for (let i = 0; i < 2; i++) t.equal((await correctAda({ [`forget${name}`]: kept })).status, 200)
    t.match(await read(ada.prospectId), { [`other${name}s`]: [], [`former${name}s`]: [] })
    t.equal((await correct(bob, { [member]: kept })).status, 200)
  })

t.test('200: an email that never was the person’s is dropped, and an erasure leaves it alone', async (t) => {
  const { ada, correctAda, read, eraseBy, statusesOf } = await openPeople()
  await correctAda({ email: 'ada@typo' })
  // A typo is replaced and dropped by one request, and a retry changes nothing.
  for (let i = 0; i < 2; i++)
    t.equal((await correctAda({ email: 'ada@new', forgetEmail: ' ADA@typo ' })).status, 200)
  await correctAda({ forgetEmail: 'unknown@x' })
  t.match(await read(ada.prospectId), { email: 'ada@new', formerEmails: ['ada@x'], otherEmails: [] })
  await eraseBy({ prospectId: ada.prospectId })
  t.same(await statusesOf('ada@x', 'ada@new', 'ada@typo'), [410, 410, 201])
})

t.test('200: dropping the email of another prospect leaves it there', async (t) => {
  const { ada, create, correctAda, ownerOf, read } = await openPeople()
  const bob = await create({ email: 'bob@x' })
  t.equal((await correctAda({ forgetEmail: 'bob@x' })).status, 200)
  t.equal(await ownerOf({ email: 'bob@x' }), bob)
  t.match(await read(ada.prospectId), { email: 'ada@x' })
})

t.test('400: changes that contradict each other are refused, and nothing is changed', async (t) => {
  const { ada, correctAda, read } = await openPeople()
  await correctAda({ externalId: 'crm 1' })
  const before = await read(ada.prospectId)
  const shown = (name: string, member: string) => `is the ${name} of the prospect: replace it by ${member}`
  for (const [json, detail, pointer, error] of [
    [{ keepFormerEmail: true }, CONTRADICTION, '/keepFormerEmail', 'is only for a new email'],
    [{ email: null, keepFormerEmail: true }, CONTRADICTION, '/keepFormerEmail', 'is only for a new email'],
    [
      { email: 'ada@new', keepFormerExternalId: true },
      CONTRADICTION,
      '/keepFormerExternalId',
      'is only for a new external id',
    ],
    [
      { email: 'ada@new', keepFormerEmail: true, forgetEmail: 'ada@x' },
      CONTRADICTION,
      '/forgetEmail',
      'must not be given with keepFormerEmail',
    ],
    [{ forgetEmail: 'Ada@x' }, CONTRADICTION, '/forgetEmail', shown('email', 'email')],
    [{ email: 'ada@new', forgetEmail: 'ada@new' }, CONTRADICTION, '/forgetEmail', shown('email', 'email')],
    [
      { name: 'Grace', forgetExternalId: 'crm 1' },
      CONTRADICTION,
      '/forgetExternalId',
      shown('external id', 'externalId'),
    ],
    [{ forgetEmail: 'Berlin' }, NOBODY, '/forgetEmail', 'is not an email address'],
    [{ forgetExternalId: 'N/A' }, NOBODY, '/forgetExternalId', 'is blank or a placeholder'],
  ] as const) {
    const refused = await correctAda(json)
    t.match(refused, {
      status: 400,
      json: { code: 'invalid_request', detail, errors: [{ pointer, detail: error }] },
    })
  }
  t.equal((await correctAda({ keepFormerEmail: 'yes', email: 'ada@new' })).status, 400)
  t.equal((await correctAda({ forgetEmail: null })).status, 400)
  t.strictSame(await read(ada.prospectId), before)
  t.equal((await correctAda({ keepFormerEmail: false })).status, 200)
})

t.test('409: at most a hundred emails lead to one prospect', async (t) => {
  const { ada, correctAda, read } = await openPeople()
  for (let i = 1; i < 100; i++)
    t.equal((await correctAda({ email: `${i}@x`, keepFormerEmail: true })).status, 200)
  const refused = await correctAda({ email: 'more@x', keepFormerEmail: true })
  t.match(refused, { status: 409, json: { code: 'limit_reached' } })
  t.equal(((await read(ada.prospectId))['otherEmails'] as string[]).length, 99)
  t.equal((await correctAda({ email: 'more@x' })).status, 200)
})

/** Ada, whose email was corrected twice. She kept the second one, and Eve was merged into her, who has a former email, too. */
const openErasable = async () => {
  const scene = await openPeople()
  const { ada, create, correct, correctAda, merge } = scene
  await correctAda({ email: 'ada@second', externalId: 'crm 1' })
  await correctAda({ email: 'ada@third', keepFormerEmail: true, externalId: 'crm 2' })
  const eve = await create({ email: 'eve@old', externalId: 'crm 3' })
  await correct(eve, { email: 'eve@x' })
  await merge(eve, { into: ada.prospectId })
  const emails = ['ada@x', 'ada@second', 'ada@third', 'eve@old', 'eve@x']
  return { ...scene, eve, emails }
}

for (const [path, requestOf] of [
  ['email', () => ({ email: 'ada@third' })],
  ['external id', () => ({ externalId: 'crm 2' })],
  ['prospect id', ({ ada }) => ({ prospectId: ada.prospectId })],
  ['id of a prospect that was merged into it', ({ eve }) => ({ prospectId: eve })],
  ['email that it kept', () => ({ email: 'ada@second' })],
  ['email of a prospect that was merged into it', () => ({ email: 'eve@x' })],
] as const satisfies readonly (readonly [
  string,
  (scene: Awaited<ReturnType<typeof openErasable>>) => object,
])[])
  t.test(`410: a person erased by its ${path} does not come back by anything that it had`, async (t) => {
    const scene = await openErasable()
    const { ada, emails, call, complete, eraseBy, statusesOf } = scene
    const erased = await eraseBy(requestOf(scene))
    t.match(erased, {
      status: 202,
      json: { prospectId: ada.prospectId, formerlyOf: [], stillLeadsTo: [] },
    })
    for (let round = 0; round < 2; round++) {
      t.same(
        await statusesOf(...emails),
        emails.map(() => 410),
      )
      for (const externalId of ['crm 1', 'crm 2', 'crm 3'])
        t.equal((await call('POST /v0/prospects', { json: { externalId } })).status, 410)
      await complete()
    }
  })

for (const [kind, request] of [
  ['email', { email: 'ada@x' }],
  ['external id', { externalId: 'crm 1' }],
  ['email of a merged prospect', { email: 'eve@old' }],
] as const)
  t.test(`202: an erasure by a former ${kind} names whose it was, and erases no one`, async (t) => {
    const { ada, emails, call, complete, eraseBy, read, statusesOf } = await openErasable()
    const named = { prospectId: null, formerlyOf: [ada.prospectId], stillLeadsTo: [] }
    const { json } = await eraseBy(request)
    t.match(json, named)
    t.strictSame((await eraseBy(request)).json, json, 'the same one while it runs')
    t.match(await read(ada.prospectId), { email: 'ada@third' })
    if ('email' in request) t.same(await statusesOf(request.email), [410])
    await complete()
    t.match((await call(`GET /v0/erasures/${json['erasureId']}`)).json, { ...named, status: 'completed' })
    t.match((await call('GET /v0/erasures')).json, { items: [named] })

    t.match((await eraseBy({ prospectId: ada.prospectId })).json, { formerlyOf: [], stillLeadsTo: [] })
    t.same(
      await statusesOf(...emails),
      emails.map(() => 410),
    )
    // Nobody had it who is left.
    await complete()
    t.match((await eraseBy(request)).json, { prospectId: null, formerlyOf: [] })
  })

t.test(
  '202: an email that leads to another prospect today stays there, and both erasures say so',
  async (t) => {
    const { ada, correctAda, eraseBy, ownerOf, read, statusesOf } = await openPeople()
    await correctAda({ email: 'ada@new' })
    // An activity from the old email made a second prospect of the same person.
    const second = await ownerOf({ email: 'ada@x' })
    t.match((await eraseBy({ email: 'ada@new' })).json, {
      prospectId: ada.prospectId,
      formerlyOf: [],
      stillLeadsTo: [second],
    })
    t.match(await read(second), { email: 'ada@x' })
    t.same(await statusesOf('ada@new', 'ada@x'), [410, 201])
    t.match((await eraseBy({ prospectId: second })).json, { stillLeadsTo: [] })
    t.same(await statusesOf('ada@new', 'ada@x'), [410, 410])
  },
)

t.test('202: an erasure by an email names others that had it before', async (t) => {
  const { ada, correctAda, eraseBy, ownerOf, read } = await openPeople()
  await correctAda({ email: 'ada@new' })
  const second = await ownerOf({ email: 'ada@x' })
  t.match((await eraseBy({ email: 'ada@x' })).json, {
    prospectId: second,
    formerlyOf: [ada.prospectId],
    stillLeadsTo: [],
  })
  t.match(await read(ada.prospectId), { email: 'ada@new', formerEmails: ['ada@x'] })
  t.match((await eraseBy({ email: 'nobody@x' })).json, { prospectId: null, formerlyOf: [] })
  t.equal((await eraseBy({ prospectId: idOf('prospect', 999) })).status, 404)
})

t.test('202: at most twenty are named, the last one who had it first', async (t) => {
  const { create, correct, eraseBy } = await openPeople()
  const ids: string[] = []
  for (let i = 0; i < 22; i++) {
    const prospectId = await create({ email: 'office@x' })
    await correct(prospectId, { email: `${i}@x` })
    ids.unshift(prospectId)
  }
  t.strictSame((await eraseBy({ email: 'office@x' })).json['formerlyOf'], ids.slice(0, 20))
})

t.test('another tenant learns nothing of former emails', async (t) => {
  const { ada, call, correctAda, newTenant } = await openPeople()
  await correctAda({ email: 'ada@new' })
  const { apiKey: key } = await newTenant()
  t.equal((await call(`GET /v0/prospects/${ada.prospectId}`, { key })).status, 404)
  const erased = await call('POST /v0/erasures', { key, json: { email: 'ada@x' } })
  t.match(erased.json, { prospectId: null, formerlyOf: [] })
})
