import t from 'tap'
import {
  apiKeyHashOf,
  apiKeyStart,
  isApiKeyText,
  newApiKeyText,
} from '../../../src/core/tenants/api-key-text.ts'

/** A key that customers already hold: the format must never change. */
const KEY = 'pp_0123456789ABCDEFGHIJKLMNOPQRST4PMbyp'

t.test('a key is pp_, thirty random characters and six check characters', async (t) => {
  const keys = Array.from({ length: 100 }, newApiKeyText)
  for (const key of keys) t.match(key, /^pp_[0-9A-Za-z]{36}$/)
  t.equal(new Set(keys.map((key) => key.slice(3, 33))).size, 100)
  t.ok(keys.every(isApiKeyText))
})

t.test('a key that was issued long ago is still valid', async (t) => {
  t.equal(isApiKeyText(KEY), true)
})

t.test('a key with one wrong character, or with two swapped, is invalid', async (t) => {
  for (let i = 0; i < KEY.length; i++) {
    const wrong = KEY[i] === 'x' ? 'y' : 'x'
    t.equal(isApiKeyText(KEY.slice(0, i) + wrong + KEY.slice(i + 1)), false, `at ${i}`)
  }
  t.equal(isApiKeyText(KEY.replace('01', '10')), false)
})

t.test('a key with anything added or missing is invalid', async (t) => {
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

t.test('a key is stored as its SHA-256 and its first characters', async (t) => {
  t.equal(apiKeyHashOf(KEY), 'HPnxVN8z3maWVPWsiI2RaLOec86_lhh7gkVqEkzR3OI')
  t.equal(apiKeyStart(KEY), 'pp_01234')
})
