import { startCrowd } from './crowd.ts'

/** A crowd in a separate process, so that its work delays no measurement. Each caller sends these in turn. */
export type CrowdOrder = {
  readonly url: string
  readonly callers: number
  readonly texts: readonly string[]
}

// Nothing else would end it if the test is killed.
process.once('disconnect', () => process.exit())
process.once('message', ({ url, callers, texts }: CrowdOrder) => {
  let asked = 0
  const crowd = startCrowd(url, { callers, request: () => texts[asked++ % texts.length] ?? '' })
  process.once('message', async () => {
    crowd.hangUp()
    process.send?.([...crowd.tally.statuses], () => process.exit())
  })
})
