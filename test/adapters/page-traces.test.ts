import t from 'tap'
import type { OpenTelemetry } from '../../src/adapters/tracing/open-telemetry.ts'
import { createPageTraces } from '../../src/adapters/tracing/page-traces.ts'

const TRACEPARENT = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
const attemptAt = (pageId: string) => ({
  ...{ tenantId: 'tenant_1', pageGroupId: 'pagegroup_1', pageId },
  ...{ versionId: 'pageversion_1', attempt: 1 },
})
const sent = (headers: Record<string, string>) => headers

t.test('a call for a page carries on the trace of the request that created it, as it came', async (t) => {
  const traces = createPageTraces()
  traces.remember('page_1', TRACEPARENT)
  const version = attemptAt('page_1')
  t.strictSame(traces.send(version, sent), { traceparent: TRACEPARENT })
  t.strictSame(
    traces.send({ ...version, attempt: 2 }, sent),
    { traceparent: TRACEPARENT },
    'when it is repeated',
  )
  t.strictSame(traces.lineOf(version), { traceId: TRACEPARENT.slice(3, 35) })
})

t.test('where that is not known each attempt is a trace of its own', async (t) => {
  const traces = createPageTraces()
  const version = attemptAt('page_1')
  const { traceparent = '' } = traces.send(version, sent)
  t.match(traceparent, /^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/)
  t.strictSame(traces.lineOf(version), { traceId: traceparent.slice(3, 35) }, 'and told in the log')
  t.not(traces.send({ ...version, attempt: 2 }, sent)['traceparent'], traceparent)
})

t.test('only so many pages are remembered, the oldest are not', async (t) => {
  const traces = createPageTraces()
  for (let page = 0; page <= 10_000; page++) traces.remember(`page_${page}`, TRACEPARENT)
  t.not(traces.send(attemptAt('page_0'), sent)['traceparent'], TRACEPARENT)
  t.equal(traces.send(attemptAt('page_1'), sent)['traceparent'], TRACEPARENT)
})

t.test('with OpenTelemetry its instrumentation sends the header, within that trace', async (t) => {
  const within: string[] = []
  const openTelemetry: OpenTelemetry = {
    traceparent: () => undefined,
    onRoute: () => {},
    within: (traceparent, act) => {
      within.push(traceparent)
      return act()
    },
  }
  const traces = createPageTraces(openTelemetry)
  traces.remember('page_1', TRACEPARENT)
  t.strictSame(traces.send(attemptAt('page_1'), sent), {})
  t.strictSame(within, [TRACEPARENT])
})
