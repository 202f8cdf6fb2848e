import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'

const SRC = fileURLToPath(new URL('../src', import.meta.url))

const SECRET = String.raw`\b(?:\w+\.)*(?:apiKey|keyHash|password|secret)\b`
const NOTHING = "(?:undefined|null|'')"
/** What takes the longer the more of two texts is alike, and so tells whoever measures it how much of a guess is right. */
const COMPARISONS = [
  new RegExp(String.raw`${SECRET}\s*[!=]==?(?![=\s]*${NOTHING})\s*[^\s=]`, 'g'),
  new RegExp(String.raw`(?<!${NOTHING}\s*|[!=])[!=]==?\s*${SECRET}(?!\()`, 'g'),
  new RegExp(String.raw`${SECRET}\.(?:startsWith|endsWith|includes|indexOf|localeCompare|match)\(`, 'g'),
]
const comparedIn = (source: string): string[] =>
  COMPARISONS.flatMap((comparison) => [...source.matchAll(comparison)].map(([text]) => text))

t.test('no secret is compared with another: a key is found by its hash', async (t) => {
  for (const file of globSync('**/*.ts', { cwd: SRC }).sort())
    t.strictSame(comparedIn(readFileSync(join(SRC, file), 'utf8')), [], file)
})

t.test('the guard sees what it guards against', async (t) => {
  for (const wrong of [
    'if (apiKey === known) return',
    'if (known !== key.keyHash) return',
    'keys.find(({ keyHash }) => keyHash == given)',
    "if (apiKey.startsWith('pp_x')) return",
    'if (settings.password === given) return',
  ])
    t.ok(comparedIn(wrong).length > 0, wrong)
  for (const right of [
    "if (apiKey === undefined || apiKey === '') return",
    'if (undefined !== apiKey) return',
    'keyIdByHash.get(keyHash)',
    "database.get('select 1 from api_keys where key_hash = ?', keyHash)",
  ])
    t.strictSame(comparedIn(right), [], right)
})
