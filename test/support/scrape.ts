import assert from 'node:assert/strict'

/** A sample of the text format of Prometheus. */
export type Sample = {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

const LINE = /^([a-z0-9_]+)(?:\{(.*)\})? (\S+)$/i
const LABEL = /([a-z_]+)="((?:[^"\\]|\\.)*)"(?:,|$)/gi

/** Every sample of a scrape, and what each name is said to be. */
export const scrapeOf = (text: string) => {
  assert.ok(text.endsWith('\n'))
  const samples: Sample[] = []
  const types = new Map<string, string>()
  for (const line of text.split('\n')) {
    const [, typed, type] = /^# TYPE (\S+) (\S+)$/.exec(line) ?? []
    if (typed !== undefined && type !== undefined) types.set(typed, type)
    if (line === '' || line.startsWith('#')) continue
    const [, name = '', labels = '', value = ''] = LINE.exec(line) ?? assert.fail(line)
    const pairs = [...labels.matchAll(LABEL)].map(([, label = '', text = '']) => [label, text] as const)
    samples.push({ name, labels: Object.fromEntries(pairs), value: Number(value) })
  }
  /** The samples of a name, and of these labels. */
  const all = (name: string, labels: Sample['labels'] = {}) =>
    samples.filter(
      (sample) =>
        sample.name === name &&
        Object.entries(labels).every(([label, text]) => sample.labels[label] === text),
    )
  return {
    samples,
    types,
    all,
    /** The sum of them; undefined where there is none. */
    value: (name: string, labels: Sample['labels'] = {}): number | undefined =>
      all(name, labels).reduce<number | undefined>((sum, { value }) => (sum ?? 0) + value, undefined),
  }
}

/** A new connection, which may reach any worker. */
export const FRESH = { connection: 'close' }

export const scraped = async ({ url }: { readonly url: string }) => {
  const response = await fetch(`${url}/metrics`, { headers: FRESH })
  if (!response.ok) throw new Error(`/metrics answers ${response.status}`)
  return scrapeOf(await response.text())
}
