import t from 'tap'
import { idOf } from '../../support/setting.ts'
import { NO_OTHERS, openAdaScene } from './prospect-scene.ts'

const UNKNOWN_ID = idOf('prospect', 9)

/** The scene after Grace was merged into Ada. */
const openMerged = async () => {
  const scene = await openAdaScene()
  const { log, ada, merge } = scene
  const { prospectId: graceId } = await log({ email: 'grace@x', externalId: 'G-1' })
  const merged = await merge(graceId, { into: ada.prospectId })
  return { ...scene, adaId: ada.prospectId, graceId, merged }
}

t.test('200: a merge answers the survivor, which has got what it lacked', async (t) => {
  const { ada, merged } = await openMerged()
  t.equal(merged.status, 200)
  const conflicts = [{ field: 'email', reason: 'different' }]
  t.strictSame(merged.json, { ...ada, externalId: 'G-1', updatedAt: merged.json['updatedAt'], conflicts })
})

t.test('200: the id and the email of a merged prospect lead to the survivor', async (t) => {
  const { get, graceId, merged } = await openMerged()
  const { conflicts: _, ...survivor } = merged.json
  const read = { ...survivor, ...NO_OTHERS, otherEmails: ['grace@x'] }
  t.strictSame((await get(`/v0/prospects/${graceId}`)).json, read)
  t.strictSame((await get('/v0/prospects?email=grace@x')).json, { items: [survivor], hasMore: false })
})

t.test('200: the timeline of the survivor has the activities of both', async (t) => {
  const { get, adasTimeline } = await openMerged()
  t.match((await get(adasTimeline)).json, { items: { length: 2 }, hasMore: false })
})

t.test('200: a repeated merge has the same answer', async (t) => {
  const { merge, adaId, graceId, merged } = await openMerged()
  t.strictSame((await merge(graceId, { into: adaId })).json, merged.json)
})

t.test('400: a prospect is not merged into itself', async (t) => {
  const { merge, adaId } = await openMerged()
  t.match(await merge(adaId, { into: adaId }), { status: 400, json: { code: 'invalid_request' } })
})

t.test('400: a prospect is not merged into one that was merged into it', async (t) => {
  const { merge, adaId, graceId } = await openMerged()
  t.match(await merge(adaId, { into: graceId }), { status: 400, json: { code: 'invalid_request' } })
})

t.test('400: a merge without a survivor is refused', async (t) => {
  const { merge, graceId } = await openMerged()
  t.equal((await merge(graceId, {})).status, 400)
})

t.test('404: neither prospect of a merge may be unknown', async (t) => {
  const { merge, adaId } = await openMerged()
  const notFound = { status: 404, json: { code: 'prospect_not_found' } }
  t.match(await merge(adaId, { into: UNKNOWN_ID }), notFound)
  t.match(await merge(UNKNOWN_ID, { into: adaId }), notFound)
})

t.test('410: nobody is merged into a prospect that was merged and erased', async (t) => {
  const { log, merge, erase, graceId } = await openMerged()
  await erase(graceId)
  const stranger = await log()
  t.equal((await merge(stranger.prospectId, { into: graceId })).status, 410)
})
