import fc from 'fast-check'
import t from 'tap'
import { harmless, inPairs, padded, widthOf, wrapped } from '../../src/cli/layout.ts'

t.test('a width counts columns of a terminal, not characters', async (t) => {
  const widths: readonly [string, number][] = [
    ['', 0],
    ['plain', 5],
    ['größe', 5],
    ['gro\u0308\u00dfe', 5],
    ['日本語', 6],
    ['한국', 4],
    ['ﾊﾝｶｸ', 4],
    ['👍', 2],
    ['👩‍👩‍👧', 2],
    ['🇫🇷', 2],
    ['❤️', 2],
    ['a\u200bb', 2],
  ]
  for (const [text, width] of widths) t.equal(widthOf(text), width, text)
  t.equal(padded('日本', 6), '日本  ')
  t.equal(padded('longer', 3), 'longer')
})

t.test('what would steer a terminal is shown as its code, all else as it is', async (t) => {
  t.equal(harmless('\u001b[31mred\u0007\n'), '\\u001b[31mred\\u0007\\u000a')
  t.equal(harmless('\u202egnp.exe'), '\\u202egnp.exe')
  t.equal(harmless('\u009b2J \ud800'), '\\u009b2J \\ud800')
  t.equal(harmless('Größe 日本語 👩‍👩‍👧'), 'Größe 日本語 👩‍👩‍👧')
})

t.test('text is broken at blanks, a long word where it must be, an id never', async (t) => {
  t.strictSame(wrapped('one two three', 7), ['one two', 'three'])
  t.strictSame(wrapped('日本語日本語', 5), ['日本', '語日', '本語'])
  t.strictSame(wrapped('x'.repeat(45), 20), ['x'.repeat(20), 'x'.repeat(20), 'xxxxx'])
  const id = `pagegroup_${'0'.repeat(26)}`
  t.strictSame(wrapped(`group ${id}`, 20), ['group', id])
  t.strictSame(wrapped('never broken', Number.POSITIVE_INFINITY), ['never broken'])
})

t.test('two sides stand beside each other where there is room, else below', async (t) => {
  const pairs = [
    ['name', 'one two three four five six'],
    ['日本', 'x'],
  ] as const
  t.equal(inPairs(pairs, { width: 32 }), 'name  one two three four five\n      six\n日本  x\n')
  t.equal(inPairs(pairs, { width: 29 }), 'name\n  one two three four five six\n日本\n  x\n')
  const id = `tenant_${'0'.repeat(26)}`
  t.equal(inPairs([['id', id]], { width: 36 }), `id\n  ${id}\n`, 'so that an id is whole')
  t.equal(inPairs([['id', id]], { width: 37 }), `id  ${id}\n`)
})

t.test('no line is wider than the terminal, but for an id', async (t) => {
  const text = fc.string({ unit: 'grapheme' }).map(harmless)
  const property = fc.property(
    fc.array(fc.tuple(fc.string({ maxLength: 8 }).map(harmless), text), { maxLength: 4 }),
    fc.integer({ min: 20, max: 200 }),
    (pairs, width) =>
      inPairs(pairs, { width })
        .split('\n')
        .every((line) => widthOf(line) <= width || line.split(' ').some((word) => word.length > 10)),
  )
  t.doesNotThrow(() => fc.assert(property))
})
