import t from 'tap'
import { DomainFailure, type FailureKind } from '../../../src/core/engine/failures.ts'
import { type EventReaders, eventData, webhookEventData } from '../../../src/core/events/event-data.ts'
import type { StoredEvent } from '../../../src/core/ports/events.ts'
import { bodyWriter } from '../../../src/core/webhooks/webhook-body.ts'
import { writeJson } from '../../../src/json/write-json.ts'

const AT = '2026-11-22T09:00:00.000Z'
const event = (type: StoredEvent['type'], ids: StoredEvent['ids']): StoredEvent => ({
  tenantId: 'tenant_1',
  eventId: 'event_1',
  sequence: 1,
  type,
  ids,
  apiKeyId: null,
  createdAt: AT,
})
const PAGE = { pageGroupId: 'pagegroup_1', pageId: 'page_1' }
const read = (readers: object, what: StoredEvent) => eventData(readers as EventReaders)(what)
const refusing = (kind: FailureKind) => async () => {
  throw new DomainFailure(kind, 'No.')
}
const text = (length: number) => ({ rawJson: `{"text":"${'x'.repeat(length)}"}` })

t.test('an event shows its resource as a GET returns it', async (t) => {
  const keysRead: unknown[] = []
  const answering = (value: object) => async (key: object) => {
    keysRead.push(key)
    return { value }
  }
  const readers = {
    getProspect: answering({ prospectId: 'prospect_1' }),
    getProspectLog: answering({ prospectLogId: 'prospectlog_1' }),
    getPageGroup: answering({ pageGroupId: 'pagegroup_1' }),
    getPage: answering({ pageId: 'page_1', publishedVersion: null }),
    getVersion: answering({ versionId: 'pageversion_1', content: null }),
    getWebhookEndpoint: answering({ webhookEndpointId: 'webhookendpoint_1' }),
  }
  const tenantId = 'tenant_1'
  const shown = async (type: StoredEvent['type'], ids: StoredEvent['ids'], data: object) => {
    t.strictSame(await read(readers, event(type, ids)), data, type)
    t.strictSame(keysRead.pop(), { tenantId, ...ids })
  }
  await shown('prospect.updated', { prospectId: 'prospect_1' }, { prospectId: 'prospect_1' })
  await shown(
    'prospect_log.created',
    { prospectId: 'prospect_1', prospectLogId: 'prospectlog_1' },
    { prospectLogId: 'prospectlog_1' },
  )
  await shown('page_group.updated', { pageGroupId: 'pagegroup_1' }, { pageGroupId: 'pagegroup_1' })
  await shown('page.unpublished', PAGE, { pageId: 'page_1', publishedVersion: null })
  await shown(
    'page_version.ready',
    { ...PAGE, versionId: 'pageversion_1' },
    { ...PAGE, versionId: 'pageversion_1', content: null },
  )
  const endpoint = { webhookEndpointId: 'webhookendpoint_1' }
  await shown('webhook_endpoint.disabled', endpoint, endpoint)
})

t.test('in webhooks an activity shows its prospect too, even if its payload is omitted', async (t) => {
  const attributes = { rawJson: '{"company":"Engines"}' }
  const identity = { prospectId: 'prospect_1', email: 'ada@example.com', externalId: null, name: 'Ada' }
  const prospect = { ...identity, firstName: 'Ada', lastName: null, attributes }
  const log = event('prospect_log.created', { prospectId: 'prospect_1', prospectLogId: 'prospectlog_1' })
  const shown = (payload: object) => {
    const readers = {
      getProspect: async () => ({ value: { ...identity, attributes, createdAt: AT } }),
      getProspectLog: async () => ({ value: { prospectLogId: 'prospectlog_1', payload } }),
    }
    return webhookEventData(readers as unknown as EventReaders)(log)
  }
  const payload = text(20_400)
  t.strictSame(await shown(payload), { prospectLogId: 'prospectlog_1', payload, prospect })
  t.strictSame(await shown(text(20_480)), {
    prospectLogId: 'prospectlog_1',
    payloadOmitted: true,
    prospect,
  })
  const erased = {
    getProspect: refusing('prospect_erased'),
    getProspectLog: async () => ({ value: { payload } }),
  }
  t.strictSame(await webhookEventData(erased as unknown as EventReaders)(log), log.ids)
})

const NAMES = [
  ['Ada Lovelace', 'Ada', 'Lovelace'],
  ['Ada King, Countess of Lovelace', 'Ada', 'Lovelace'],
  [' Ada\u00a0 Lovelace ', 'Ada', 'Lovelace'],
  ['Ada', 'Ada', null],
  [null, null, null],
] as const
for (const [name, firstName, lastName] of NAMES)
  t.test(
    `in webhooks the first name of ${JSON.stringify(name)} is ${firstName}, the last ${lastName}`,
    async (t) => {
      const person = { prospectId: 'prospect_1', name, attributes: text(10) }
      const readers = { getProspect: async () => ({ value: person }) }
      const created = event('prospect.created', { prospectId: 'prospect_1' })
      t.strictSame(await webhookEventData(readers as unknown as EventReaders)(created), {
        ...person,
        firstName,
        lastName,
      })
      t.strictSame(await read(readers, created), person, 'not in the feed')
    },
  )

t.test('attributes that make a person larger than 20 KiB are omitted', async (t) => {
  const person = { prospectId: 'prospect_1', email: 'ada@example.com', externalId: null, name: null }
  const readers = {
    getProspect: async () => ({ value: { ...person, attributes: text(20_480) } }),
    getProspectLog: async () => ({ value: { prospectLogId: 'prospectlog_1', payload: text(1) } }),
  }
  const updated = event('prospect.updated', { prospectId: 'prospect_1' })
  t.strictSame(await read(readers, updated), { ...person, payloadOmitted: true })
  const log = event('prospect_log.created', { prospectId: 'prospect_1', prospectLogId: 'prospectlog_1' })
  t.strictSame(await webhookEventData(readers as unknown as EventReaders)(log), {
    prospectLogId: 'prospectlog_1',
    payload: text(1),
    prospect: { ...person, firstName: null, lastName: null, payloadOmitted: true },
  })
})

t.test('an event whose resource no longer exists shows its ids', async (t) => {
  const prospect = event('prospect.erased', { prospectId: 'prospect_1' })
  for (const kind of ['prospect_erased', 'prospect_not_found'] as const)
    t.strictSame(await read({ getProspect: refusing(kind) }, prospect), { prospectId: 'prospect_1' })
  for (const kind of ['page_not_found', 'page_group_not_found'] as const)
    t.strictSame(await read({ getPage: refusing(kind) }, event('page.deleted', PAGE)), PAGE)
})

t.test('an activity of an erased prospect shows its ids, also before it is deleted', async (t) => {
  const ids = { prospectId: 'prospect_1', prospectLogId: 'prospectlog_1' }
  const readers = {
    getProspect: refusing('prospect_erased'),
    getProspectLog: async () => ({ value: { email: 'ada' } }),
  }
  t.strictSame(await read(readers, event('prospect_log.created', ids)), ids)
})

t.test('a resource that cannot be read now is not taken for missing', async (t) => {
  const reading = read({ getPage: refusing('unavailable') }, event('page.updated', PAGE))
  await t.rejects(reading, new DomainFailure('unavailable', 'No.'))
})

t.test('over 20 KiB of JSON, the payload or the content is omitted', async (t) => {
  const log = event('prospect_log.created', { prospectId: 'prospect_1', prospectLogId: 'prospectlog_1' })
  const getProspect = async () => ({ value: {} })
  const ofLog = (payload: object) =>
    read(
      { getProspect, getProspectLog: async () => ({ value: { source: 'crm', payload, email: null } }) },
      log,
    )
  const around = writeJson({ source: 'crm', payload: text(0), email: null }).length
  const most = text(20_480 - around)
  t.strictSame(await ofLog(most), { source: 'crm', payload: most, email: null })
  t.strictSame(await ofLog(text(20_481 - around)), { source: 'crm', email: null, payloadOmitted: true })

  const version = { ...PAGE, versionId: 'pageversion_1' }
  const ready = event('page_version.ready', version)
  t.strictSame(
    await read(
      { getVersion: async () => ({ value: { versionId: 'pageversion_1', content: text(20_480) } }) },
      ready,
    ),
    { ...version, payloadOmitted: true },
  )
  const publishedVersion = { versionId: 'pageversion_1', versionNumber: 1, publishedAt: AT }
  const page = { pageId: 'page_1', publishedVersion: { ...publishedVersion, content: text(20_480) } }
  t.strictSame(await read({ getPage: async () => ({ value: page }) }, event('page.updated', PAGE)), {
    pageId: 'page_1',
    publishedVersion,
    payloadOmitted: true,
  })
})

t.test('an event that is still too large shows its ids', async (t) => {
  const page = { pageId: 'page_1', supplementaryContext: 'é'.repeat(10_240), publishedVersion: null }
  t.strictSame(await read({ getPage: async () => ({ value: page }) }, event('page.updated', PAGE)), {
    ...PAGE,
    payloadOmitted: true,
  })
})

t.test(
  'the body of a webhook has the type, the time and the data, with payloads as they were sent',
  async (t) => {
    const log = event('prospect_log.created', { prospectId: 'prospect_1', prospectLogId: 'prospectlog_1' })
    t.equal(
      bodyWriter({ body: null })(log, { payload: { rawJson: '{ "n": 1e400 }' } }),
      `{"type":"prospect_log.created","timestamp":"${AT}","data":{"payload":{ "n": 1e400 }}}`,
    )
  },
)
