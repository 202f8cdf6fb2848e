import { SIGNED } from '../support/hooks.ts'
import { overStores } from '../support/stores.ts'
import { MAP, NOW, NOW_TEXT, openHooks } from './hook-scene.ts'

const DAY_MS = 86_400_000
const ELEMENTS_MAX = 1_000
const ADA = 'ada@x.example'

/** A body that is delivered to a hook with this map, and what is logged. */
type Mapping = {
  readonly map: object
  readonly body: unknown
  readonly headers?: Readonly<Record<string, string>>
  readonly logged: object
}

const ELEMENTS: readonly Mapping[] = [
  {
    map: { email: ['/answers[type=email]/email'], name: ['/answers[ref=a~1b [1]]/text'] },
    body: {
      answers: [{ type: 'text', ref: 'a/b [1]', text: 'Ada' }, 'x', { type: 'email', email: ADA }],
    },
    logged: { email: ADA, name: 'Ada' },
  },
  {
    map: { email: ['/list[id=7]/value'] },
    body: {
      list: [
        { id: 8, value: 'no' },
        { id: 7, value: ADA },
      ],
    },
    logged: { email: ADA },
  },
  {
    map: { email: ['/list[on=true]/value'] },
    body: {
      list: [
        { on: false, value: 'no' },
        { on: true, value: ADA },
      ],
    },
    logged: { email: ADA },
  },
  {
    map: { email: ['/outer[type=a]/inner[type=b]/value'] },
    body: { outer: [{ type: 'a', inner: [{ type: 'b', value: ADA }] }] },
    logged: { email: ADA },
  },
  {
    map: { name: ['/list[type=a]'] },
    body: { 'list[type=a]': 'a member of that name', list: [{ type: 'a' }] },
    logged: { name: 'a member of that name' },
  },
  {
    map: { email: ['/list[type=a]/value'] },
    body: { list: 'text' },
    logged: { email: null },
  },
  {
    map: { email: ['/list[type=e999]/value'] },
    body: { list: Array.from({ length: 1_000 }, (_, i) => ({ type: `e${i}`, value: `${i}@x.example` })) },
    logged: { email: '999@x.example' },
  },
]

const SUMS: readonly Mapping[] = [
  {
    map: { name: ['/first + /last'] },
    body: { first: ' Ada', last: 'Lovelace ' },
    logged: { name: 'Ada Lovelace' },
  },
  {
    map: { name: ['/first + /last'] },
    body: { first: null, last: 'Lovelace' },
    logged: { name: 'Lovelace' },
  },
  {
    map: { name: ['/first + /last', '/full'] },
    body: { first: '', last: 'N/A', full: 'Ada' },
    logged: { name: 'Ada' },
  },
  {
    map: { name: ['=Dr. + /last + header:x-title'] },
    body: { last: 'Who' },
    headers: { 'x-title': 'PhD' },
    logged: { name: 'Dr. Who PhD' },
  },
  {
    map: { name: ['=Dr. + /last', '/a + b'] },
    body: { 'a + b': 'Ada' },
    logged: { name: 'Ada' },
  },
  {
    map: { occurredAt: ['/gmt + =Z'] },
    body: { gmt: '2026-11-20T09:00:00' },
    logged: { occurredAt: '2026-11-20T09:00:00.000Z' },
  },
]

const CONSTANTS: readonly Mapping[] = [
  { map: { type: ['=form_submitted'] }, body: {}, logged: { type: 'form_submitted' } },
  { map: { type: ['/type', '=other'] }, body: { type: 'x' }, logged: { type: 'x' } },
]

const BLANKS: readonly Mapping[] = [
  '',
  ' ',
  'null',
  'N/A',
  '{{email}}',
  '\u200b',
  '-',
  '[object Object]',
  'undefined',
].map((blank) => ({
  map: { email: ['/a', '/b'], externalId: ['/a', '/c'], name: ['/a', '/d'], type: ['/a', '/e'] },
  body: { a: blank, b: ADA, c: 'c-1', d: 'Ada', e: 'form' },
  logged: { email: ADA, externalId: 'c-1', name: 'Ada', type: 'form' },
}))

const EMAILS: readonly Mapping[] = [
  { map: { email: ['/city', '/email'] }, body: { city: 'Berlin', email: ADA }, logged: { email: ADA } },
  { map: { email: ['/city'] }, body: { city: 'Berlin' }, logged: { email: 'Berlin' } },
]

const ORDINARY_WORDS: readonly Mapping[] = [
  {
    map: { name: ['/name'], type: ['/type'] },
    body: { name: 'Guest', type: 'test' },
    logged: { name: 'Guest', type: 'test' },
  },
]

const HEADERS: readonly Mapping[] = [
  { sent: Buffer.from('Zoë 😀').toString('latin1'), name: 'Zoë 😀' },
  { sent: 'Zo\xeb', name: 'Zoë' },
  { sent: 'Zoe', name: 'Zoe' },
].map(({ sent, name }) => ({
  map: { name: ['header:X-Name'] },
  body: {},
  headers: { 'x-name': sent },
  logged: { name },
}))

const TIMES: readonly Mapping[] = [
  '2026-11-20T10:00:00+0000',
  '2026-11-20 10:00:00Z',
  '2026-11-20 11:00:00.0+01',
  '2026-11-20 10:00:00 UTC',
  'Fri, 20 Nov 2026 10:00:00 +0000',
  '20 Nov 2026 11:00 +0100 (CET)',
  'Fri, 20 Nov 2026 10:00:00 GMT',
  '20261120T100000Z',
  '20261120T1100+01',
  '20261120T100000.000+0000',
  '2026-11-20T11:00:00+01:00[Europe/Berlin]',
  '2026-11-20T10:00:00Z[UTC][u-ca=gregory]',
  '2026/11/20 10:00:00+00:00',
  ...[NOW / 1_000, NOW, NOW * 1_000, NOW * 1_000_000].flatMap((amount) => [String(amount), amount]),
  `${NOW}123456`,
].map((time) => ({
  map: { occurredAt: ['/at', '/old'] },
  body: { at: time, old: 1 },
  logged: { occurredAt: NOW_TEXT },
}))

/** A time that cannot be used is left out, and the next place is read. */
const NO_TIMES: readonly Mapping[] = [
  ...[
    0,
    '0',
    -1,
    1e21,
    'soon',
    '11/20/2026 10:00',
    '20 Nov 2026 10:00:00',
    '20261120',
    'Fri, 31 Feb 2026 10:00:00 GMT',
  ],
  ...['20261120T100000', '20261320T100000Z', '2026/11/20', '[Europe/Berlin]', `${'['.repeat(900)}`],
].map((time) => ({
  map: { occurredAt: ['/at', '/next'] },
  body: { at: time, next: NOW - 1_000 },
  logged: { occurredAt: time === '20261120' ? '1970-08-23T12:05:20.000Z' : '2026-11-20T09:59:59.000Z' },
}))

const ARRAYS: readonly Mapping[] = [
  { map: { email: ['/items/0/email'] }, body: [{ email: ADA }], logged: { email: ADA } },
  { map: { email: ['/0/email'] }, body: [{ email: ADA }], logged: { email: ADA } },
  {
    map: { email: ['/items[type=b]/value'] },
    body: [{ type: 'a' }, { type: 'b', value: ADA }],
    logged: { email: ADA },
  },
  { map: { email: ['/items/1/0'] }, body: [0, [ADA]], logged: { email: ADA } },
]

const base64 = (value: unknown, encoding: 'base64' | 'base64url' = 'base64') =>
  Buffer.from(JSON.stringify(value)).toString(encoding)
const person = { user: { email: ADA, name: 'Ada "A" Lovelace' } }
const nested = (levels: number): unknown =>
  levels === 0 ? person : { in: JSON.stringify(nested(levels - 1)) }
const IN_TEXT: readonly Mapping[] = [
  {
    map: { email: ['/Message/mail/to/0'] },
    body: { Message: JSON.stringify({ mail: { to: [ADA] } }) },
    logged: { email: ADA },
  },
  {
    map: { email: ['/message/data/user/email'] },
    body: { message: { data: base64(person) } },
    logged: { email: ADA },
  },
  {
    map: { email: ['/data/user/email'] },
    body: { data: base64(person, 'base64url') },
    logged: { email: ADA },
  },
  { map: { name: ['/in/in/in/user/name'] }, body: nested(3), logged: { name: 'Ada "A" Lovelace' } },
  { map: { name: ['/in/in/in/in/user/name'] }, body: nested(4), logged: { name: null } },
  {
    map: { email: ['/list[type=b]/value'] },
    body: { list: JSON.stringify([{ type: 'b', value: ADA }]) },
    logged: { email: ADA },
  },
  { map: { email: ['/0/email'] }, body: [JSON.stringify({ email: ADA })], logged: { email: ADA } },
  { map: { email: ['/user/email'] }, body: JSON.stringify(person), logged: { email: ADA } },
  { map: { email: ['/a/b'] }, body: { a: '{"b":' }, logged: { email: null } },
  { map: { email: ['/a/b', '/a'] }, body: { a: `eyJ${ADA}` }, logged: { email: `eyJ${ADA}` } },
  { map: { name: ['/a'] }, body: { a: '[1] Ada' }, logged: { name: '[1] Ada' } },
]

const LISTS: readonly Mapping[] = [
  { map: { email: ['/email'] }, body: { email: [ADA] }, logged: { email: ADA } },
  {
    map: { email: ['/email'] },
    body: { email: ['', 'N/A', 'none@', ADA, 'bob@x.example'] },
    logged: { email: ADA },
  },
  {
    map: { name: ['/names + /last'] },
    body: { names: [null, ' ', 'Ada'], last: 'Lovelace' },
    logged: { name: 'Ada Lovelace' },
  },
  { map: { name: ['/name', '/other'] }, body: { name: [], other: 'Ada' }, logged: { name: 'Ada' } },
  { map: { name: ['/name'] }, body: { name: [{ first: 'Ada' }] }, logged: { name: null } },
]

const MAPPINGS: readonly { promise: string; mappings: readonly Mapping[] }[] = [
  { promise: 'a place may lead to the element of a list that has a certain value', mappings: ELEMENTS },
  { promise: 'a sum leaves out what is missing, and is missing if only constants are left', mappings: SUMS },
  { promise: 'a constant is used where it stands in the order of places', mappings: CONSTANTS },
  { promise: 'blanks and placeholders count as missing', mappings: BLANKS },
  { promise: 'words such as Guest and test are values like any other', mappings: ORDINARY_WORDS },
  {
    promise: 'a text that looks like an email goes before one that does not',
    mappings: EMAILS,
  },
  { promise: 'a header is read as UTF-8 if it can be, else as Latin-1', mappings: HEADERS },
  { promise: 'a time is read in every notation that is unambiguous', mappings: TIMES },
  { promise: 'what is no time, or an ambiguous one, is left out', mappings: NO_TIMES },
  { promise: 'places lead into an array as it is sent, and as it is stored', mappings: ARRAYS },
  {
    promise: 'a place goes on in a text that holds JSON or base64 of it, three levels deep',
    mappings: IN_TEXT,
  },
  { promise: 'of a list of texts the first usable one counts', mappings: LISTS },
]

overStores(
  async (t, kind) => {
    for (const { promise, mappings } of MAPPINGS)
      t.test(promise, async (t) => {
        const { create, deliver, logs } = await openHooks(t, kind)
        for (const { map, body, headers, logged } of mappings) {
          const hook = await create({ map })
          const { status, text } = await deliver(hook, JSON.stringify(body), headers)
          t.equal(status, 200, text)
          t.match((await logs())[0], logged, JSON.stringify({ map, body }).slice(0, 200))
        }
      })

    t.test('a value that does not fit counts as missing, and the next place is read', async (t) => {
      const { create, deliver, logs } = await openHooks(t, kind)
      const hook = await create({
        map: {
          type: ['/type', 'header:X-Kind'],
          occurredAt: ['/at', '/later'],
          email: ['/emails/0', '/emails/1'],
          name: ['/name'],
          idempotencyKey: ['/key', 'sha256'],
        },
      })
      const logOf = async (body: object) => {
        const { status } = await deliver(hook, JSON.stringify(body), { 'x-kind': 'lead' })
        t.equal(status, 200)
        return (await logs())[0]
      }
      const fromNextPlaces = {
        type: 'lead',
        idempotencyKey: /^[\w-]{43}$/,
        occurredAt: NOW_TEXT,
      }

      const tooLong = await logOf({
        type: 'x'.repeat(101),
        at: NOW + DAY_MS + 1,
        later: NOW,
        emails: ['', 7],
        name: 12.5,
        key: '',
      })
      t.match(tooLong, { ...fromNextPlaces, email: '7', name: '12.5' })

      const unreadable = await logOf({
        type: {},
        at: '2026-11-20T10:00:00',
        later: '2026-11-20T12:00:00+02:00',
        emails: [null, 'a\0b'],
        name: 'x'.repeat(256),
      })
      t.match(unreadable, { ...fromNextPlaces, email: null, name: null })

      const ofAnotherKind = await logOf({
        type: [1],
        at: 'soon',
        later: -1,
        emails: 'text',
        name: true,
        key: 'x'.repeat(256),
      })
      t.match(ofAnotherKind, { ...fromNextPlaces, email: null, name: null })
    })

    t.test('an element is read before the whole body, and a sum may join both', async (t) => {
      const { create, deliver, logs } = await openHooks(t, kind)
      const hook = await create({
        each: '/rows[kind=people]/list',
        map: {
          type: ['/type', '=row'],
          name: ['=Dr. + /last'],
          idempotencyKey: ['header:x-id + /id'],
        },
      })
      const list = [{ last: 'Who', type: 'doctor', id: 1 }, { id: 2 }, {}, {}]
      const body = { type: 'all', last: 'Ada', rows: [{ kind: 'x' }, { kind: 'people', list }] }
      await deliver(hook, JSON.stringify(body), { 'x-id': 'm1' })
      t.match((await logs()).toReversed(), [
        { type: 'doctor', name: 'Dr. Who', idempotencyKey: 'm1 1' },
        { type: 'all', name: 'Dr. Ada', idempotencyKey: 'm1 2' },
        { type: 'all', name: 'Dr. Ada', idempotencyKey: 'm1:2' },
        { type: 'all', name: 'Dr. Ada', idempotencyKey: 'm1:3' },
      ])
      t.equal((await logs()).length, 4)
    })

    t.test('a mapped key belongs to the type: one object is created, then cancelled', async (t) => {
      const { create, deliver, logs } = await openHooks(t, kind)
      const hook = await create({
        map: { type: ['/event', 'header:x-event'], idempotencyKey: ['/uri', 'sha256'] },
      })
      const isReplayed = async (body: object, headers = {}) =>
        (await deliver(hook, JSON.stringify(body), headers)).json.replayed

      const events = ['invitee.created', 'invitee.canceled', 'a:b', 'x'.repeat(100)]
      for (const event of events) t.equal(await isReplayed({ event, uri: 'u1' }), false, event)
      for (const event of events) t.equal(await isReplayed({ event, uri: 'u1' }), true, event)
      t.equal(await isReplayed({ event: 'a', uri: 'b:u1' }), false, 'not the type a:b with the key u1')

      const sameBytes = { event: null, uri: null }
      const created = { 'x-event': 'order.created' }
      const paid = { 'x-event': 'order.paid' }
      t.equal(await isReplayed(sameBytes, created), false)
      t.equal(await isReplayed(sameBytes, paid), false)
      t.equal(await isReplayed(sameBytes, created), true)
      t.equal(await isReplayed(sameBytes, paid), true)

      for (const placeholder of ['null', '{{id}}', ' '])
        t.equal(await isReplayed({ event: 'first', uri: placeholder }), false, 'a placeholder is no key')
      t.equal((await logs()).length, 10)
    })

    t.test('a place may be a parameter of the query; without a body the query is the payload', async (t) => {
      const { create, send, logs, deliver, read, readOnceSet } = await openHooks(t, kind)
      const map = {
        email: ['/email', 'query:e-mail'],
        name: ['=Dr. + query:Last', '/name'],
        idempotencyKey: ['sha256'],
      }
      const { path } = await create({ verify: { token: true }, map })
      const logged = async (query: string, body = '', headers = {}) => {
        t.equal((await send(`${path}?${query}`, body, headers)).status, 200)
        return (await logs())[0]
      }
      const mailed = { email: ADA, name: 'Dr. Lovelace', payload: { a: 1 } }
      t.match(await logged('e-mail=ada%40x.example&last=Lovelace', '{"a":1}'), mailed)
      t.match(await logged('e-mail=&e-mail=ada@x.example', '{"a":2}'), { email: ADA, name: null })
      t.match(await logged('email=ada%40x.example&name=Zo%C3%AB+A'), {
        email: ADA,
        name: 'Zoë A',
        payload: { email: ADA, name: 'Zoë A' },
      })
      t.match(await logged('EMAIL=ada@x.example&Last=L'), { email: ADA, name: 'Dr. L' })
      t.equal((await logs()).length, 4, 'the hash is that of the query')
      const signed = await create({ map: { ...map, name: [] } })
      const delivered = await deliver({ path: `${signed.path}?email=ada@x.example` }, '')
      t.equal(delivered.status, 200)
      t.match((await logs())[0], { email: null, payload: { body: '' } }, 'the query is not signed')
      const unread = await create({ map: { email: ['/email'] } })
      await deliver({ path: `${unread.path}?email=ada@x.example` }, '')
      t.match(await readOnceSet(unread, 'lastWarning'), { reason: /sent with a query, which no place reads/ })
      t.equal((await read(signed)).map['email']?.[1], 'query:e-mail')
    })

    t.test('a field of a form that came several times gives its first usable text', async (t) => {
      const { create, send, logs } = await openHooks(t, kind)
      const { path } = await create({ verify: { token: true }, map: MAP })
      const form = { 'content-type': 'application/x-www-form-urlencoded' }
      for (const body of [
        `email=&email=${ADA}`,
        `email=n%2Fa&email=Berlin&email=${ADA}`,
        `Email=&Email=${ADA}`,
      ]) {
        await send(path, body, form)
        t.match((await logs())[0], { email: ADA }, body)
      }
    })

    t.test('400: a place that could not lead anywhere, or has too many parts', async (t) => {
      const { call } = await openHooks(t, kind)
      const leadingNowhere = [
        'name',
        '=',
        '= ',
        'query:',
        'query:a b',
        'header:',
        'header:é',
        '/a + =',
        'sha256',
        '/~2',
      ]
      const tooDeep = '/a'.repeat(17)
      const tooManyParts = [Array(11).fill('/a').join(' + '), Array(100).fill('=a').join(' + ')]
      for (const place of [...leadingNowhere, tooDeep, ...tooManyParts]) {
        const json = { source: 'a', verify: SIGNED, map: { name: [place] } }
        const answer = await call('POST /v0/hooks', { json })
        t.equal(answer.status, 400, place)
        t.match(answer.json, { errors: [{ pointer: '/map/name/0' }] }, place)
      }
    })

    t.test('each element is an activity, with what it lacks from the body', async (t) => {
      const { create, deliver, call } = await openHooks(t, kind)
      const hook = await create({ each: '/items', map: { ...MAP, type: ['/type', '/kind'] } })
      const items = [
        { id: 'e1', type: 'own', email: 'ada@example.com' },
        [2],
        'three',
        { email: 'ada@example.com' },
      ]
      const { prospectLogIds = [] } = (await deliver(hook, JSON.stringify({ id: 'm1', kind: 'all', items })))
        .json
      t.equal(prospectLogIds.length, 4)
      const readLog = async (id: string) => (await call(`GET /v0/prospect_logs/${id}`)).json
      const [first, second, third, fourth] = await Promise.all(prospectLogIds.map(readLog))
      t.match(first, { type: 'own', idempotencyKey: 'e1', payload: items[0], createdProspect: true })
      t.match(second, { type: 'all', idempotencyKey: 'm1:1', payload: { items: [2] } })
      t.match(third, { type: 'all', idempotencyKey: 'm1:2', payload: { body: 'three' } })
      t.match(fourth, { idempotencyKey: 'm1:3', createdProspect: false })
      t.equal(fourth?.['prospectId'], first?.['prospectId'])

      const retry = await deliver(hook, JSON.stringify({ id: 'm1', kind: 'all', items, attempt: 2 }))
      t.strictSame(retry.json, { prospectLogIds, replayed: true })
    })

    t.test('elements are replayed even if the key of the body is as long as a key may be', async (t) => {
      const { create, deliver } = await openHooks(t, kind)
      const hook = await create({ each: '/items', map: MAP })
      const body = JSON.stringify({ id: 'x'.repeat(254), items: [{}, {}] })
      const first = await deliver(hook, body)
      const second = await deliver(hook, body)
      t.strictSame(second.json, { prospectLogIds: first.json.prospectLogIds, replayed: true })
    })

    t.test('`*` in each stands for every element, whose inner lists hold the activities', async (t) => {
      const { create, deliver, logs } = await openHooks(t, kind)
      const map = {
        type: ['/field', '/object'],
        name: ['/value/name'],
        occurredAt: ['/time'],
        idempotencyKey: ['/id'],
      }
      const activities = async (each: string, body: unknown) => {
        const before = (await logs()).length
        const hook = await create({ each, map, source: each + before })
        const text = JSON.stringify(body)
        const { json } = await deliver(hook, text)
        t.strictSame((await deliver(hook, text)).json.prospectLogIds, json.prospectLogIds, 'a retry')
        const all = (await logs()).slice(0, -before || undefined).toReversed()
        return all.map(({ type, name, idempotencyKey, occurredAt }) => [
          type,
          name,
          idempotencyKey,
          occurredAt,
        ])
      }
      const time = NOW / 1_000 - 60
      const at = '2026-11-20T09:59:00.000Z'
      const change = (field: string, name: string) => ({ field, value: { name } })
      const entry = [
        { id: 'e1', time, changes: [change('leadgen', 'Ada'), change('feed', 'Bob')] },
        { id: 'e2', time, messaging: [{}] },
        { id: 'e3', changes: [] },
        { id: 'e4', changes: [{ ...change('leadgen', 'Eve'), id: 'c1' }] },
      ]
      t.strictSame(await activities('/entry/*/changes', { object: 'page', entry }), [
        ['leadgen', 'Ada', 'e1:0', at],
        ['feed', 'Bob', 'e1:1', at],
        ['page', null, 'e2', at],
        ['leadgen', 'Eve', 'c1', NOW_TEXT],
      ])
      const rooms = [{ id: 'r', rows: [[{ field: 'a', id: 'x' }], [{ field: 'b', id: 'y' }]] }]
      t.strictSame(
        (await activities('/*/rows/*', rooms)).map(([type, , key]) => [type, key]),
        [
          ['a', 'x'],
          ['b', 'y'],
        ],
      )
      const inText = { data: JSON.stringify([{ in: JSON.stringify([{ field: 'c', id: 'z' }]) }]) }
      t.strictSame(
        (await activities('/data/*/in', inText)).map(([type]) => type),
        ['c'],
      )
      t.strictSame(
        (await activities('/none/*/in', { field: 'd', id: 'w' })).map(([type]) => type),
        ['d'],
      )
    })

    t.test('up to 10,000 elements are activities; more, or no array, are one', async (t) => {
      const { create, deliver } = await openHooks(t, kind)
      const hook = await create({ each: '/items', map: MAP })
      const activitiesIn = async (body: string) => (await deliver(hook, body)).json.prospectLogIds?.length
      const bodyOf = (elements: number) =>
        JSON.stringify({ items: Array.from({ length: elements }, () => ({})) })
      t.equal(await activitiesIn(bodyOf(ELEMENTS_MAX)), ELEMENTS_MAX)
      t.equal(await activitiesIn(bodyOf(ELEMENTS_MAX + 1)), ELEMENTS_MAX + 1)
      t.equal(await activitiesIn(bodyOf(10_001)), 1)
      t.equal(await activitiesIn(bodyOf(0)), 0)
      t.equal(await activitiesIn('[]'), 0)
      t.equal(await activitiesIn('{"items":{"0":1}}'), 1)
      t.equal(await activitiesIn('text'), 1)
    })

    t.test(
      'a text of the body that is too long for its elements counts as missing, at no cost',
      async (t) => {
        const { create, deliver, logs } = await openHooks(t, kind)
        const places = ['/email', '/short', '/email', '/email']
        const hook = await create({
          each: '/items',
          map: { email: places, name: places, idempotencyKey: ['sha256'] },
        })
        const items = Array.from({ length: ELEMENTS_MAX }, () => ({}))
        const body = { email: 'é'.repeat(400_000), short: 'ada', items }
        const { status, json } = await deliver(hook, JSON.stringify(body))
        t.equal(status, 200)
        t.equal(json.prospectLogIds?.length, ELEMENTS_MAX)
        for (const log of await logs()) t.match(log, { email: 'ada', name: 'ada' })
      },
    )
  },
  ['memory', 'sqlite', 'postgres', 'citus'],
)
