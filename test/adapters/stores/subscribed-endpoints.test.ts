import t from 'tap'
import { eventsAtOnce, subscribedAmong } from '../../../src/adapters/stores/subscribed-endpoints.ts'
import type { NewEvent } from '../../../src/core/ports/events.ts'

const NAMES = Array.from({ length: 50 }, (_, i) => `name${i}`)
const all = { types: null, sources: null, logTypes: null }

/** Events of logged activities, and how often a filter is asked. */
const setUp = (endpoints: number) => {
  let asked = 0
  const counted = {
    some: () => {
      asked++
      return true
    },
  } as unknown as NewEvent['type'][]
  const filtering = { types: counted, sources: JSON.stringify(NAMES), logTypes: JSON.stringify(NAMES) }
  const endpointsFor = subscribedAmong(Array(endpoints).fill(filtering), ({ ids }) => ({
    source: 's',
    type: '',
    ...JSON.parse(ids.prospectLogId ?? ''),
  }))
  const event = (log: object) =>
    ({ type: 'prospect_log.created', ids: { prospectLogId: JSON.stringify(log) } }) as NewEvent
  return { endpointsFor, event, asked: () => asked }
}

t.test('a filter is matched once for all activities of a source and a type', (t) => {
  const { endpointsFor, event, asked } = setUp(20)
  const alike = Array.from(
    { length: 500 },
    () => endpointsFor(event({ source: 'name1', type: 'name49' })).length,
  )
  t.ok(alike.every((taking) => taking === 20))
  t.equal(endpointsFor(event({ source: 'name1', type: 'other' })).length, 0)
  t.equal(endpointsFor(event({ source: 'name', type: 'name1' })).length, 0)
  t.equal(asked(), 60)
  t.end()
})

t.test('without a filter no activity is read', (t) => {
  const endpointsFor = subscribedAmong([all, { ...all, types: ['page.created'] }], () => {
    throw new Error('read')
  })
  t.equal(endpointsFor({ type: 'prospect_log.created', ids: {} } as NewEvent).length, 1)
  t.end()
})

t.test('a step numbers fewer events, the more endpoints there are', (t) => {
  t.strictSame(
    [0, 1, 2, 20, 5_000].map((endpoints) => eventsAtOnce(endpoints, 500)),
    [500, 500, 500, 50, 1],
  )
  t.end()
})
