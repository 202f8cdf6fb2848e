import t from 'tap'
import {
  apiKeyHashOf,
  apiKeyStart,
  isApiKeyText,
  newApiKeyText,
} from '../../../src/core/tenants/api-key-text.ts'

/** Made once by the rule that the keys in people's hands follow. */
const KEY = 'pp_0123456789ABCDEFGHIJKLMNOPQRST4PMbyp'

t.test('a key is pp_, thirty random characters and six that check them', async (t) => {
  const keys = Array.from({ length: 100 }, newApiKeyText)
  for (const key of keys) t.match(key, /^pp_[0-9A-Za-z]{36}$/)
  t.equal(new Set(keys.map((key) => key.slice(3, 33))).size, 100)
  t.ok(keys.every(isApiKeyText))
})

t.test('a key that was issued long ago is still a key', async (t) => {
  t.equal(isApiKeyText(KEY), true)
})

t.test('one wrong character anywhere, or two that changed places, is no key', async (t) => {
  for (let i = 0; i < KEY.length; i++) {
    const wrong = KEY[i] === 'x' ? 'y' : 'x'
    t.equal(isApiKeyText(KEY.slice(0, i) + wrong + KEY.slice(i + 1)), false, `at ${i}`)
  }
  t.equal(isApiKeyText(KEY.replace('01', '10')), false)
})

t.test('anything around a key, or missing from it, makes it no key', async (t) => {
  for (const text of [
    '',
    'pp_',
    KEY.slice(0, -1),
    `${KEY}0`,
    ` ${KEY}`,
    `${KEY}\n`,
    KEY.slice(3),
    KEY.replace('pp', 'PP'),
  ])
    t.equal(isApiKeyText(text), false, JSON.stringify(text))
})

t.test('what is kept of a key is its SHA-256 and its first characters', async (t) => {
  t.equal(apiKeyHashOf(KEY), 'HPnxVN8z3maWVPWsiI2RaLOec86_lhh7gkVqEkzR3OI')
  t.equal(apiKeyStart(KEY), 'pp_01234')
})
