import t from 'tap'
import { screenOf } from '../../src/cli/screen.ts'

const TERMINAL = { isTTY: true, columns: 100 }
const ESCAPE = '\u001b'

const isColoured = (stream: object, env: Record<string, string>) =>
  screenOf(stream, env).paint('bold', 'text').includes(ESCAPE)

t.test('colours are for terminals, unless they are not wanted or cannot be shown', async (t) => {
  const cases: readonly [object, Record<string, string>, boolean, string][] = [
    [TERMINAL, {}, true, 'a terminal'],
    [{}, {}, false, 'a pipe'],
    [TERMINAL, { NO_COLOR: '1' }, false, 'not wanted'],
    [TERMINAL, { NO_COLOR: 'false' }, false, 'not wanted, whatever the text'],
    [TERMINAL, { NO_COLOR: '' }, true, 'an empty NO_COLOR is none'],
    [TERMINAL, { TERM: 'dumb' }, false, 'a terminal that shows none'],
    [TERMINAL, { TERM: 'xterm' }, true, 'one that does'],
    [{}, { FORCE_COLOR: '1' }, true, 'forced on a pipe'],
    [{}, { FORCE_COLOR: '' }, true, 'forced by an empty text'],
    [TERMINAL, { FORCE_COLOR: '0' }, false, 'forced off'],
    [TERMINAL, { FORCE_COLOR: '1', NO_COLOR: '1' }, true, 'what is forced counts more'],
  ]
  for (const [stream, env, wanted, why] of cases) t.equal(isColoured(stream, env), wanted, why)
})

t.test('a pipe is as wide as one likes; a terminal as it says, 80 if it does not', async (t) => {
  t.equal(screenOf({}, {}).width, Number.POSITIVE_INFINITY)
  t.equal(screenOf(TERMINAL, {}).width, 100)
  t.equal(screenOf({ isTTY: true, columns: 0 }, {}).width, 80)
  t.equal(screenOf({ isTTY: true, columns: 3 }, {}).width, 20)
})

t.test('lines are written over on terminals that can', async (t) => {
  t.equal(screenOf(TERMINAL, {}).canRewrite, true)
  t.equal(screenOf(TERMINAL, { TERM: 'dumb' }).canRewrite, false)
  t.equal(screenOf({}, { FORCE_COLOR: '1' }).canRewrite, false)
})
