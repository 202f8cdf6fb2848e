import type { Test } from 'tap'

/** The five operations, a problem and a refusal, over a socket; and links that lead where they should. */
export const mustServe = async (t: Test, url: string, apiKey: string): Promise<void> => {
  const call = async (path: string, json?: string, headers = {}) => {
    const answer = await fetch(`${url}${path}`, {
      ...(json !== undefined && { method: 'POST', body: json }),
      headers: { 'x-api-key': apiKey, ...(json && { 'content-type': 'application/json' }), ...headers },
    })
    return {
      status: answer.status,
      headers: answer.headers,
      json: (await answer.json()) as Record<string, unknown>,
    }
  }
  const payload = '{ "amount": 12345678901234567890 }'
  const logged = await call('/v0/prospect_logs', `{"source":"crm","payload":${payload}}`)
  t.match(logged, { status: 201, json: { createdProspect: true, type: 'webhook' } })
  const groups = await call('/v0/page_groups?limit=1')
  t.match(groups, { status: 200, json: { items: [{ title: 'Offers' }], limit: 1 } })
  const [{ pageGroupId }] = groups.json['items'] as [{ pageGroupId: string }]
  const group = `/v0/page_groups/${pageGroupId}`
  const created = await call(`${group}/pages`, '{"customName":"Spring"}')
  t.match(created, { status: 201, json: { status: 'processing' } })
  t.match(await call(`${group}/pages`), { status: 200, json: { items: [{ effectiveName: 'Spring' }] } })
  const page = `${group}/pages/${created.json['pageId']}`
  t.match(await call(page), { status: 200, json: { customName: 'Spring' } })
  while ((await call(page)).json['publishedVersion'] === null);

  const unknown = await call('/v0/nowhere')
  t.match(unknown, { status: 404, json: { code: 'not_found', instance: /./ } })
  t.equal(unknown.headers.get('content-type'), 'application/problem+json')
  t.equal(unknown.headers.get('x-request-id'), unknown.json['instance'])
  t.match(await call('/v0/page_groups', undefined, { 'x-api-key': 'wrong' }), { status: 401 })
  t.match(await call('/v0/prospect_logs', 'x'.repeat(1_048_577)), {
    status: 413,
    json: { code: 'payload_too_large' },
  })
  t.match(await call('/v0/prospect_logs', '{'), { status: 400, json: { code: 'invalid_json' } })
  const head = await fetch(`${url}/v0/page_groups`, { method: 'HEAD' })
  t.equal(head.status, 401, 'HEAD is answered as GET is')
  t.match(await call('/readyz'), { status: 200, json: { status: 'ready' } })

  const explained = await fetch(new URL(String(unknown.json['type']), url))
  t.match(
    [explained.status, await explained.json()],
    [200, { type: unknown.json['type'], code: 'not_found' }],
  )
  const { servers } = (await call('/openapi.json')).json as { servers: [{ url: string }] }
  t.equal(new URL(servers[0].url, url).href, url)
  const outside = await fetch(new URL('/v0/page_groups', url), { headers: { 'x-api-key': apiKey } })
  t.equal(outside.status, 404, 'it answers nothing outside of its base path')
}
