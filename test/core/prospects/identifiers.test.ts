import t from 'tap'
import { matchableEmail } from '../../../src/core/prospects/identifiers.ts'

const hashOf = (email: string) => matchableEmail(email)?.emailHash

t.test('an email is kept trimmed, in lower case and composed', async (t) => {
  t.equal(matchableEmail(' \tAda@Example.COM\u00a0')?.email, 'ada@example.com')
  t.equal(matchableEmail('ZOE\u0308@example.com')?.email, 'zo\u00eb@example.com')
})

t.test('its hash is the same for all its spellings, and another for another email', async (t) => {
  t.equal(hashOf('ada@example.com'), hashOf(' ADA@EXAMPLE.COM '))
  t.equal(hashOf('zo\u00eb@example.com'), hashOf('zoe\u0308@example.com'))
  t.not(hashOf('ada@example.com'), hashOf('ada@example.co'))
  t.equal(hashOf('a'.repeat(10_000))?.length, 43)
})

t.test('no email, a blank one and what upstream systems send for none match nobody', async (t) => {
  const junk = [
    'null',
    'undefined',
    'none',
    'n/a',
    'anonymous',
    'unknown',
    '-1',
    '0',
    '0000',
    '-',
    '---',
    '0-0',
  ]
  for (const email of [undefined, '', ' \t\n', ...junk]) t.equal(matchableEmail(email), null, String(email))
  for (const email of junk)
    t.equal(matchableEmail(` ${email.toUpperCase()} `), null, `spelled otherwise: ${email}`)
})

t.test('any other text is an email', async (t) => {
  for (const email of ['a', 'nobody', 'null@example.com', '-1@example.com', '00100', '-0.', 'n/a?', '😀'])
    t.equal(matchableEmail(email)?.email, email)
})

t.test('a long run of combining marks is matched as it stands', async (t) => {
  const email = `Z${'\u0301\u0323'.repeat(100_000)}`
  t.equal(matchableEmail(` ${email}`)?.email, email.toLowerCase(), 'not composed: that takes half a minute')
})

t.test('a long email is composed like a short one', async (t) => {
  const domain = `@${'a'.repeat(10_000)}.example`
  t.equal(hashOf(`zo\u00eb${domain}`), hashOf(`ZOE\u0308${domain}`))
})
