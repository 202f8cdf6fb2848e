import { createHash } from 'node:crypto'
import fc from 'fast-check'
import t from 'tap'
import { identifiersOf } from '../../../src/core/prospects/identifiers.ts'
import { isNobodysAddress } from '../../../src/core/prospects/placeholders.ts'

const emailOf = (email?: string) => identifiersOf({ email }).email?.value ?? null
const externalIdOf = (externalId?: string) => identifiersOf({ externalId }).externalId?.value ?? null
const hashOf = (text: string) => createHash('sha256').update(text).digest('base64url')

t.test('an address is kept trimmed, in lower case and composed, with its domain in ASCII', async (t) => {
  for (const [sent, email] of [
    [' \tAda@Example.COM\u00a0', 'ada@example.com'],
    ['ZOE\u0308@example.com', 'zo\u00eb@example.com'],
    ['info@M\u00dcNCHEN.example', 'info@xn--mnchen-3ya.example'],
    ['info@xn--mnchen-3ya.example', 'info@xn--mnchen-3ya.example'],
    ['x@\u4f8b\u3048\u3002jp', 'x@xn--r8jz45g.jp'],
    ['ada@example.com.', 'ada@example.com'],
    ['a+b%c@sub.example', 'a+b%c@sub.example'],
    ['null@example.com', 'null@example.com'],
    ['a@b', 'a@b'],
  ] as const)
    t.equal(emailOf(sent), email, sent)
})

/** The two sides of an address that may be somebody's: `a@a.aa` is not. */
const address = fc
  .tuple(
    fc.stringMatching(/^[a-z][a-z0-9.+_-]{0,20}$/),
    fc.stringMatching(/^[a-z0-9]{1,9}(\.[a-z]{2,5}){1,2}$/),
  )
  .filter(([local, domain]) => !isNobodysAddress(local, domain))
/** How people, forms and mail programs write one address. */
const spellings: readonly ((address: string) => string)[] = [
  (a) => a.toUpperCase(),
  (a) => `\u00a0 ${a}\r\n`,
  (a) => `<${a}>`,
  (a) => `Ada Lovelace <${a}>`,
  (a) => `"Lovelace, Ada" < ${a} >`,
  (a) => `mailto:${a}`,
  (a) => `mailto: ${a}`,
  (a) => `mailto:${a.replace('@', '%40')}%E2%80%8B`,
  (a) => `'${a}'`,
  (a) => `'Ada' <'${a}'>,`,
  (a) => `\u201c${a}\u201d;`,
  (a) => `${a} (Ada Lovelace)`,
  (a) => `<MAILTO:${a.replace('+', '%2B')}?subject=Hello%20you>`,
  (a) => `${a}\u200b`,
  (a) => `\u2068${a}\u2069`,
  (a) => a.replace('@', '\u00ad@\u200c'),
  (a) => `\u200e ${[...a].join('\ufe0f')}`,
]

t.test('however it is written, an address is one prospect, and another address another one', async (t) => {
  fc.assert(
    fc.property(
      address,
      fc.constantFrom(...spellings),
      fc.constantFrom(...spellings),
      ([local, domain], spell, respell) => {
        const plain = `${local}@${domain}`
        t.equal(emailOf(spell(plain)), plain)
        t.equal(emailOf(respell(spell(plain).trim())) ?? plain, plain)
        t.not(emailOf(spell(`x${plain}`)), plain)
      },
    ),
  )
})

t.test('domains that differ by a joiner are two people, each also by its name in ASCII', async (t) => {
  const domains = [
    ['نامه\u200cای.com', 'xn--mgba3gch31f060k.com'],
    ['نامهای.com', 'xn--mgba3gch31f.com'],
    ['क्\u200dष.com', 'xn--11b2ezcw70k.com'],
    ['क्ष.com', 'xn--11b2ezc.com'],
  ]
  for (const [domain = '', ascii = ''] of domains) {
    t.equal(emailOf(`ada@${domain}`), `ada@${ascii}`)
    t.equal(emailOf(`ada@${ascii}`), `ada@${ascii}`)
  }
  for (const text of [
    'ada@exam\u200dple.com',
    '\u200cada@example.com\u200d',
    '"a\u200dda@example.com"\u200c',
  ])
    t.equal(emailOf(text), 'ada@example.com', 'anywhere else it is invisible')
})

t.test('a prospect is found again by the stored form of its email', async (t) => {
  fc.assert(
    fc.property(
      fc.tuple(fc.string({ unit: 'binary' }), fc.string({ unit: 'grapheme' })),
      ([local, domain]) => {
        const email = emailOf(`${local}@${domain}`)
        if (email !== null) t.equal(emailOf(email), email, JSON.stringify([local, domain]))
      },
    ),
  )
})

/** Leftovers of templates and programs. The rest of a text can be anything. */
const leftovers = (rest: string) => [
  `{{${rest}}}`,
  `\${${rest}}`,
  `#{${rest}}`,
  `<%= ${rest} %>`,
  `*|${rest}|*`,
  `%${rest}%`,
  `[${rest}]`,
  `[object ${rest}]`,
]
const PLACEHOLDERS =
  `null undefined none nil nan n/a #N/A anonymous unknown guest test true false -1 0 0000 - --- 0-0 (null)
  <null> string n.a. (none) #SPILL! #ERROR! {1} $userId %s "" ??? *** 00000000-0000-0000-0000-000000000000 {user_id} #REF! \\N`.split(
    /\s+/,
  )

t.test('a placeholder identifies no prospect, whatever its case and blanks', async (t) => {
  for (const word of [...PLACEHOLDERS, '(not set)', 'not set', '[object Object]', '', ' ', '\u200b'])
    for (const sent of [word, ` ${word.toUpperCase()}\t`, [...word].join(' ')])
      t.equal(externalIdOf(sent), null, JSON.stringify(sent))
  fc.assert(
    fc.property(fc.string(), (rest) => {
      for (const sent of leftovers(rest)) t.equal(externalIdOf(sent), null, sent)
    }),
  )
})

t.test('any other id is compared exactly', async (t) => {
  for (const id of [
    '1',
    ' 1',
    '00100',
    '-2',
    'a',
    'A',
    'crm-7',
    'nullify',
    'tester',
    '{3F2504E0-4F89-11D3-9A0C-0305E82C3301}',
    '\u{1f98a}',
    'a%b%c',
    '\u65e5\u672c',
  ])
    t.strictSame(identifiersOf({ externalId: id }), {
      email: null,
      externalId: { value: id, hash: hashOf(id) },
    })
})

t.test('a text that is not an address identifies no prospect', async (t) => {
  for (const sent of [
    ...PLACEHOLDERS,
    'Berlin',
    '@',
    'a@',
    '@b',
    'a@@b',
    'a@b@c',
    '-@-',
    'meet me @ home',
    'a@b, c',
    'mailto:',
    '<>',
    '{{first}}@example.com',
    '{first}@example.com',
    'undefined@undefined',
    'null@null',
    'a@b/c',
    'x@[1.2.3.4]',
  ])
    t.equal(emailOf(sent), null, sent)
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), fc.string(), (text, rest) => {
      t.equal(emailOf(text.replaceAll('@', '')), null)
      for (const sent of leftovers(`a@${rest}`)) t.equal(emailOf(sent), null, sent)
    }),
  )
})

t.test('an address has at most 1,000 characters, however many come on top', async (t) => {
  const longest = `${'a'.repeat(988)}@example.com`
  t.equal(emailOf(`<${longest}>\u200b`), longest)
  t.equal(emailOf(`a${longest}`), null)
  t.equal(emailOf(`${'\u{1f98a}'.repeat(988)}@example.com`)?.length, 2 * 988 + 12)
  t.equal(
    emailOf(`Z${'\u0301\u0323'.repeat(100_000)}@example.com`),
    null,
    'composing them takes half a minute',
  )
  const han = Array.from({ length: 900 }, (_, i) => String.fromCodePoint(0x4e00 + i)).join('')
  t.equal(emailOf(`a@${han}`), null, 'a thousand such domains take seconds')
})

t.test('the hash of an email is that of its normalized form', async (t) => {
  for (const email of [' MAILTO:Ada@Example.com', 'ada@example.com', 'Ada <ada@example.com>'])
    t.equal(identifiersOf({ email }).email?.hash, hashOf('ada@example.com'), email)
})

t.test('an address is found in what surrounds it, and the first of several counts', async (t) => {
  for (const text of [
    '"ada"@example.com',
    "'ada'@example.com",
    '"ada"@example.com;',
    'ａｄａ@example.com',
    'ＡＤＡ＠ＥＸＡＭＰＬＥ．ＣＯＭ',
    'ada%40example.com',
    '%3Cada%40example.com%3E',
    'ada&#64;example.com',
    'ada&commat;example&period;com',
    '&lt;ada@example.com&gt;',
    '&nbsp;ada@example.com&nbsp;',
    'E-Mail: ada@example.com',
    'e-mail:ada@example.com',
    'Email address: <ada@example.com>',
    'Correo electrónico: ada@example.com',
    'メールアドレス：ada@example.com',
    'SMTP:ada@example.com',
    'Kontakt: Ada Lovelace <ada@example.com>',
    'E-Mail: mailto:ada@example.com',
    'Ada <ada@example.com',
    'ada@example.com, bob@example.com',
    'ada@example.com,bob@example.com',
    'ada@example.com;bob@example.com;',
    'ada@example.com ::: bob@example.com',
    'ada@example.com | bob@example.com',
    'ada@example.com/bob@example.com',
    'ada@example.com bob@example.com',
    'ada@example.com\nbob@example.com',
    'ada@example.com or bob@example.com',
    'Ada <ada@example.com>, Bob <bob@example.com>',
    '"Lovelace, Ada" <ada@example.com>; bob@example.com',
    'ada%40example.com%2Cbob%40example.com',
    '<mailto:ada@example.com|ada@example.com>',
    '"ada@work.example" <ada@example.com>',
    'mailto:ada@example.com,bob@example.com',
    'E-Mail: ada@example.com, bob@example.com',
  ])
    t.equal(emailOf(text), 'ada@example.com', text)
  t.equal(emailOf('o&#39;neil@example.com'), "o'neil@example.com")
  t.equal(emailOf('ada%2Bnews%40example.com'), 'ada+news@example.com')
  for (const text of [
    'user:word@example.com',
    'https://user@example.com',
    'see: ada',
    'ada%2540example.com',
    'ada&amp;#64;example.com',
    'a@b@c, d@e',
    'meet me @ home, or @ work',
  ])
    t.equal(emailOf(text), null, text)
})
