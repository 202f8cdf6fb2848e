import { setTimeout as pause } from 'node:timers/promises'

const EVERY_MS = 20

/** Asks /healthz now and then while `work` runs; answers how late the latest answer came. */
export const healthDuring = async <Answer>(
  url: () => string,
  work: () => Promise<Answer>,
): Promise<{ readonly answer: Answer; readonly healthMsMax: number }> => {
  let isOver = false
  let healthMsMax = 0
  const ask = async () => {
    while (!isOver) {
      const began = performance.now()
      const response = await fetch(`${url()}/healthz`)
      await response.arrayBuffer()
      healthMsMax = Math.max(healthMsMax, performance.now() - began)
      await pause(EVERY_MS)
    }
  }
  const asking = ask().catch(() => {
    healthMsMax = Number.POSITIVE_INFINITY
  })
  try {
    const answer = await work()
    return { answer, healthMsMax }
  } finally {
    isOver = true
    await asking
  }
}
