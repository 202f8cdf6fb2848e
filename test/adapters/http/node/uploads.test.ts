import t from 'tap'
import { fetchHandler } from '../../../../src/adapters/http/fetch-handler.ts'
import { hooksOver } from '../../../support/hooks.ts'
import { LIMITS, serve } from './serve.ts'

const TOKEN = { verify: { token: true }, map: { email: ['/email'] } }
const part = (headers: string, value: string) =>
  `--X\r\nContent-Disposition: form-data; ${headers}\r\n\r\n${value}\r\n`
const email = part('name="email"', 'ada@example.com')
const file = (bytes: number) => part('name="cv"; filename="cv.pdf"', 'x'.repeat(bytes))
const TYPE = 'multipart/form-data; boundary=X'

t.test('files of a form do not count for the limit of the body, and are not stored', async (t) => {
  const { api, owner, ask, textOf } = await serve(t)
  const { create, logs } = hooksOver(api, owner.apiKey)
  const form = await create(TOKEN)
  const signed = await create()
  const send = async (path: string, body: string, headers = [`Content-Length: ${body.length}`]) => {
    const { status } = await ask(textOf(`POST ${path}`, [`Content-Type: ${TYPE}`, ...headers], body))
    return status
  }
  const cv = (bytes: number) => ({ name: 'cv.pdf', type: '', bytes })

  t.equal(await send(form.path, `${email}${file(8_000)}${file(0)}--X--`), 200)
  t.match((await logs())[0], { email: 'ada@example.com', payload: { cv: [cv(8_000), cv(0)] } })
  const chunked = `${email}${file(5_000)}--X--`
  const chunk = `${chunked.length.toString(16)}\r\n${chunked}\r\n0\r\n\r\n`
  t.equal(await send(form.path, chunk, ['Transfer-Encoding: chunked']), 200)
  t.match((await logs())[0], { email: 'ada@example.com', payload: { cv: cv(5_000) } })
  t.equal(await send(form.path, `${file(10)}${email}--X--`), 200, 'a small form is read as a whole')
  t.match((await logs())[0], { payload: { cv: cv(10) } })

  t.equal(await send(form.path, `${email}${file(9_999)}--X--`), 413, 'more than an upload may have')
  t.equal(await send(form.path, `${part('name="a"', 'x'.repeat(1_100))}--X--`), 413, 'a long field')
  t.equal(await send(form.path, `${email}${file(2_000)}${'x'.repeat(1_100)}`), 200, 'a file without an end')
  t.match((await logs())[0], { email: null, payload: { body: /name="email"/ } })
  t.equal(await send(signed.path, `${email}${file(2_000)}--X--`), 413, 'what is signed is read as a whole')
})

t.test('the same over the Fetch standard', async (t) => {
  const { api, owner } = await serve(t)
  const { create, logs } = hooksOver(api, owner.apiKey)
  const { path } = await create(TOKEN)
  const handler = fetchHandler({ api, basePath: '', limits: LIMITS, addressOf: () => undefined })
  const send = async (bytes: number) => {
    const body = new FormData()
    body.set('email', 'ada@example.com')
    body.set('cv', new File(['x'.repeat(bytes)], 'cv.pdf', { type: 'application/pdf' }))
    return (await handler(new Request(`http://localhost${path}`, { method: 'POST', body }))).status
  }
  t.equal(await send(8_000), 200)
  const cv = { name: 'cv.pdf', type: 'application/pdf', bytes: 8_000 }
  t.match((await logs())[0], { email: 'ada@example.com', payload: { cv } })
  t.equal(await send(20_000), 413)
})
