/**
 * Makes a clock in milliseconds for values with a maximum age. The monotonic clock can stand still while the machine
 * sleeps, and the wall clock can be set back: this one jumps if the wall clock got a second ahead, and never goes back.
 */
export const createStopwatch = (monotonic = () => performance.now(), wall = () => Date.now()) => {
  let leadMs = 0
  let apartMs = wall() - monotonic()
  return (): number => {
    const nowMs = monotonic()
    const leapMs = wall() - nowMs - apartMs
    if (Math.abs(leapMs) > 1_000) apartMs += leapMs
    if (leapMs > 1_000) leadMs += leapMs
    return nowMs + leadMs
  }
}
export const stopwatch = createStopwatch()
