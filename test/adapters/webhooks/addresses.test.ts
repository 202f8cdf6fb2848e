import type { LookupAddress } from 'node:dns'
import t from 'tap'
import { createAddresses } from '../../../src/adapters/webhooks/addresses.ts'

/** One address of each refused range, mostly its last or first. */
const REFUSED_V4 = [
  ...['0.0.0.0', '10.255.255.255', '100.64.0.1', '100.127.255.255', '127.0.0.1', '127.255.255.254'],
  ...['168.63.129.16', '169.254.169.254', '172.16.0.1', '172.31.255.255', '192.0.0.8', '192.0.2.1'],
  ...['192.88.99.1', '192.168.255.1', '198.18.0.1', '198.19.255.255', '198.51.100.7', '203.0.113.9'],
  ...['224.0.0.1', '239.255.255.255', '240.0.0.1', '255.255.255.255'],
]
const REFUSED_V6 = [
  ...['::', '::1', '::7f00:1', '::ffff:0:7f00:1', '64:ff9b::7f00:1', '64:ff9b:1::1', '100::1', '2001::1'],
  ...['2001:1ff::1', '2001:db8::1', '2002:7f00:1::', '3fff::1', '5f00::1', 'fc00::1', 'fdff::1', 'fe80::1'],
  ...['febf::1', 'fec0::1', 'ff02::1'],
]
const PUBLIC = ['9.255.255.255', '11.0.0.1', '100.128.0.1', '128.0.0.1', '172.32.0.1', '223.255.255.1']
const PUBLIC_V6 = ['2606:4700::1111', '2a00:1450::1', '2003::1']
const literal = (address: string) => `https://${address.includes(':') ? `[${address}]` : address}/hook`
const SETTINGS = /allowedHosts or allowedNetworks/

/** The result of looking up a host with these addresses for this protocol. */
const lookUp = (
  addresses: readonly string[],
  settings: Parameters<typeof createAddresses>[0] = {},
  { protocol = 'https:', hostname = 'hooks.example', all = true } = {},
): Promise<string | readonly string[]> => {
  const found = addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }))
  const lookup = ((_host: string, _options: object, done: (error: null, found: LookupAddress[]) => void) =>
    done(null, found)) as never
  return new Promise((resolve) => {
    createAddresses({ ...settings, lookup }).lookupFor(protocol)(hostname, { all }, (error, answer) => {
      if (error) resolve(error.message)
      else resolve(Array.isArray(answer) ? answer.map(({ address }) => address) : [String(answer)])
    })
  })
}

t.test(
  'an address that is not public is refused: literally, as the address of a host, and mapped',
  async (t) => {
    const { checkUrl } = createAddresses({})
    const mapped = REFUSED_V4.map((address) => `::ffff:${address}`)
    for (const address of [...REFUSED_V4, ...REFUSED_V6, ...mapped]) {
      t.match(checkUrl(literal(address)), SETTINGS, address)
      t.match(await lookUp([address]), SETTINGS, `a host with ${address}`)
    }
  },
)

t.test('a public one is not', async (t) => {
  const { checkUrl } = createAddresses({})
  const mapped = PUBLIC.map((address) => `::ffff:${address}`)
  for (const address of [...PUBLIC, ...PUBLIC_V6, ...mapped]) {
    t.equal(checkUrl(literal(address)), null, address)
    t.strictSame(await lookUp([address]), [address])
  }
})

t.test('spellings that a URL parser reads as such an address are refused', async (t) => {
  const { checkUrl } = createAddresses({})
  const spellings = [
    '0x7f.1',
    '2130706433',
    '0177.0.0.1',
    '127.1',
    '0',
    '[::ffff:127.0.0.1]',
    '[::ffff:7f00:1]',
  ]
  for (const host of [...spellings, '[0:0:0:0:0:0:0:1]', '%31%32%37.0.0.1', '１２７.0.0.1', '127。0。0。1'])
    t.match(checkUrl(`https://${host}/hook`), SETTINGS, host)
})

t.test('one refused address of several refuses the host; a zone hides none', async (t) => {
  t.match(await lookUp(['11.0.0.1', '10.0.0.1']), SETTINGS)
  t.match(await lookUp(['fe80::1%eth0']), SETTINGS)
  t.match(await lookUp([]), SETTINGS)
})

t.test('a connection that wants one address gets one', async (t) => {
  t.strictSame(await lookUp(['11.0.0.1', '11.0.0.2'], {}, { all: false }), ['11.0.0.1'])
})

t.test('an error of the look-up is passed on', async (t) => {
  const lookup = ((_: string, __: object, done: (error: Error) => void) =>
    done(new Error('ENOTFOUND'))) as never
  const error = await new Promise((resolve) =>
    createAddresses({ lookup }).lookupFor('https:')('hooks.example', { all: true }, resolve),
  )
  t.match(error, { message: 'ENOTFOUND' })
})

t.test('allowed networks and hosts may be called, also by http:', async (t) => {
  const settings = {
    allowedNetworks: ['10.1.0.0/16', 'fd00::/8'],
    allowedHosts: ['Hooks.Internal', '192.168.1.5'],
  }
  const { checkUrl } = createAddresses(settings)
  for (const protocol of ['http:', 'https:']) {
    for (const host of [
      '10.1.2.3',
      '[::ffff:10.1.2.3]',
      '[fd12::1]',
      'hooks.internal',
      'HOOKS.internal',
      '192.168.1.5',
    ])
      t.equal(checkUrl(`${protocol}//${host}:9000/hook`), null, `${protocol} ${host}`)
    t.strictSame(await lookUp(['10.1.2.3'], settings, { protocol }), ['10.1.2.3'])
    t.strictSame(await lookUp(['127.0.0.1'], settings, { protocol, hostname: 'hooks.internal' }), [
      '127.0.0.1',
    ])
    t.match(await lookUp(['10.2.0.1'], settings, { protocol }), SETTINGS)
    t.match(checkUrl(`${protocol}//10.2.0.1`), SETTINGS)
  }
  t.match(await lookUp(['11.0.0.1'], settings, { protocol: 'http:' }), SETTINGS, 'public ones only by https:')
})

t.test('a URL must be https: without credentials, and not too long', async (t) => {
  const { checkUrl } = createAddresses({})
  t.match(checkUrl('http://example.com/hook'), SETTINGS)
  for (const url of ['ftp://example.com', 'file:///etc/passwd', 'data:,x', 'javascript:alert(1)'])
    t.equal(checkUrl(url), 'must be an https: URL')
  t.equal(checkUrl('https://ada:secret@example.com'), 'must not have a user name or password')
  t.equal(checkUrl('https://ada@example.com'), 'must not have a user name or password')
  t.equal(checkUrl('nowhere'), 'must be a URL')
  t.equal(checkUrl('https://'), 'must be a URL')
  t.equal(checkUrl(`https://example.com/${'x'.repeat(2_028)}`), null)
  t.equal(checkUrl(`https://example.com/${'x'.repeat(2_029)}`), 'must have at most 2048 characters')
})

t.test('a URL with {{ is refused, however it is written, for only bodies are templates', (t) => {
  const { checkUrl } = createAddresses({ allowedHosts: ['hooks.internal'] })
  const refusal = 'must not contain {{: only the body is filled in'
  for (const url of [
    'https://example.com/{{/data/prospectId}}',
    'https://example.com/?id={{id}}',
    'https://{{host}}/',
    'https://example.com/%7B%7bid%7D%7D',
    'http://hooks.internal/{%7Bid}}',
  ])
    t.equal(checkUrl(url), refusal, url)
  t.equal(checkUrl('https://example.com/{id}/{a{b'), null, 'a single brace is a character like others')
  t.end()
})

t.test('a URL with the port 0 is refused, even of a host that is allowed', (t) => {
  const { checkUrl } = createAddresses({ allowedHosts: ['hooks.internal'] })
  for (const url of ['https://example.com:0', 'https://example.com:00000/hook', 'http://hooks.internal:0/'])
    t.equal(checkUrl(url), 'must not have the port 0', url)
  t.equal(checkUrl('https://example.com:8443'), null)
  t.end()
})

t.test('answers are kept of public addresses that no setting allows, unless none are', async (t) => {
  const kept = (settings: object, url: string, address: string) =>
    createAddresses(settings).mayKeep(new URL(url), address)
  const url = 'https://hooks.example/x'
  const local = { allowedNetworks: ['10.0.0.0/8', '2600::/16'] }
  for (const address of ['8.8.8.8', '2600::1']) t.ok(kept({}, url, address))
  for (const address of ['10.0.0.1', '127.0.0.1', '::1', '::ffff:10.0.0.1', '169.254.169.254'])
    for (const settings of [{}, local]) t.notOk(kept(settings, url, address), address)
  t.notOk(kept(local, url, '2600::1'), 'allowed by a network')
  t.notOk(kept({ allowedHosts: ['hooks.example'] }, url, '8.8.8.8'), 'allowed by name')
  t.notOk(kept({ allowedHosts: ['2600::1'] }, 'https://[2600::1]', '2600::1'))
  t.notOk(kept({ answers: false }, url, '8.8.8.8'))
})
