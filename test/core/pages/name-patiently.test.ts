import t from 'tap'
import { nameFrom, namePatiently, namingFailure, reasonOf } from '../../../src/core/pages/name-patiently.ts'
import { publishVersions } from '../../../src/core/pages/publish-versions.ts'
import type { PageKey } from '../../../src/core/ports/pages.ts'
import type { Namer } from '../../../src/core/ports/versions.ts'
import { START_MS } from '../../support/setting.ts'
import { scene } from '../scene.ts'

const PATIENCE_MS = 10_000
const NEVER_ABORTED = new AbortController().signal
const naming =
  (name: string): Namer =>
  async () =>
    name
const failing: Namer = () => Promise.reject(new Error('no model today'))
const hanging: Namer = () => new Promise(() => {})

const CONTEXT = { groupTitle: 'Offers', pageContext: null, supplementaryContext: null }

type Clock = Awaited<ReturnType<typeof scene>>['clock']

/** A `sleep` on a stopped clock, and `passTime`, which moves the clock whenever the work only waits for sleepers. */
const sleepOn = (clock: Clock) => {
  const sleepers = new Set<{ readonly untilMs: number; readonly wake: () => void }>()
  const sleep = (ms: number, stop: AbortSignal) =>
    new Promise<void>((resolve) => {
      const wake = () => {
        sleepers.delete(sleeper)
        resolve()
      }
      const sleeper = { untilMs: clock() + ms, wake }
      sleepers.add(sleeper)
      stop.addEventListener('abort', wake)
    })
  const passTime = async <Done>(work: Promise<Done>): Promise<Done> => {
    let isDone = false
    const done = work.finally(() => {
      isDone = true
    })
    done.catch(() => {})
    for (;;) {
      await new Promise((resolve) => setImmediate(resolve))
      if (isDone) return done
      const [next] = [...sleepers].sort((a, b) => a.untilMs - b.untilMs)
      if (next !== undefined) clock.advance(next.untilMs - clock())
      next?.wake()
    }
  }
  return { sleep, passTime }
}

/** Pages that wait for a namer, which can be replaced. */
const setUp = async (firstNamer: Namer) => {
  const world = await scene()
  const { clock } = world
  const group = await world.newGroup()
  const { sleep, passTime } = sleepOn(clock)
  let namer = firstNamer
  const calls: number[] = []
  const failures: { readonly why: unknown; readonly retryInMs: number | null }[] = []
  const patientNamer = namePatiently({
    namer: (context, stop) => {
      calls.push(clock() - START_MS)
      return namer(context, stop)
    },
    patienceMs: PATIENCE_MS,
    sleep,
    onFailedAttempt: (_, why, retryInMs) => failures.push({ why, retryInMs }),
  })
  const createPage = async (i: number): Promise<PageKey> =>
    (await world.createPage({ ...group, supplementaryContext: `Page ${i}` })).value
  const nameOf = async (key: PageKey) => {
    const { computedName, publishedVersion } = await world.readPage(key)
    const atMs = publishedVersion && Date.parse(publishedVersion.publishedAt) - START_MS
    return { computedName, atMs }
  }
  return {
    clock,
    /** When the namer was called, in milliseconds since the start. */
    calls,
    failures,
    replaceNamer: (nextNamer: Namer) => {
      namer = nextNamer
    },
    sleep: (ms: number) => passTime(sleep(ms, NEVER_ABORTED)),
    /** Creates pages, publishes them, and returns their names and the times of publishing. */
    publishPages: async (count: number, claimMax = 4, stop = NEVER_ABORTED) => {
      const keys: PageKey[] = []
      for (let i = 0; i < count; i++) keys.push(await createPage(i))
      const step = publishVersions({ ...world, namer: patientNamer, claimMax, leaseMs: 30_000 })
      const publish = async () => {
        while (await step(stop));
      }
      await passTime(publish())
      return Promise.all(keys.map(nameOf))
    },
  }
}

t.test(
  'failed calls are retried after growing pauses, and then the built-in name is published',
  async (t) => {
    const { calls, failures, publishPages } = await setUp(failing)
    t.strictSame(await publishPages(1), [{ computedName: 'Page 0', atMs: 9_375 }])
    t.strictSame(calls, [0, 625, 1_875, 4_375, 9_375])
    t.strictSame(
      failures.map(({ retryInMs }) => retryInMs),
      [625, 1_250, 2_500, 5_000, null],
    )
  },
)

t.test('a namer that recovers in time gives the name', async (t) => {
  const { replaceNamer, calls, publishPages } = await setUp((context, stop) => {
    replaceNamer(naming('Spring Flowers'))
    return failing(context, stop)
  })
  t.strictSame(await publishPages(1), [{ computedName: 'Spring Flowers', atMs: 625 }])
  t.strictSame(calls, [0, 625])
})

t.test('a lasting failure is not retried, and the next version is tried', async (t) => {
  const { calls, publishPages } = await setUp(async () => {
    throw namingFailure('401')
  })
  t.strictSame(await publishPages(1), [{ computedName: 'Page 0', atMs: 0 }])
  await publishPages(2)
  t.strictSame(calls, [0, 0, 0])
})

t.test('a retry waits as long as the failure demands, if the patience lasts that long', async (t) => {
  const demanding =
    (retryAfterMs: number): Namer =>
    async () => {
      throw namingFailure('429', retryAfterMs)
    }
  const short = await setUp(demanding(9_000))
  t.match(await short.publishPages(1), [{ atMs: 9_000 }])
  t.strictSame(short.calls, [0, 9_000])
  const tooLong = await setUp(demanding(PATIENCE_MS))
  t.match(await tooLong.publishPages(1), [{ atMs: 0 }])
})

for (const claimMax of [1, 4])
  t.test(
    `a namer that hangs delays 200 pages by its patience, with ${claimMax} calls at a time`,
    async (t) => {
      const { replaceNamer, calls, clock, failures, publishPages, sleep } = await setUp(hanging)
      const pages = await publishPages(200, claimMax)
      t.strictSame([...new Set(pages.map(({ atMs }) => atMs))], [PATIENCE_MS])
      t.equal(calls.length, claimMax)
      t.match(failures[0], { why: { message: 'no name came within 10000 ms' }, retryInMs: null })
      replaceNamer(naming('Well named'))
      t.match(await publishPages(1), [{ computedName: 'Page 0' }], 'the namer rests')
      await sleep(PATIENCE_MS)
      t.match(await publishPages(1), [{ computedName: 'Well named', atMs: clock() - START_MS }])
    },
  )

t.test('a page that cannot be named does not affect the names of others', async (t) => {
  const { publishPages } = await setUp(async ({ supplementaryContext }) => {
    if (supplementaryContext === 'Page 0') throw new Error('no')
    return 'Well named'
  })
  const names = (await publishPages(20, 2)).map(({ computedName }) => computedName)
  t.strictSame(names, ['Page 0', ...Array(19).fill('Well named')])
  t.match(await publishPages(2), [{ computedName: 'Page 0' }, { computedName: 'Well named' }])
})

t.test('a stop ends a call, and the version stays unpublished', async (t) => {
  const stop = new AbortController()
  const { failures, publishPages } = await setUp(() => {
    queueMicrotask(() => stop.abort())
    return hanging(CONTEXT, NEVER_ABORTED)
  })
  t.match(await publishPages(1, 1, stop.signal), [{ atMs: null }])
  t.strictSame(failures, [])
})

t.test('a stop ends a pause', async (t) => {
  const stop = new AbortController()
  let calls = 0
  const name = namePatiently({
    namer: (context, stop) => {
      calls++
      return failing(context, stop)
    },
    patienceMs: PATIENCE_MS,
    sleep: async (ms) => {
      if (ms === PATIENCE_MS) return new Promise(() => {})
      stop.abort()
    },
  })
  await t.rejects(name(CONTEXT, stop.signal, {} as never), { name: 'AbortError' })
  t.equal(calls, 1)
})

t.test('a listener that throws is printed, and naming continues', async (t) => {
  const printed = t.capture(console, 'error', () => {})
  const name = namePatiently({
    namer: failing,
    patienceMs: 1,
    sleep: () => new Promise(() => {}),
    onFailedAttempt: () => {
      throw new Error('a bug in the listener')
    },
  })
  t.equal(await name(CONTEXT, NEVER_ABORTED, {} as never), null)
  t.equal(printed().length, 1)
})

const NAMES = {
  'Spring sale': 'Spring sale',
  '\n “Spring flowers” \r\n': 'Spring flowers',
  [`"Spring\n\tflowers"\u0000 ${'x'.repeat(500)}`]: `"Spring flowers" ${'x'.repeat(103)}`,
  '<think>hm</think>\n\nSpring sale': 'Spring sale',
  '<think>\n</think>"Spring <think>hm</think>sale"': 'Spring sale',
  'hm, hm</think>Spring sale': 'Spring sale',
  [`<think>${'hm '.repeat(20_000)}</think>Spring sale`]: 'Spring sale',
}
t.test('an answer becomes one clean line, without the thoughts of the model', async (t) => {
  for (const [answer, name] of Object.entries(NAMES)) t.equal(nameFrom(answer), name, answer.slice(0, 80))
})

t.test('an answer without a name is refused, and so are thoughts that do not end', async (t) => {
  const none = ['', ' "" \n', '<think>Spring sale', '<think>hm</think>', '<think>'.repeat(9_000)]
  for (const answer of none) t.throws(() => nameFrom(answer), { message: 'the namer returned no name' })
})

t.test('the reason of a failure includes its cause', async (t) => {
  const because = (cause: object) => reasonOf(new TypeError('fetch failed', { cause }))
  t.equal(because(new Error('connect ECONNREFUSED')), 'fetch failed: connect ECONNREFUSED')
  t.equal(
    because(Object.assign(new AggregateError([]), { code: 'ECONNREFUSED' })),
    'fetch failed: ECONNREFUSED',
  )
  t.equal(reasonOf(new Error('401')), '401')
})
