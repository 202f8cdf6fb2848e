import t from 'tap'
import { watchBusiestKey } from '../../src/compose/busiest-key.ts'

/** A watch whose clock stands still, and the lines that it wrote. */
const setUp = () => {
  let ms = 0
  const lines: object[] = []
  const watch = watchBusiestKey({ report: (facts) => lines.push(facts), nowMs: () => ms })
  const send = (apiKeyId: string, requests: number, admission: 'waited' | 'refused' = 'waited') => {
    for (let i = 0; i < requests; i++) watch.note({ tenantId: `tenant of ${apiKeyId}`, apiKeyId, admission })
  }
  const passMinutes = (minutes: number) => {
    ms += minutes * 60_000
  }
  return { ...watch, lines, send, passMinutes }
}

t.test(
  'the key that sends most of the delayed requests is named once, when the minute is over',
  async (t) => {
    const { send, share, passMinutes, lines } = setUp()
    send('loud', 700)
    send('loud', 200, 'refused')
    send('quiet', 100)
    t.equal(share(), 0, 'the minute is not over')
    t.strictSame(lines, [])
    passMinutes(1)
    t.equal(share(), 0.9)
    t.equal(share(), 0.9)
    t.match(lines, [{ tenantId: 'tenant of loud', apiKeyId: 'loud', waited: 700, refused: 200, share: 0.9 }])
    t.equal(lines.length, 1)
    passMinutes(1)
    t.equal(share(), 0, 'nothing was delayed in the next minute')
  },
)

t.test('a key that only delays its own requests is not named', async (t) => {
  const { send, share, passMinutes, lines } = setUp()
  send('loud', 5_000)
  passMinutes(1)
  t.equal(share(), 0)
  t.strictSame(lines, [])
})

t.test('few delayed requests, or those of several keys, are no flood', async (t) => {
  const { send, share, passMinutes, lines } = setUp()
  send('a', 95)
  send('b', 5)
  passMinutes(1)
  t.equal(share(), 0.95)
  send('a', 500)
  send('b', 500)
  passMinutes(1)
  t.equal(share(), 0.5)
  t.strictSame(lines, [])
})

t.test('a flood that ended long ago is no share', async (t) => {
  const { send, share, passMinutes } = setUp()
  send('a', 900)
  send('b', 100)
  passMinutes(10)
  t.equal(share(), 0)
})

t.test('a hook is told apart from the other hooks of its tenant', async (t) => {
  const { note, send, passMinutes, share, lines } = setUp()
  for (let i = 0; i < 900; i++) note({ tenantId: 'tenant', hookId: 'hook_a', admission: 'waited' })
  note({ tenantId: 'tenant', hookId: 'hook_b', admission: 'waited' })
  send('quiet', 99)
  passMinutes(1)
  t.equal(share(), 0.9)
  t.match(lines, [{ tenantId: 'tenant', hookId: 'hook_a', waited: 900 }])
})
