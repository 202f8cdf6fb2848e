import t from 'tap'
import type { Store } from '../../../src/core/ports/store.ts'
import { openScene, problemFor, SEE_ERRORS } from '../../support/api.ts'
import { until } from '../../support/program.ts'

/** A page that is processing, and requests that wait for it, until `endWaits` or until it was published. */
const openWaiting = async (options: Parameters<typeof openScene>[0] = {}) => {
  let looks = 0
  const storeAs = (store: Store): Store => ({
    ...store,
    pages: {
      ...store.pages,
      find: (key, withContent) => {
        if (withContent === false) looks++
        return store.pages.find(key, withContent)
      },
    },
  })
  const scene = await openScene({ storeAs, ...options })
  const { pageGroupId } = await scene.newGroup()
  const { pageId } = await scene.newPage(pageGroupId, { slug: 'sale' })
  const pages = `/v0/page_groups/${pageGroupId}/pages`
  const ended = new AbortController()
  const wait = async (target = `${pages}/${pageId}?wait=25`, key = scene.owner.apiKey) => {
    const headers = { 'x-api-key': key }
    const answer = await scene.api({ method: 'GET', target, headers, untilEnd: () => ended.signal })
    return { ...answer, json: JSON.parse(String(answer.body)) }
  }
  const isWaited = () => until('a request waits', () => looks > 0)
  return { ...scene, pages, pageId, wait, isWaited, endWaits: () => ended.abort() }
}

t.test('200: a read of a page waits until its newest version is processed', async (t) => {
  const { wait, publish, isWaited, pages, pageId, answered } = await openWaiting()
  const byId = wait()
  const bySlug = wait(`${pages}/slug:sale?wait=25`)
  await isWaited()
  await publish()
  for (const answer of [await byId, await bySlug])
    t.match(answer, {
      status: 200,
      json: { pageId, latestVersion: { status: 'published' }, publishedVersion: { versionNumber: 1 } },
    })
  t.ok(answered.every(({ route, waitedMs = 0 }) => !route?.includes('{page_id}') || waitedMs >= 0))
  t.match(
    await wait(),
    { status: 200, json: { latestVersion: { status: 'published' } } },
    'nothing to wait for',
  )
})

t.test('200: a page that is still processing at the end of the wait is returned as it is', async (t) => {
  const { wait, isWaited, endWaits, pages, pageId } = await openWaiting()
  t.match(await wait(`${pages}/${pageId}?wait=1`), {
    status: 200,
    json: { latestVersion: { status: 'processing' } },
  })
  t.match(await wait(`${pages}/${pageId}?wait=0`), {
    status: 200,
    json: { latestVersion: { status: 'processing' } },
  })
  const left = wait()
  await isWaited()
  endWaits()
  t.match(await left, { status: 200, json: { publishedVersion: null } })
})

t.test('404: a page that is deleted during the wait is missing', async (t) => {
  const { wait, isWaited, call, pages, pageId } = await openWaiting()
  const waiting = wait()
  await isWaited()
  await call(`DELETE ${pages}/${pageId}`)
  t.match(await waiting, { status: 404, json: { code: 'page_not_found' } })
})

t.test('400: a wait must be 0 to 25 whole seconds', async (t) => {
  const { call, pages, pageId } = await openWaiting()
  const errors = [{ detail: 'must be a whole number from 0 to 25', parameter: 'wait' }]
  for (const seconds of ['26', '-1', '1.5', '', 'x']) {
    const answer = await call(`GET ${pages}/${pageId}?wait=${seconds}`)
    t.strictSame(answer.json, problemFor(answer, 'invalid_request', 400, SEE_ERRORS, { errors }), seconds)
  }
})

t.test(
  '503: at most 100 requests of a tenant wait for pages, and they take no place from others',
  async (t) => {
    const { wait, call, isWaited, publish } = await openWaiting({
      requestsAtOnceMax: 2,
      requestsWaitingMax: 110,
    })
    const waiting = Array.from({ length: 101 }, () => wait())
    t.match(await Promise.race(waiting), { status: 503, json: { code: 'unavailable' } })
    await isWaited()
    t.equal((await call('GET /v0/page_groups')).status, 200)
    await publish()
    const statuses = (await Promise.all(waiting)).map(({ status }) => status)
    t.equal(statuses.filter((status) => status === 200).length, 100)
  },
)
