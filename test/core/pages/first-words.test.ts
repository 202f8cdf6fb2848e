import t from 'tap'
import { firstWords, nameInGroup, oneLine } from '../../../src/core/pages/first-words.ts'

const builtIn = (context: string | null, groupTitle: string, number: number | null) =>
  firstWords(context) || nameInGroup(groupTitle, number)

t.test('a page is named by the first eight words of its context', async (t) => {
  const context = '  A page about\nthe spring sale of 2026, with prices and dates '
  t.equal(builtIn(context, 'Offers', 3), 'A page about the spring sale of 2026,')
})

t.test('a page without a context is named by its group and its number there', async (t) => {
  t.equal(builtIn(null, 'Offers', 3), 'Offers 3')
  t.equal(builtIn(' \n\t', 'Offers', 4), 'Offers 4')
})

t.test('a name is one line of at most 120 characters, without quotes around it', async (t) => {
  t.equal(oneLine('"Spring\n\u0000 sale"  '), 'Spring sale')
  t.equal([...oneLine('😀'.repeat(500))].length, 120)
})

t.test('a page always has a name, whatever its context and its group are called', async (t) => {
  for (const context of ['', '""', '\u200b\u0000', ' '.repeat(5_000)])
    t.equal(builtIn(context, 'Offers', 3), 'Offers 3')
  t.equal(builtIn(null, ' \u200b', 3), '3')
  t.equal(builtIn(null, 'Offers', null), 'Offers', 'of a page from before numbers were stored')
  t.equal(builtIn(null, ' \u200b', null), 'Page')
})

t.test('a name holds no half of a surrogate pair', async (t) => {
  t.equal(builtIn(`A${' '.repeat(3_998)}😀`, 'Offers', 3), 'A', 'where a long context is cut')
  t.equal(oneLine(`A${'😀'.repeat(200)}`), `A${'😀'.repeat(119)}`, 'where a long name is cut')
  t.equal(oneLine('Spring \ud83d'), 'Spring', 'where the namer answered one')
})

t.test('quotes at both ends are removed, others stay', async (t) => {
  t.equal(oneLine('«"Spring" sale»'), 'Spring" sale')
  t.equal(oneLine(`'" Spring sale`), `'" Spring sale`)
  t.equal(oneLine('Spring “sale”'), 'Spring “sale”')
  t.equal(oneLine('"'), '"')
  t.equal(oneLine('""'), '')
})

t.test('a context that begins with many quotes keeps them', async (t) => {
  t.equal(builtIn(`${'"'.repeat(3_999)}x`, 'Offers', 3), '"'.repeat(120))
})
