import t from 'tap'
import { openScene } from '../../support/api.ts'
import { hooksOver } from '../../support/hooks.ts'

const CONFLICTS = 'GET /v0/prospect_conflicts'
const LOG = 'POST /v0/prospect_logs'
const BATCH = 'POST /v0/prospect_logs/batch'
const activity = (named: object) => ({ source: 'crm', payload: {}, ...named })

/** Two people: Ada with an external id, and Grace with an email. */
const openPeople = async () => {
  const scene = await openScene()
  const { call } = scene
  const create = async (json: object) =>
    String((await call('POST /v0/prospects', { json })).json['prospectId'])
  const ada = await create({ externalId: 'crm-1', email: 'ada@x' })
  const grace = await create({ externalId: 'crm-2', email: 'grace@x' })
  return { ...scene, create, ada, grace }
}

t.test(
  '200: an activity that names two people lists them as a pair, by the time of the activity',
  async (t) => {
    const { call, ada, grace } = await openPeople()
    t.strictSame((await call(CONFLICTS)).json, { items: [], hasMore: false })
    const { json: receipt } = await call(LOG, { json: activity({ externalId: 'crm-2', email: 'ADA@x' }) })
    t.equal(receipt['prospectId'], grace)
    const answer = await call(CONFLICTS)
    t.equal(answer.status, 200)
    t.strictSame(answer.json, {
      items: [{ prospectIds: [ada, grace], field: 'email', at: receipt['createdAt'] }],
      hasMore: false,
    })
  },
)

t.test('200: the activities of a batch are noted, each pair once', async (t) => {
  const { call, create } = await openPeople()
  await create({ email: 'eve@x' })
  const named = [
    { externalId: 'crm-1', email: 'grace@x' },
    { externalId: 'crm-2', email: 'ada@x' },
    { externalId: 'crm-2', email: 'eve@x' },
  ]
  const answer = await call(BATCH, { json: { items: [...named, ...named].map(activity) } })
  t.equal(answer.status, 201)
  t.match((await call(CONFLICTS)).json, { items: { length: 2 } })
})

t.test('200: what a hook receives is noted, too', async (t) => {
  const { api, owner, call, ada, grace } = await openPeople()
  const { create, deliver } = hooksOver(api, owner.apiKey)
  const map = { email: ['/mail'], externalId: ['/id'] }
  const hook = await create({ map })
  const sent = await deliver(hook, JSON.stringify({ mail: 'grace@x', id: 'crm-1' }))
  t.equal(sent.status, 200)
  t.match((await call(CONFLICTS)).json, { items: [{ prospectIds: [ada, grace], field: 'email' }] })
})

t.test('200: pairs are read slice by slice, and end once their people are merged', async (t) => {
  const { call, create, ada, grace } = await openPeople()
  const eve = await create({ externalId: 'crm-3', email: 'eve@x' })
  await call(LOG, { json: activity({ externalId: 'crm-1', email: 'grace@x' }) })
  await call(LOG, { json: activity({ externalId: 'crm-3', email: 'grace@x' }) })
  const first = await call(`${CONFLICTS}?limit=1`)
  t.match(first.json, { items: [{ prospectIds: [grace, eve] }], hasMore: true })
  const second = await call(`${CONFLICTS}?limit=1&cursor=${first.json['nextCursor']}`)
  t.match(second.json, { items: [{ prospectIds: [ada, grace] }], hasMore: false })
  await call(`POST /v0/prospects/${eve}/merge`, { json: { into: grace } })
  t.match((await call(CONFLICTS)).json, { items: [{ prospectIds: [ada, grace] }], hasMore: false })
})

t.test('400: a cursor of another list is refused', async (t) => {
  const { call } = await openPeople()
  const { json } = await call('GET /v0/prospects?limit=1')
  for (const cursor of [json['nextCursor'], 'nonsense'])
    t.match(await call(`${CONFLICTS}?cursor=${cursor}`), { status: 400, json: { code: 'invalid_cursor' } })
})

t.test('403: a key needs the scope prospects:read', async (t) => {
  const { call, keyWith } = await openPeople()
  const key = await keyWith('prospects:write', 'prospect_logs:read')
  t.equal((await call(CONFLICTS, { key })).status, 403)
})

t.test('a store without conflicts logs activities as before', async (t) => {
  const { call } = await openScene({
    storeAs: (store) => ({ ...store, prospectConflicts: undefined as never }),
  })
  for (const json of [{ externalId: 'crm-1' }, { email: 'ada@x' }, { externalId: 'crm-1', email: 'ada@x' }])
    t.equal((await call(LOG, { json: activity(json) })).status, 201)
})
