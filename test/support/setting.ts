import type { Test } from 'tap'

export * from '../store-contract/setting.ts'

type Intercepts = Pick<Test, 'intercept'>
/** Lets time pass for this process until the test ends or `restore` is called; the wall clock alone while the machine sleeps. */
export const passTime = (t: Intercepts, ms: number, isAsleep = false): { restore: () => void } => {
  const dateNow = Date.now
  const performanceNow = performance.now.bind(performance)
  const clocks = [t.intercept(Date, 'now', { value: () => dateNow() + ms })]
  if (!isAsleep) clocks.push(t.intercept(performance, 'now', { value: () => performanceNow() + ms }))
  return {
    restore: () => {
      for (const { restore } of clocks) restore()
    },
  }
}
