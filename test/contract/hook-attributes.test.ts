import { overStores } from '../support/stores.ts'
import { openHooks } from './hook-scene.ts'

const ADA = 'ada@x.example'
const FORM = { 'content-type': 'application/x-www-form-urlencoded' }
const TOKEN = { verify: { token: true } } as const

/** A form whose fields become attributes. */
const FIELDS = {
  ...TOKEN,
  map: { email: ['/email'], name: ['/First name + /last'], idempotencyKey: ['/deliveryId'] },
  trap: 'website2',
  fieldsAsAttributes: true,
}

overStores(async (t, kind) => {
  /** What becomes of bodies that are delivered to a hook. */
  const openFor = async (fields: object) => {
    const scene = await openHooks(t, kind)
    const hook = await scene.create(fields)
    const send = async (body: object | string | Record<string, string>) => {
      const isForm = body instanceof URLSearchParams
      const { status, text } = await scene.send(
        hook.path,
        typeof body === 'string' || isForm ? String(body) : JSON.stringify(body),
        isForm ? FORM : {},
      )
      t.equal(status, 200, text)
    }
    /** The attributes of Ada. */
    const attributes = async () => {
      const { json } = await scene.call(`GET /v0/prospects?email=${ADA}`)
      return (json['items'] as { attributes: object }[])[0]?.attributes
    }
    return { ...scene, hook, send, attributes }
  }

  t.test('attributes are found at their places, and fill blanks', async (t) => {
    const map = {
      email: ['/email'],
      attributes: {
        company: ['/org', '/employer/name'],
        'first.name/~': ['/given + /family'],
        source: ['=website'],
        phone: ['/phones', 'query:tel'],
      },
    }
    const { send, attributes } = await openFor({ ...TOKEN, map })
    await send({ email: ADA, org: 'N/A', employer: { name: 'Engines' }, given: 'Ada', family: 'King' })
    t.strictSame(await attributes(), { company: 'Engines', 'first.name/~': 'Ada King', source: 'website' })
    await send({ email: ADA, org: 'Other', phones: ['', '+44 1'] })
    t.strictSame(await attributes(), {
      company: 'Engines',
      'first.name/~': 'Ada King',
      source: 'website',
      phone: '+44 1',
    })
  })

  t.test('of several activities in one body, each has its own attributes', async (t) => {
    const map = { email: ['/email'], attributes: { company: ['/org'], list: ['/list'] } }
    const { send, call } = await openFor({ ...TOKEN, map, each: '/people' })
    await send({
      list: 'spring',
      people: [
        { email: ADA, org: 'Engines' },
        { email: 'bob@x.example', org: 'B' },
      ],
    })
    const { json } = await call('GET /v0/prospects')
    t.match(json['items'], [
      { attributes: { company: 'B', list: 'spring' } },
      { attributes: { company: 'Engines', list: 'spring' } },
    ])
  })

  t.test('a hook may overwrite attributes', async (t) => {
    const map = { email: ['/email'], attributes: { company: ['/org'] } }
    const { send, attributes } = await openFor({ ...TOKEN, map, attributesMode: 'overwrite' })
    await send({ email: ADA, org: 'Engines' })
    await send({ email: ADA, org: 'Other' })
    t.strictSame(await attributes(), { company: 'Other' })
    await send({ email: ADA, org: '' })
    t.strictSame(await attributes(), { company: 'Other' })
  })

  t.test('the other text fields of a form are attributes, if the hook says so', async (t) => {
    const { send, attributes, logs } = await openFor(FIELDS)
    const form = new URLSearchParams({
      ...{ Email: ADA, 'First name': 'Ada', last: 'King', company: 'Engines', Telefon: '+44 1', city: ' ' },
      ...{ deliveryId: '1', pageId: 'page_1', _subject: 'x', 'g-recaptcha-response': 'x', csrf_token: 'x' },
      ...{ password: 'x', unset: '{{city}}', message: 'x'.repeat(1_001), [`${'n'.repeat(65)}`]: 'x' },
    })
    form.append('colors', 'red')
    form.append('colors', 'blue')
    form.append('__proto__', 'x')
    await send(form)
    t.strictSame(await attributes(), { company: 'Engines', Telefon: '+44 1' })
    t.match((await logs())[0], { name: 'Ada King', payload: { company: 'Engines', colors: ['red', 'blue'] } })
  })

  t.test('so are the texts at the top of a JSON body, but not what is within it', async (t) => {
    const { send, attributes } = await openFor(FIELDS)
    await send({
      email: ADA,
      company: 'Engines',
      size: 12,
      on: true,
      inner: { city: 'London' },
      last: 'King',
    })
    t.strictSame(await attributes(), { company: 'Engines' })
  })

  t.test('a mapped attribute wins over a field of its name', async (t) => {
    const map = { ...FIELDS.map, attributes: { company: ['/org'] } }
    const { send, attributes } = await openFor({ ...FIELDS, map })
    await send({ email: ADA, org: 'Engines', company: 'Other' })
    t.strictSame(await attributes(), { company: 'Engines' })
  })

  t.test('without that, and in a filled trap, fields stay in the payload', async (t) => {
    const { send, attributes } = await openFor({ ...FIELDS, fieldsAsAttributes: false })
    await send({ email: ADA, company: 'Engines' })
    t.strictSame(await attributes(), {})
    const trapped = await openFor(FIELDS)
    await trapped.send({ email: ADA, company: 'Engines', website2: 'x' })
    t.equal(await trapped.attributes(), undefined)
  })

  t.test('the one prospect of a hook, who is no person, gets none', async (t) => {
    const { send, call, logs } = await openFor({ ...FIELDS, unidentified: 'shared' })
    await send({ company: 'Engines' })
    const [log] = await logs()
    t.strictSame((await call(`GET /v0/prospects/${log?.['prospectId']}`)).json['attributes'], {})
  })

  t.test(
    'attributes beyond the fiftieth are left out with a warning, and the activity is stored',
    async (t) => {
      const { send, attributes, hook, logs, readOnceSet } = await openFor(FIELDS)
      const fields = Object.fromEntries(Array.from({ length: 60 }, (_, i) => [`f${i}`, `v${i}`]))
      await send({ email: ADA, f55: 'first' })
      await send({ email: ADA, ...fields })
      const kept = (await attributes()) ?? {}
      t.equal(Object.keys(kept).length, 50)
      t.match(kept, { f55: 'first', f0: 'v0', f48: 'v48' })
      t.equal((await logs()).length, 2)
      t.match(await readOnceSet(hook, 'lastWarning'), {
        reason: 'The last body has attributes that were not stored: the prospect would have more than 50.',
      })
    },
  )

  t.test('a trial shows the attributes, and the hook its settings', async (t) => {
    const { call, hook } = await openFor({ ...FIELDS, attributesMode: 'overwrite' })
    const json = { body: JSON.stringify({ email: ADA, company: 'Engines' }) }
    const tried = await call(`POST /v0/hooks/${hook.hookId}/try`, { json })
    t.match(tried.json, { activities: [{ email: ADA, attributes: { company: 'Engines' } }] })
    t.notMatch(tried.body, /attributesMode/)
    t.match(hook, { fieldsAsAttributes: true, attributesMode: 'overwrite' })
    const changed = await call(`PATCH /v0/hooks/${hook.hookId}`, { json: { fieldsAsAttributes: false } })
    t.match(changed.json, { fieldsAsAttributes: false, attributesMode: 'overwrite', trap: 'website2' })
  })

  t.test('a map names attributes as people have them', async (t) => {
    const { call } = await openHooks(t, kind)
    const mapped = (attributes: unknown) =>
      call('POST /v0/hooks', { json: { source: 'form', ...TOKEN, map: { attributes } } })
    for (const name of ['', ' ', 'x'.repeat(65)])
      t.match((await mapped({ [name]: ['/a'] })).json, { status: 400 }, JSON.stringify(name))
    t.match((await mapped({ company: ['a b'] })).json, { status: 400 })
    t.match((await mapped({ constructor: ['/a'] })).json, { status: 400 })
    const many = Object.fromEntries(Array.from({ length: 51 }, (_, i) => [`n${i}`, ['/a']]))
    t.match((await mapped(many)).json, { status: 400 })
  })
})
