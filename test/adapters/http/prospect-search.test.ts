import t from 'tap'
import { openAdaScene } from './prospect-scene.ts'

/** More than a search returns. */
const MANY = 120
const SEARCH_LIMIT = 100
const LIST_LIMIT = 20

/** The scene of Ada with a search that returns ids. */
const openSearch = async () => {
  const scene = await openAdaScene()
  const search = async (query: string): Promise<readonly string[]> => {
    const { json } = await scene.get(`/v0/prospects?search=${query}`)
    return (json['items'] as { prospectId: string }[]).map(({ prospectId }) => prospectId)
  }
  return { ...scene, search }
}

/** Logs activities of many people. Returns their ids, the newest first, as lists do. */
const logMany = async (log: (fields: object) => Promise<{ readonly prospectId: string }>) => {
  const ids: string[] = []
  for (let i = 0; i < MANY; i++) {
    const { prospectId } = await log({ email: `many${i}@x`, name: `No ${i} Mány` })
    ids.unshift(prospectId)
  }
  return ids
}

t.test('200: a search finds people by how their email or name begins, in any case', async (t) => {
  const { get, ada } = await openSearch()
  t.strictSame((await get('/v0/prospects?search=AD')).json, { items: [ada], hasMore: false })
})

t.test('200: a search returns the newest people up to its limit, 100 by default', async (t) => {
  const { log, search } = await openSearch()
  const ids = await logMany(log)
  t.strictSame(await search('many'), ids.slice(0, SEARCH_LIMIT), 'by their emails')
  t.strictSame(await search('m%C3%A1ny&limit=7'), ids.slice(0, 7), 'by the last word of their names')
})

t.test('200: a search has no cursor, even if more people match than it returns', async (t) => {
  const { log, get } = await openSearch()
  await logMany(log)
  const { json } = await get('/v0/prospects?search=many')
  t.equal(json['hasMore'], false)
  t.notOk('nextCursor' in json)
})

t.test('200: a list of prospects has 20 by default', async (t) => {
  const { log, get } = await openSearch()
  await logMany(log)
  t.match((await get('/v0/prospects')).json, { items: { length: LIST_LIMIT } })
})

t.test('200: after a correction a search finds the new email and name, and not the old', async (t) => {
  const { search, ada, correctAda } = await openSearch()
  await correctAda({ name: 'Ada King', email: 'countess@x' })
  t.strictSame(await search('ada@'), [])
  t.strictSame(await search('kin'), [ada.prospectId])
  t.strictSame(await search('countess'), [ada.prospectId])
})

/** The scene after Ada, the Countess, was merged into Grace. */
const openMerged = async () => {
  const scene = await openSearch()
  const { log, ada, correctAda, merge } = scene
  await correctAda({ name: 'Ada King', email: 'countess@x' })
  const grace = await log({ email: 'grace@x', name: 'Grace' })
  await merge(ada.prospectId, { into: grace.prospectId })
  return { ...scene, grace }
}

t.test('200: after a merge the emails of both find the survivor, and the lost name no one', async (t) => {
  const { search, grace } = await openMerged()
  t.strictSame(await search('countess'), [grace.prospectId])
  t.strictSame(await search('grace@'), [grace.prospectId])
  t.strictSame(await search('kin'), [])
})

t.test('200: a search does not find an erased prospect by any of its emails', async (t) => {
  const { search, grace, erase } = await openMerged()
  await erase(grace.prospectId)
  t.strictSame(await search('countess'), [])
  t.strictSame(await search('grace'), [])
})

for (const { title, query, parameter } of [
  { title: 'one letter', query: 'search=a', parameter: 'search' },
  { title: 'no letter', query: 'search=', parameter: 'search' },
  { title: '101 letters', query: `search=${'a'.repeat(101)}`, parameter: 'search' },
  { title: 'an email besides', query: 'search=ada&email=ada@x', parameter: 'email' },
  { title: 'an external id besides', query: 'search=ada&externalId=a', parameter: 'externalId' },
  { title: 'a cursor besides', query: 'search=ada&cursor=a', parameter: 'cursor' },
])
  t.test(`400: a search with ${title} is refused`, async (t) => {
    const { get } = await openSearch()
    const { status, json } = await get(`/v0/prospects?${query}`)
    t.equal(status, 400)
    t.match(json, { code: 'invalid_request', errors: [{ parameter }] })
  })
